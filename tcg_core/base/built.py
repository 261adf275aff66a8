"""What a stage returns, to the command line and to Dagster alike."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tcg_core.base.checks import Check

OUTSIDE_IDENTITY = "what a stage shows"


@dataclass(frozen=True)
class Built:
    """One artifact: where it is, whether it was there already, its checks, and what a person wants to see of it."""

    kind: str
    id: str
    path: Path
    reused: bool
    checks: tuple[Check, ...]
    facts: dict[str, Any] = field(default_factory=dict)
    plots: dict[str, Path] = field(default_factory=dict)

    @property
    def passed(self) -> bool:
        """True if no check blocks."""
        return not any(check.blocks for check in self.checks)
