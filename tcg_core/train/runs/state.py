"""Where a run stands: what a checkpoint stores beside arrays, and what a recovery demands unchanged."""

from dataclasses import asdict, dataclass, field
from typing import Any

#: Points kept of the training curve; beyond twice as many, neighbours are merged.
CURVE_POINTS = 400


@dataclass
class Running:
    """Sums over the present epoch: rows, rows with aux_valid, cross-entropy, each head's loss; updates, their gradient norms
    before the clip, how many of them were clipped; seconds spent, of them waiting for data."""

    rows: int = 0
    valid: int = 0
    ce: float = 0.0
    heads: dict[str, float] = field(default_factory=dict)
    updates: int = 0
    norms: float = 0.0
    clipped: int = 0
    seconds: float = 0.0
    waited: float = 0.0

    def add(self, rows: int, valid: int, ce: float, heads: dict[str, float]) -> None:
        """Adds one update."""
        self.rows += rows
        self.valid += valid
        self.ce += ce
        for name, value in heads.items():
            self.heads[name] = self.heads.get(name, 0.0) + value

    def stepped(self, norm: float, clipped: bool) -> None:
        """Adds one update's gradient norm before the clip."""
        self.updates += 1
        self.norms += norm
        self.clipped += clipped

    def means(self, weights: dict[str, float]) -> tuple[float, float]:
        """Mean cross-entropy a row, and the weighted sum of mean head losses a valid row."""
        aux = sum(weights[name] * value for name, value in self.heads.items()) / self.valid if self.valid else 0.0
        return (self.ce / self.rows if self.rows else 0.0), aux


@dataclass
class Progress:
    """The cursor and all counters of a run.

    epoch, microbatch: the next to process (microbatch 0: the epoch has not begun); updates: optimizer updates made, the
    phase step of optimizer and schedule; processed: [microbatches, updates, rows] of each epoch begun; history: one
    entry a finished epoch (validation metrics, running loss); curve: [update, mean cross-entropy, weight]; best: update,
    epoch, acc and ce of the best validation so far.
    """

    epoch: int = 0
    microbatch: int = 0
    updates: int = 0
    processed: list[list[int]] = field(default_factory=list)
    running: Running = field(default_factory=Running)
    history: list[dict[str, Any]] = field(default_factory=list)
    curve: list[list[float]] = field(default_factory=list)
    best: dict[str, Any] | None = None
    finished: bool = False

    def point(self, ce: float) -> None:
        """Adds the present update's loss to the curve."""
        self.curve.append([self.updates, ce, 1])
        if len(self.curve) >= 2 * CURVE_POINTS:
            self.curve = [_merged(*self.curve[i : i + 2]) for i in range(0, len(self.curve), 2)]

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "Progress":
        """Inverse of :meth:`to_dict`."""
        return cls(**values | {"running": Running(**values["running"])})


def _merged(left: list[float], right: list[float]) -> list[float]:
    weight = left[2] + right[2]
    return [right[0], (left[1] * left[2] + right[1] * right[2]) / weight, weight]
