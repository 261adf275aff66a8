"""Chunks: at most ``tbptt_chunk`` decisions and ``budget`` rows of one lane; a decision is never cut."""

from dataclasses import dataclass

import numpy as np

from tcg_core.plan.errors import PlanError
from tcg_core.plan.lanes import Decisions, Lanes
from tcg_core.plan.rows import Array


@dataclass(frozen=True)
class Chunks:
    """Chunks ordered by (lane, index). All arrays [chunks]; first_row is global, rows/decisions/valid are counts (valid:
    rows with ``aux_valid``); decision_rows holds the rows of each decision, those of chunk c at
    decision_bounds[c] : decision_bounds[c + 1]."""

    lane: Array
    index: Array
    first_row: Array
    rows: Array
    decisions: Array
    valid: Array
    decision_rows: Array
    decision_bounds: Array

    def __len__(self) -> int:
        return len(self.lane)


def cut_chunks(lanes: Lanes, decisions: Decisions, tbptt_chunk: int, budget: Array, setting: Array) -> Chunks:
    """Cuts every lane greedily. ``budget`` int [lanes]: rows of a microbatch on the lane's side, ``setting`` its name.

    Raises :class:`PlanError` for a decision larger than the budget, naming the lane and the size that would do.
    """
    _refuse_large(lanes, decisions, budget, setting)
    ends = np.concatenate([np.zeros(1, np.int64), np.cumsum(decisions.rows)])
    valid_ends = np.concatenate([np.zeros(1, np.int64), np.cumsum(decisions.valid)])
    position = decisions.bounds[:-1].astype(np.int64)
    stop = decisions.bounds[1:].astype(np.int64)
    active = np.flatnonzero(position < stop)
    parts: list[tuple[Array, Array, Array, Array]] = []
    index = 0
    # One round cuts the next chunk of every lane at once, so the loop is as long as the longest lane, not as the data.
    while len(active):
        at = position[active]
        fits = np.searchsorted(ends, ends[at] + budget[active], side="right") - 1
        to = np.minimum(np.minimum(at + tbptt_chunk, fits), stop[active])
        parts.append((active, np.full(len(active), index, np.int32), at, to))
        position[active] = to
        active = active[to < stop[active]]
        index += 1
    lane, number, start, end = (np.concatenate([part[k] for part in parts]) for k in range(4))
    order = np.lexsort((number, lane))
    lane, number, start, end = lane[order], number[order], start[order], end[order]
    return Chunks(
        lane=lane.astype(np.int32),
        index=number,
        first_row=lanes.first_row[lane] + ends[start] - ends[decisions.bounds[:-1]][lane],
        rows=(ends[end] - ends[start]).astype(np.int32),
        decisions=(end - start).astype(np.int32),
        valid=(valid_ends[end] - valid_ends[start]).astype(np.int32),
        decision_rows=decisions.rows.astype(np.int32),
        decision_bounds=np.append(start, end[-1:]),
    )


def single_rows(lanes: Lanes, aux_valid: Array) -> Chunks:
    """The stateless baseline: every row a chunk of its own. ``aux_valid`` bool [rows] in canonical order."""
    lane = np.repeat(np.arange(len(lanes)), lanes.rows)
    within = np.arange(len(lane)) - np.repeat(np.cumsum(lanes.rows) - lanes.rows, lanes.rows)
    one = np.ones(len(lane), np.int32)
    return Chunks(
        lane=lane.astype(np.int32),
        index=within.astype(np.int32),
        first_row=lanes.first_row[lane] + within,
        rows=one,
        decisions=one,
        valid=aux_valid.astype(np.int32),
        decision_rows=one,
        decision_bounds=np.arange(len(lane) + 1),
    )


def _refuse_large(lanes: Lanes, decisions: Decisions, budget: Array, setting: Array) -> None:
    large = decisions.rows > budget[decisions.lane]
    if large.any():
        first = int(np.argmax(large))
        lane = int(decisions.lane[first])
        mine = setting[decisions.lane] == setting[lane]
        raise PlanError(
            f"lane {lanes.name(lane)}: decision {first - int(decisions.bounds[lane])} has {decisions.rows[first]} rows, "
            f"more than {setting[lane]} {budget[lane]}; a decision is never cut, "
            f"{setting[lane]} {decisions.rows[mine].max()} would do"
        )
