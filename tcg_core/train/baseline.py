"""Answers that need no learning: the most frequent option rank of the training rows, and the first legal option."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from tcg_core.encode.columns import Array
from tcg_core.plan.plan import Plan
from tcg_core.rows.reader import DayReader


@dataclass(frozen=True)
class RankCounts:
    """How often each option rank was the recorded answer in the training rows; ``stop`` counts STOP apart."""

    ranks: tuple[int, ...]
    stop: int

    def predict(self, legal: Array) -> Array:
        """The most frequent rank among the legal ones (lower rank on ties), int [B]; legal bool [B, O + 1], STOP last."""
        options = legal.shape[1] - 1
        score = np.full(options + 1, -1.0)
        known = min(options, len(self.ranks))
        score[:known] = self.ranks[:known]
        score[known:options] = 0.0
        score[options] = self.stop
        best: Array = np.where(legal, score, -np.inf).argmax(axis=1)
        return best

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return {"ranks": list(self.ranks), "stop": self.stop}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "RankCounts":
        """Inverse of :meth:`to_dict`."""
        return cls(tuple(values["ranks"]), values["stop"])


def count_ranks(plan: Plan, readers: tuple[DayReader, ...]) -> RankCounts:
    """Counts over all training rows of the plan."""
    side = ~plan.lanes.validation.astype(bool)
    ranks, stop = np.zeros(1, np.int64), 0
    for number, (day, reader) in enumerate(zip(plan.days, readers, strict=True)):
        mine = side & (plan.lanes.day == number)
        if not mine.any():
            continue
        columns = reader.read(("y", "opt_group"))
        change = np.zeros(day.rows + 1, np.int64)
        np.add.at(change, plan.lanes.first_row[mine] - day.first_row, 1)
        np.add.at(change, plan.lanes.first_row[mine] + plan.lanes.rows[mine] - day.first_row, -1)
        selected = np.cumsum(change)[:-1] > 0
        stopped = columns["y"] == columns.lengths("option")
        stop += int((selected & stopped).sum())
        found = np.bincount(columns["y"][selected & ~stopped])
        width = max(len(found), len(ranks))
        ranks = np.pad(ranks, (0, width - len(ranks))) + np.pad(found, (0, width - len(found)))
    return RankCounts(tuple(int(count) for count in ranks), stop)
