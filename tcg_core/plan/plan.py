"""The work plan in memory: lanes, chunks and, for each epoch, the microbatches that follow exactly from it."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np

from tcg_core.plan.chunks import Chunks
from tcg_core.plan.lanes import Lanes
from tcg_core.plan.pack import Order
from tcg_core.plan.parent import Parent
from tcg_core.plan.rows import Array, PlanDay
from tcg_core.recipe import Recipe

Side = Literal["train", "validation"]


@dataclass(frozen=True)
class Microbatch:
    """One microbatch: a slot per chunk, each of a different lane. All arrays [slots].

    first_row and rows: global numbers of the slot's rows; decisions: how many the chunk has; resets_memory: the slot
    starts from the learned initial memory; last_of_lane: the lane's memory is not needed after it. n_rows and n_valid
    (rows with aux_valid) normalise the loss.
    """

    index: int
    chunk: Array
    lane: Array
    first_row: Array
    rows: Array
    decisions: Array
    resets_memory: Array
    last_of_lane: Array
    n_rows: int
    n_valid: int


@dataclass(frozen=True)
class Plan:
    """A stored plan. ``sha256`` is the content hash of its manifest; orders[side][epoch] are the epochs' microbatches
    (validation has one order, used after every epoch); parent: the checkpoint that the run resumes, if any."""

    id: str
    sha256: str
    recipe: Recipe
    days: tuple[PlanDay, ...]
    lanes: Lanes
    chunks: Chunks
    orders: Mapping[Side, tuple[Order, ...]]
    cards_id: str
    summary: dict[str, Any]
    parent: Parent | None = None

    @property
    def stateless(self) -> bool:
        """True for the baseline without memory, which sees each row by itself."""
        return self.recipe.work.mode == "stateless"

    @cached_property
    def lane_chunks(self) -> Array:
        """Chunks of each lane, int [lanes]."""
        return np.bincount(self.chunks.lane, minlength=len(self.lanes))

    @cached_property
    def rows(self) -> dict[Side, int]:
        """Rows of each side."""
        side = self.lanes.validation.astype(bool)
        return {"train": int(self.lanes.rows[~side].sum()), "validation": int(self.lanes.rows[side].sum())}

    def count(self, epoch: int, side: Side = "train") -> int:
        """Microbatches of an epoch."""
        return len(self._order(epoch, side))

    def updates(self, epoch: int) -> int:
        """Optimizer updates of an epoch: its microbatches in windows of accum_steps, the last window may be short."""
        return -(-self.count(epoch) // self.recipe.work.accum_steps)

    @property
    def horizon(self) -> int:
        """Optimizer updates of the run; the horizon of its schedule unless the recipe or a resumed schedule names another."""
        return sum(self.updates(epoch) for epoch in range(self.recipe.epochs))

    def microbatch(self, epoch: int, index: int, side: Side = "train") -> Microbatch:
        """Microbatch ``index`` of an epoch."""
        order, chunks = self._order(epoch, side), self.chunks
        ids = order.chunks[order.bounds[index] : order.bounds[index + 1]]
        lane = chunks.lane[ids]
        alone = np.full(len(ids), self.stateless)
        return Microbatch(
            index=index,
            chunk=ids,
            lane=lane,
            first_row=chunks.first_row[ids],
            rows=chunks.rows[ids],
            decisions=chunks.decisions[ids],
            resets_memory=alone | (chunks.index[ids] == 0),
            last_of_lane=alone | (chunks.index[ids] + 1 == self.lane_chunks[lane]),
            n_rows=int(chunks.rows[ids].sum()),
            n_valid=int(chunks.valid[ids].sum()),
        )

    def microbatches(self, epoch: int, side: Side = "train") -> list[Microbatch]:
        """All microbatches of an epoch, in order."""
        return [self.microbatch(epoch, index, side) for index in range(self.count(epoch, side))]

    def decision_rows(self, chunk: int) -> Array:
        """Rows of each decision of a chunk, int [decisions]."""
        bounds = self.chunks.decision_bounds
        return self.chunks.decision_rows[bounds[chunk] : bounds[chunk + 1]]

    def _order(self, epoch: int, side: Side) -> Order:
        return self.orders[side][epoch if side == "train" else 0]
