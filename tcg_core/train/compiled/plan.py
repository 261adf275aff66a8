"""What the microbatches of a plan need, and the static shapes chosen for them: known before the first is computed."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from tcg_core.encode.columns import Array
from tcg_core.encode.schema import SCHEMA
from tcg_core.plan.pack import Order
from tcg_core.plan.plan import Plan, Side
from tcg_core.rows.reader import DayReader
from tcg_core.train.compiled.shapes import MOST_SHAPES, Merged, Shape, merge
from tcg_core.train.shapes import GROUPS, lengths_of

#: Percentiles of row sizes that a narrow group is tried at.
_NARROW = (94, 97, 99)


@dataclass(frozen=True)
class SideShapes:
    """Shapes of one side; starts: number of each epoch's first microbatch in ``merged.of``; real and padded: tokens of all
    microbatches of all epochs."""

    merged: Merged
    starts: tuple[int, ...]
    real: int
    padded: int


@dataclass(frozen=True)
class StaticPlan:
    """The shapes of a run."""

    sides: Mapping[Side, SideShapes]

    @property
    def compilations(self) -> int:
        """At most so many functions are compiled: one for each shape of each side."""
        return sum(len(side.merged.shapes) for side in self.sides.values())

    def shape(self, side: Side, epoch: int, index: int) -> Shape:
        """The shape of a microbatch; validation has one order for all epochs."""
        chosen = self.sides[side]
        return chosen.merged.shapes[int(chosen.merged.of[chosen.starts[epoch if side == "train" else 0] + index])]

    def text(self) -> str:
        """The choice in words."""
        parts = [
            f"{side}: {len(found.merged.shapes)} shapes for {len(found.merged.of)} microbatches, "
            f"{found.padded / found.real:.2f} padded tokens for each real one"
            for side, found in self.sides.items()
        ]
        return f"at most {self.compilations} compilations; {'; '.join(parts)}"


@dataclass(frozen=True)
class _Rows:
    """lengths int [rows, 4]; ends: of the real tokens of all rows before, int64 [rows + 1]."""

    lengths: Array
    ends: Array


def choose_shapes(plan: Plan, readers: tuple[DayReader, ...], fixed_tokens: int, most: int = MOST_SHAPES) -> StaticPlan:
    """At most ``most`` shapes a side for all microbatches of the plan, such that every one fits its shape.

    fixed_tokens: of each row beside its cards, units and options. Reads one column of each ragged group.
    """
    rows = _read(plan, readers, fixed_tokens)
    return StaticPlan({side: _side(plan, side, rows, fixed_tokens, most) for side in plan.orders})


def _read(plan: Plan, readers: tuple[DayReader, ...], fixed_tokens: int) -> _Rows:
    streams = [next(stream.name for stream in SCHEMA.streams if stream.group == group) for group in GROUPS]
    lengths = np.zeros((max(day.first_row + day.rows for day in plan.days), len(GROUPS)), np.int64)
    for day, reader in zip(plan.days, readers, strict=True):
        first = day.first_row
        for columns in reader.batches(streams):
            lengths[first : first + columns.rows] = lengths_of(columns)
            first += columns.rows
    tokens = fixed_tokens + lengths[:, [0, 1, 3]].sum(axis=1)
    return _Rows(lengths, np.concatenate([np.zeros(1, np.int64), np.cumsum(tokens)]))


def _side(plan: Plan, side: Side, rows: _Rows, fixed_tokens: int, most: int) -> SideShapes:
    orders, chunks = plan.orders[side], plan.chunks
    first, count = chunks.first_row.astype(np.int64), chunks.rows.astype(np.int64)
    everything = np.concatenate([order.chunks for order in orders])
    mine = np.unique(everything)
    within = np.arange(count[mine].sum()) - np.repeat(np.cumsum(count[mine]) - count[mine], count[mine])
    of_side = rows.lengths[np.repeat(first[mine], count[mine]) + within]
    widest = _most_of(rows.lengths, first, count)
    tried = []
    for percent in (None, *_NARROW):
        narrow = None if percent is None else np.maximum(np.percentile(of_side, percent, axis=0).astype(int), 1)
        needs = np.concatenate([_needs(plan, order, rows.lengths, widest, narrow) for order in orders])
        tried.append(merge(needs, narrow, fixed_tokens, most))
    best = min(tried, key=lambda merged: merged.cost)
    real = int((rows.ends[first + count] - rows.ends[first])[everything].sum())
    of_shape = np.bincount(best.of, minlength=len(best.shapes)).tolist()
    padded = sum(n * shape.tokens(fixed_tokens) for n, shape in zip(of_shape, best.shapes, strict=True))
    starts = np.cumsum([0, *(len(order) for order in orders)])[:-1]
    return SideShapes(best, tuple(int(start) for start in starts), real, padded)


def _most_of(values: Array, first: Array, count: Array) -> Array:
    """The largest of ``values`` [rows, k] over rows first : first + count of each chunk, [chunks, k]."""
    padded = np.concatenate([values, np.zeros((1, values.shape[1]), values.dtype)])
    found: Array = np.maximum.reduceat(padded, np.stack([first, first + count], axis=1).ravel(), axis=0)[::2]
    return found


def _needs(plan: Plan, order: Order, lengths: Array, widest: Array, narrow: Array | None) -> Array:
    """What each microbatch of an epoch needs, int [microbatches, 8] (columns in :mod:`tcg_core.train.compiled.shapes`)."""
    chunks, ids, n = plan.chunks, order.chunks, len(order)
    decisions = chunks.decisions[ids].astype(np.int64)
    step = np.arange(decisions.sum()) - np.repeat(np.cumsum(decisions) - decisions, decisions)
    index = np.repeat(chunks.decision_bounds[:-1][ids], decisions) + step
    steps = int(decisions.max())
    place = np.repeat(np.repeat(np.arange(n), np.diff(order.bounds)), decisions) * steps + step
    rows = _per_step(place, chunks.decision_rows[index], n, steps)
    wide = rows
    if narrow is not None:
        # A chunk's rows follow one another, and so do its decisions.
        sizes = chunks.decision_rows.astype(np.int64)
        ends = np.cumsum(sizes)
        of_chunk = np.repeat(np.arange(len(chunks)), chunks.decisions)
        start = ends - sizes - (ends - sizes)[chunks.decision_bounds[:-1]][of_chunk] + chunks.first_row[of_chunk]
        wide_before = np.concatenate([np.zeros(1, np.int64), np.cumsum((lengths > narrow).any(axis=1))])
        wide = _per_step(place, (wide_before[start + sizes] - wide_before[start])[index], n, steps)
    room = wide.max(axis=1)
    # What the narrow group has to hold when the wide one is filled up.
    rest = np.maximum((rows - room[:, None]).max(axis=1), 0)
    sizes_of = np.maximum(np.maximum.reduceat(widest[ids], order.bounds[:-1], axis=0), 1)
    longest = np.maximum.reduceat(decisions, order.bounds[:-1])
    return np.column_stack([longest, np.diff(order.bounds), rest, room, sizes_of])


def _per_step(place: Array, values: Array, microbatches: int, steps: int) -> Array:
    found: Array = np.bincount(place, weights=values, minlength=microbatches * steps).astype(np.int64)
    return found.reshape(microbatches, steps)
