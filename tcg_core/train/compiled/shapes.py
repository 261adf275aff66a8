"""The static shapes that microbatches are padded to where MLX compiles: a few, chosen so that the padding is least.

A compiled function is one for each shape. Every microbatch states what it needs; needs are merged two by two, always the
two whose common shape adds the fewest padded tokens, until few enough are left.
"""

from dataclasses import dataclass

import numpy as np

from tcg_core.encode.collate import BatchShape
from tcg_core.encode.columns import Array
from tcg_core.train.shapes import Cut

#: At most so many shapes a side.
MOST_SHAPES = 6
#: What a second forward call a step is worth, in padded tokens. An estimate, not measured: on an Apple GPU about 250 kernels
#: forward and backward at 8 us each, against 6 MFLOP a token at 2 TFLOP/s.
CALL_TOKENS = 650.0
#: Columns of a need: steps, slots, rows of a step's narrow and wide group, and the sizes of the wide group.
STEPS, SLOTS, NARROW, WIDE, SIZES = 0, 1, 2, 3, slice(4, 8)
#: Needs kept apart before merging; merging costs their square.
_MOST_DISTINCT = 400


@dataclass(frozen=True)
class Shape:
    """A padded microbatch: time steps, slots, and of every step one or two groups of so many rows at such sizes, the narrow
    group first."""

    steps: int
    slots: int
    rows: tuple[int, ...]
    sizes: tuple[BatchShape, ...]

    def cut(self, lengths: Array) -> list[Cut]:
        """Rows that fit the narrow group go there while it has room, all others into the wide one."""
        everything = np.arange(len(lengths))
        if len(self.sizes) == 1:
            return [(everything, self.sizes[0])]
        fits = np.flatnonzero((lengths <= _as_array(self.sizes[0])).all(axis=1))[: self.rows[0]]
        parts = fits, np.setdiff1d(everything, fits)
        return [(part, size) for part, size in zip(parts, self.sizes, strict=True) if len(part)]

    def tokens(self, fixed_tokens: int) -> int:
        """Tokens computed, padding among them; ``fixed_tokens`` of each row beside its cards, units and options."""
        groups = zip(self.rows, self.sizes, strict=True)
        return self.steps * sum(rows * (fixed_tokens + size.cards + size.units + size.options) for rows, size in groups)


@dataclass(frozen=True)
class Merged:
    """Shapes, and which of them each microbatch gets, int [microbatches]; cost: in padded tokens, calls among them."""

    shapes: tuple[Shape, ...]
    of: Array
    cost: float


def merge(needs: Array, narrow: Array | None, fixed_tokens: int, most: int) -> Merged:
    """At most ``most`` shapes for ``needs`` (int [microbatches, 8]); narrow: sizes of the narrow group, int [4], None where
    no need has one."""
    rounded, grain = needs, 1
    while len(np.unique(rounded, axis=0)) > _MOST_DISTINCT:
        grain *= 2
        rounded = np.concatenate([needs[:, :1], -(-needs[:, 1:] // grain) * grain], axis=1)
    distinct, inverse, counts = np.unique(rounded, axis=0, return_inverse=True, return_counts=True)
    narrow_tokens = 0.0 if narrow is None else float(fixed_tokens + narrow[[0, 1, 3]].sum())
    shapes, owner = _merge(distinct, counts.astype(float), narrow_tokens, fixed_tokens, most)
    kept, of = np.unique(owner, return_inverse=True)
    cost = float((_cost(shapes[kept], narrow_tokens, fixed_tokens) * np.bincount(of, weights=counts)).sum())
    return Merged(tuple(_shape(shapes[row], narrow) for row in kept), of[inverse.reshape(-1)], cost)


def _merge(needs: Array, counts: Array, narrow_tokens: float, fixed_tokens: int, most: int) -> tuple[Array, Array]:
    shapes, weight, owner = needs.copy(), counts.copy(), np.arange(len(needs))
    own = _cost(shapes, narrow_tokens, fixed_tokens) * weight

    def added(row: int) -> Array:
        """What merging ``row`` with each other one adds."""
        common: Array = _cost(np.maximum(shapes[row], shapes), narrow_tokens, fixed_tokens)
        found: Array = common * (weight[row] + weight) - own[row] - own
        found[(owner != np.arange(len(owner))) | (np.arange(len(owner)) == row)] = np.inf
        return found

    table = np.stack([added(row) for row in range(len(needs))])
    for _ in range(len(needs) - most):
        kept, gone = np.unravel_index(np.argmin(table), table.shape)
        shapes[kept] = np.maximum(shapes[kept], shapes[gone])
        weight[kept] += weight[gone]
        own[kept] = _cost(shapes[kept], narrow_tokens, fixed_tokens) * weight[kept]
        owner[owner == gone] = kept
        table[gone], table[:, gone] = np.inf, np.inf
        table[kept] = table[:, kept] = added(int(kept))
    return shapes, owner


def _cost(needs: Array, narrow_tokens: float, fixed_tokens: int) -> Array:
    wide_tokens = fixed_tokens + needs[..., 4] + needs[..., 5] + needs[..., 7]
    second = CALL_TOKENS * ((needs[..., NARROW] > 0) & (needs[..., WIDE] > 0))
    each: Array = needs[..., STEPS] * (needs[..., NARROW] * narrow_tokens + needs[..., WIDE] * wide_tokens + second)
    return each


def _shape(need: Array, narrow: Array | None) -> Shape:
    numbers = [int(number) for number in need]
    groups = [(numbers[WIDE], BatchShape(*numbers[SIZES]))]
    if narrow is not None and numbers[NARROW]:
        groups.insert(0, (numbers[NARROW], BatchShape(*(int(size) for size in narrow))))
    if len({size for _, size in groups}) < len(groups):
        groups = [(numbers[NARROW] + numbers[WIDE], groups[0][1])]
    filled = [group for group in groups if group[0]]
    return Shape(numbers[STEPS], numbers[SLOTS], tuple(rows for rows, _ in filled), tuple(size for _, size in filled))


def _as_array(size: BatchShape) -> Array:
    return np.array([size.cards, size.units, size.attached, size.options])
