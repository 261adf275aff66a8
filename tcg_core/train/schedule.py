"""Learning rate over optimizer updates."""

import math
from dataclasses import asdict, dataclass
from typing import Any

from tcg_core.recipe import Schedule


@dataclass(frozen=True)
class Horizon:
    """A schedule over ``total`` updates.

    Warm-up is clamped to max(total / 5, 1); ``lr_min_ratio`` is reached exactly at update ``total`` and held after it.
    """

    schedule: Schedule
    base: float
    total: int

    @property
    def warmup(self) -> int:
        """Updates of linear warm-up."""
        return min(self.schedule.warmup_steps, max(self.total // 5, 1))

    def rate(self, update: int) -> float:
        """Learning rate of the ``update``-th optimizer update, counted from 1."""
        if update <= self.warmup:
            return self.base * update / self.warmup
        if self.schedule.name == "none":
            return self.base
        progress = min((update - self.warmup) / max(self.total - self.warmup, 1), 1.0)
        left = 0.5 * (1 + math.cos(math.pi * progress)) if self.schedule.name == "cosine" else 1 - progress
        return self.base * (self.schedule.lr_min_ratio + (1 - self.schedule.lr_min_ratio) * left)

    def contract(self) -> dict[str, Any]:
        """What a recovery must find unchanged."""
        held = {name: value for name, value in asdict(self.schedule).items() if name != "total_steps"}
        return held | {"base_lr": self.base, "total_steps": self.total, "warmup_clamped": self.warmup}
