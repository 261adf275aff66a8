"""Which rows of one time step are computed together, and to which padded shape.

A row costs its padded tokens, a separate forward call costs about what three small rows do; a step's rows are sorted by
size and cut where the sum is least. On a GPU a call is dear and a token cheap, so a step is one call; where MLX compiles,
a static shape of :mod:`tcg_core.train.compiled.shapes` cuts instead.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from tcg_core.encode.collate import BUCKETS, BatchShape
from tcg_core.encode.columns import Array, Columns

GROUPS = ("card", "unit", "attached", "option")

#: Row positions of a group, ascending, and the sizes they are padded to.
Cut = tuple[Array, BatchShape]


class Cutter(Protocol):
    """Decides which rows of a step are computed together."""

    def cut(self, lengths: Array) -> list[Cut]:
        """Cuts the rows of one step; lengths int [rows, 4] in the order of :data:`GROUPS`. Each row is in one group."""


def lengths_of(columns: Columns) -> Array:
    """Items of each row, int [rows, 4] in the order of :data:`GROUPS`."""
    return np.stack([columns.lengths(name) for name in GROUPS], axis=1)


#: Most places considered for a cut of one step.
_MOST_CUTS = 12


@dataclass(frozen=True)
class Cost:
    """Cost of a forward call in token units: ``call`` once, then per row ``S * (1 + S / bend)`` for S padded tokens.

    grain: padded sizes are multiples of these (cards, units, attached, options); None: they are the closed set of
    ``BUCKETS``, for a device that compiles per shape.
    """

    call: float
    bend: float
    fixed_tokens: int
    grain: tuple[int, ...] | None

    def cut(self, lengths: Array) -> list[Cut]:
        """The groups whose costs add up to the least."""
        shapes = padded_sizes(lengths, self)
        return [(part, BatchShape(*(int(size) for size in shapes[part].max(axis=0)))) for part in partition(shapes, self)]


def cpu_cost(fixed_tokens: int) -> Cost:
    """Measured on one core: a call costs about as much as four rows of 60 tokens; nothing is compiled, so sizes are fine."""
    return Cost(call=300.0, bend=250.0, fixed_tokens=fixed_tokens, grain=(4, 2, 4, 2))


def gpu_cost(fixed_tokens: int) -> Cost:
    """One call a step whatever the sizes, few shapes."""
    return Cost(call=1e12, bend=1e12, fixed_tokens=fixed_tokens, grain=None)


def padded_sizes(lengths: Array, cost: Cost) -> Array:
    """The smallest allowed sizes of each row, int [rows, 4]. A longer row than the largest bucket keeps that bucket; collating
    it names the lane."""
    found = []
    for position, name in enumerate(GROUPS):
        if cost.grain is not None:
            grain = cost.grain[position]
            found.append(np.maximum(-(-lengths[:, position] // grain), 1) * grain)
            continue
        sizes = np.array(BUCKETS[name])
        found.append(sizes[np.minimum(np.searchsorted(sizes, lengths[:, position]), len(sizes) - 1)])
    return np.stack(found, axis=1)


def partition(shapes: Array, cost: Cost) -> list[Array]:
    """Cuts the rows of one step (shapes int [rows, 4]) into groups; returns row positions of each, ascending."""
    tokens = shapes[:, 0] + shapes[:, 1] + shapes[:, 3]
    order = np.argsort(tokens, kind="stable")
    changes = np.flatnonzero(np.diff(tokens[order])) + 1
    if len(changes) > _MOST_CUTS:
        changes = changes[np.linspace(0, len(changes) - 1, _MOST_CUTS).astype(int)]
    cuts = [0, *changes.tolist(), len(tokens)]
    pieces = [(cuts[i], cuts[i + 1]) for i in range(len(cuts) - 1)]
    return [np.sort(order[start:end]) for start, end in _cheapest(shapes[order], pieces, cost)]


def _cheapest(shapes: Array, pieces: Sequence[tuple[int, int]], cost: Cost) -> list[tuple[int, int]]:
    best: list[tuple[float, int]] = [(0.0, 0)]
    for end in range(1, len(pieces) + 1):
        options = []
        for start in range(end):
            low, high = pieces[start][0], pieces[end - 1][1]
            widest = shapes[low:high].max(axis=0)
            tokens = cost.fixed_tokens + int(widest[0] + widest[1] + widest[3])
            options.append((best[start][0] + cost.call + (high - low) * tokens * (1 + tokens / cost.bend), start))
        best.append(min(options))
    groups, end = [], len(pieces)
    while end:
        start = best[end][1]
        groups.append((pieces[start][0], pieces[end - 1][1]))
        end = start
    return groups[::-1]
