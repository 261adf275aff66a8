"""Which rows of one time step are computed together, and to which padded shape.

A row costs its padded tokens, a separate forward call costs about what three small rows do; a step's rows are sorted by
size and cut where the sum is least. On a GPU a call is dear and a token cheap, so a step is one call.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tcg_core.encode.collate import BUCKETS
from tcg_core.encode.columns import Array, Columns

GROUPS = ("card", "unit", "attached", "option")


@dataclass(frozen=True)
class Cost:
    """Cost of a forward call in token units: ``call`` once, then per row ``S * (1 + S / bend)`` for S padded tokens."""

    call: float
    bend: float
    fixed_tokens: int


def cpu_cost(fixed_tokens: int) -> Cost:
    """Measured on one core: a call costs about 3 ms, a row of 60 tokens 1 ms, attention bends the line at 250 tokens."""
    return Cost(call=180.0, bend=250.0, fixed_tokens=fixed_tokens)


def gpu_cost(fixed_tokens: int) -> Cost:
    """One call a step whatever the sizes."""
    return Cost(call=1e12, bend=1e12, fixed_tokens=fixed_tokens)


def bucket_shapes(columns: Columns) -> Array:
    """The smallest bucket of each row, int [rows, 4] in the order of :data:`GROUPS`. A longer row than the largest bucket
    keeps that bucket; collating it names the lane."""
    found = []
    for name in GROUPS:
        sizes = np.array(BUCKETS[name])
        found.append(sizes[np.minimum(np.searchsorted(sizes, columns.lengths(name)), len(sizes) - 1)])
    return np.stack(found, axis=1)


def partition(shapes: Array, cost: Cost) -> list[Array]:
    """Cuts the rows of one step (shapes int [rows, 4]) into groups; returns row positions of each, ascending."""
    tokens = shapes[:, 0] + shapes[:, 1] + shapes[:, 3]
    order = np.argsort(tokens, kind="stable")
    cuts = [0, *(np.flatnonzero(np.diff(tokens[order])) + 1).tolist(), len(tokens)]
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
