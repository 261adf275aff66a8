"""Microbatches of an epoch: chunks of different lanes within the row budget, each lane's chunks in order.

Row groups open in seeded order, at most ``open_groups`` at a time, and a batch mixes lanes of all that are open. Lanes
that could not end in time otherwise go first and the last microbatches share the rest evenly, so the epoch does not
close with a tail of tiny ones; where the longest lane alone dictates their number, rows are spread over them.
"""

from dataclasses import dataclass

import numpy as np

from tcg_core.plan.rows import Array

#: Spread of the random part of a lane's turn, in opened row groups: lanes of an older group go first, but not strictly.
_MIX = 0.75


#: The last so many microbatches share what is left evenly, aiming at this fill (percent) as chunks do not divide.
_EVEN, _EVEN_FILL = 32, 97


@dataclass(frozen=True)
class Order:
    """The microbatches of an epoch: microbatch m is ``chunks[bounds[m] : bounds[m + 1]]``; open_groups [microbatches] counts
    the row groups begun and not finished."""

    chunks: Array
    bounds: Array
    open_groups: Array

    def __len__(self) -> int:
        return len(self.bounds) - 1


@dataclass(frozen=True)
class LanesToPack:
    """Lanes to pack: first chunk and number of chunks [lanes], row group [lanes], rows of each chunk [all chunks]."""

    first: Array
    count: Array
    group: Array
    rows: Array


def pack(work: LanesToPack, budget: int, open_groups: int, generator: np.random.Generator) -> Order:
    """Packs one epoch. Every chunk of every lane appears once; a microbatch holds a lane at most once."""
    lanes = len(work.first)
    left, turn = work.count.astype(np.int64), generator.random(lanes)
    upcoming = work.first.astype(np.int64)
    rows_left = int(sum(work.rows[f : f + c].sum() for f, c in zip(work.first, work.count, strict=True)))
    groups = _groups_in_order(work, generator, open_groups)
    opened = np.zeros(lanes, np.int64)
    pool = np.zeros(0, np.int64)
    batches: list[Array] = []
    opens: list[int] = []
    admitted = 0
    closing: int | None = None
    while rows_left:
        missing = open_groups - len(np.unique(work.group[pool]))
        for members in groups[admitted : admitted + missing]:
            opened[members] = admitted
            pool = np.concatenate([pool, members])
            admitted += 1
        longest, expected = int(left.max()), -(-rows_left // budget)
        if expected <= _EVEN:
            closing = -(-rows_left * 100 // (budget * _EVEN_FILL)) if closing is None else max(closing - 1, 1)
            expected = max(closing, expected)
        target = min(budget, -(-rows_left // max(expected, longest))) if expected <= max(_EVEN, longest) else budget
        rank = opened[pool] + turn[pool] * _MIX * open_groups
        urgent = left[pool] >= expected - 2 - expected // 8
        order = np.argsort(np.where(urgent, -left[pool] - 1e6, rank), kind="stable")
        chosen = pool[order[_fill(work.rows[upcoming[pool[order]]], budget, target)]]
        batches.append(upcoming[chosen])
        opens.append(len(np.unique(work.group[pool])))
        rows_left -= int(work.rows[upcoming[chosen]].sum())
        upcoming[chosen] += 1
        left[chosen] -= 1
        pool = pool[left[pool] > 0]
    bounds = np.concatenate([np.zeros(1, np.int64), np.cumsum([len(batch) for batch in batches], dtype=np.int64)])
    return Order(np.concatenate(batches).astype(np.int32), bounds, np.array(opens, np.int32))


def shuffle_rows(group: Array, budget: int, open_groups: int, generator: np.random.Generator) -> Order:
    """The stateless baseline: rows (group int [rows], one chunk each) shuffled in windows of ``open_groups`` row groups and cut
    into exactly ceil(rows / budget) batches, across window borders."""
    unique, inverse = np.unique(group, return_inverse=True)
    window = generator.permutation(len(unique)) // open_groups
    order = np.lexsort((generator.random(len(group)), window[inverse]))
    bounds = np.append(np.arange(0, len(group), budget), len(group))
    opens = np.full(len(bounds) - 1, min(open_groups, len(unique)), np.int32)
    return Order(order.astype(np.int32), bounds, opens)


def _groups_in_order(work: LanesToPack, generator: np.random.Generator, window: int) -> list[Array]:
    unique, inverse = np.unique(work.group, return_inverse=True)
    members = np.split(np.argsort(inverse, kind="stable"), np.cumsum(np.bincount(inverse))[:-1])
    order = generator.permutation(len(unique))
    # The last two windows open by longest lane, so that no long lane starts when the rest is about to end.
    tail = order[-2 * window :]
    longest = np.array([-work.count[members[group]].max() for group in tail])
    order[-2 * window :] = tail[np.argsort(longest, kind="stable")]
    return [members[group] for group in order]


def _fill(rows: Array, budget: int, target: int) -> Array:
    """Positions taken: the prefix that reaches ``target``, then whatever still fits the budget."""
    total = np.cumsum(rows)
    prefix = max(int(np.searchsorted(total, target, side="right")), 1)
    taken, room = list(range(prefix)), target - int(total[prefix - 1])
    position = prefix
    while room > 0 and position < len(rows):
        fitting = np.flatnonzero(rows[position:] <= room)
        if not len(fitting):
            break
        position += int(fitting[0])
        taken.append(position)
        room -= int(rows[position])
        position += 1
    return np.array(taken)
