"""lane_order: rows in canonical order, decisions and substeps of a lane without a gap, episodes whole in a row group."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from tcg_core.base.checks import Check
from tcg_core.days.checks.report import lane_name, verdict
from tcg_core.encode.columns import Array, Columns
from tcg_core.rows.reader import DayReader

_KEYS = ("episode_id", "game", "side", "step_id", "substep")
_STREAMS = (*_KEYS, "decision_id", "new_episode", "generation")


def lane_order(rows: Path) -> Check:
    """Keys rise strictly over the file; in a lane step_id rises with decision_id, both ids are gapless from 0, and
    new_episode marks the first row and no other; a row group holds whole episodes of one generation."""
    problems: list[str] = []
    lanes, last = 0, -1
    with DayReader(rows) as reader:
        for number, columns in enumerate(reader.batches(_STREAMS)):
            if not columns.rows:
                continue
            if columns["episode_id"][0] <= last:
                problems.append(f"row group {number} begins with episode {columns['episode_id'][0]} after episode {last}")
            last = int(columns["episode_id"][-1])
            if len(set(columns["generation"])) > 1:
                problems.append(f"row group {number} mixes generations")
            problems += _within(columns)
            lanes += int(_starts(columns).sum())
    return verdict("lane_order", problems, f"{lanes} lanes in order", lanes=lanes)


def _starts(columns: Columns) -> Array:
    """bool [rows]: the first row of a lane."""
    new = np.ones(columns.rows, bool)
    new[1:] = False
    for name in ("episode_id", "game", "side"):
        new[1:] |= columns[name][1:] != columns[name][:-1]
    return new


def _within(columns: Columns) -> Iterator[str]:
    start = _starts(columns)
    rising = np.zeros(columns.rows - 1, bool)
    equal = np.ones(columns.rows - 1, bool)
    for name in _KEYS:
        before, after = columns[name][:-1], columns[name][1:]
        rising |= equal & (after > before)
        equal &= after == before
    yield from _named(columns, np.append(False, ~rising), "is out of canonical order")
    yield from _named(columns, columns["new_episode"] != start, "has a new_episode that is not the lane's start")
    step = np.diff(columns["step_id"])
    decision, substep = np.diff(columns["decision_id"]), np.diff(columns["substep"].astype(np.int64))
    goes_on = (step == 0) & (decision == 0) & (substep == 1)
    begins = (step > 0) & (decision == 1) & (columns["substep"][1:] == 0)
    yield from _named(columns, np.append(False, ~start[1:] & ~goes_on & ~begins), "does not follow the row before it")
    first = start & ((columns["decision_id"] != 0) | (columns["substep"] != 0))
    yield from _named(columns, first, "begins a lane with another decision or substep than 0")


def _named(columns: Columns, wrong: Array, what: str) -> Iterator[str]:
    for row in np.flatnonzero(wrong)[:20]:
        lane = lane_name(columns["episode_id"][row], columns["game"][row], columns["side"][row])
        yield f"{lane} step {columns['step_id'][row]} substep {columns['substep'][row]} {what}"
