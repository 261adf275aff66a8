"""legal_labels, aux_contract, value_ranges: what single rows and decisions must keep, recomputed from the rows alone."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from tcg_core.base.checks import Check
from tcg_core.days.checks.report import lane_name, verdict
from tcg_core.encode.columns import Array, Columns
from tcg_core.encode.schema import GLOBALS, OPTION_ATTRIBUTES, SCHEMA, index_of
from tcg_core.rows.reader import DayReader

_LISTED = 20
_KEYS = ("episode_id", "game", "side", "step_id", "substep")
_AUX = tuple(stream.name for stream in SCHEMA.of_role("aux"))
_GLOBAL, _OPTION = index_of(GLOBALS), index_of(OPTION_ATTRIBUTES)


def legal_labels(rows: Path) -> Check:
    """No label that its own row forbids: an option not picked before while picked < max, or STOP while min <= picked < max;
    and the row's counts of options and picks are those of its option list."""
    listed: list[str] = []
    count, total = 0, 0
    with DayReader(rows) as reader:
        for columns in reader.batches([*_KEYS, "y", "globals", "option_attributes"]):
            wrong = np.flatnonzero(illegal(columns))
            count += len(wrong)
            total += columns.rows
            listed += [
                f"{_row_name(columns, row)}: label {columns['y'][row]} of {columns.lengths('option')[row]} options is illegal"
                for row in wrong[: _LISTED - len(listed)]
            ]
    return verdict("legal_labels", listed, f"0 illegal labels in {total} rows", count, rows=total)


def illegal(columns: Columns) -> Array:
    """bool [rows]: the label breaks the rule of :func:`legal_labels`. An empty label is illegal in any reading."""
    values = columns["globals"].astype(np.int64)
    low, high = values[:, _GLOBAL["min_count"]], values[:, _GLOBAL["max_count"]]
    picked, options, label = values[:, _GLOBAL["picked"]], columns.lengths("option"), columns["y"].astype(np.int64)
    flags = columns["option_attributes"][:, _OPTION["picked"]] != 0
    starts = columns.offsets["option"][:-1]
    flagged = np.concatenate([np.zeros(1, np.int64), np.cumsum(flags)])
    flagged = flagged[columns.offsets["option"][1:]] - flagged[starts]
    is_option = (label >= 0) & (label < options)
    again = np.zeros(columns.rows, bool)
    again[is_option] = flags[(starts + label)[is_option]]
    fine = np.where(is_option, ~again & (picked < high), (label == options) & (low <= picked) & (picked < high))
    consistent = (values[:, _GLOBAL["options"]] == options) & (flagged == picked)
    return np.asarray(~(fine & consistent))


def aux_contract(rows: Path) -> Check:
    """All rows of a decision carry the same values; without a window all are 0; a prize swing is a whole number, and where
    the game ends inside the window the return is that swing / 6 plus the outcome; a game ends once, at its lanes' end."""
    listed: list[str] = []
    count, valid, total = 0, 0, 0
    with DayReader(rows) as reader:
        for columns in reader.batches([*_KEYS, "outcome", *_AUX]):
            problems = list(_aux_problems(columns))
            count += len(problems)
            listed += problems[: _LISTED - len(listed)]
            valid += int(columns["aux_valid"].sum())
            total += columns.rows
    return verdict(
        "aux_contract", listed, f"aux targets keep their contract, {valid} of {total} rows valid", count, valid_rows=valid
    )


def _aux_problems(columns: Columns) -> Iterator[str]:
    valid, delta, terminal, ret = (columns[f"aux_{name}"] for name in ("valid", "prize_delta", "terminal", "return"))
    zero = np.zeros(columns.rows, bool)
    for name in ("aux_ko", "aux_prize_delta", "aux_terminal", "aux_return"):
        zero |= columns[name] != 0
    yield from _rows_named(columns, ~valid & zero, "aux targets without a valid window")
    yield from _rows_named(columns, valid & (delta != np.round(delta)), "aux_prize_delta is no whole number")
    ends = valid & (terminal == 1)
    yield from _rows_named(
        columns, ends & (np.abs(ret - delta / 6 - columns["outcome"]) > 1e-4), "aux_return is not swing / 6 + outcome"
    )
    if columns.rows < 2:
        return
    same_lane = _adjacent(columns, ("episode_id", "game", "side"))
    same_decision = same_lane & (np.diff(columns["step_id"]) == 0)
    differs = np.zeros(columns.rows - 1, bool)
    for name in _AUX:
        differs |= columns[name][1:] != columns[name][:-1]
    yield from _rows_named(columns, np.append(False, same_decision & differs), "aux targets differ within the decision")
    resumed = same_lane & valid[1:] & valid[:-1] & (terminal[:-1] == 1) & (terminal[1:] == 0)
    yield from _rows_named(columns, np.append(False, resumed), "the game goes on after its last window")


def value_ranges(rows: Path) -> Check:
    """Every value lies in the range that its stream declares, and no float is NaN."""
    bad: dict[str, list[int]] = {}
    total = 0
    with DayReader(rows) as reader:
        for columns in reader.batches():
            total += columns.rows
            for stream in SCHEMA.streams:
                values = columns[stream.name]
                if stream.low is None or stream.high is None or not values.size:
                    continue
                outside = ~((values >= stream.low) & (values <= stream.high))
                if outside.any():
                    seen = bad.setdefault(stream.name, [0, 0])
                    seen[0] += int(outside.sum())
                    seen[1] = values[outside].flat[0].item()
    problems = [
        f"{name}: {count} values outside {SCHEMA.by_name[name].low} to {SCHEMA.by_name[name].high}, as {first}"
        for name, (count, first) in bad.items()
    ]
    return verdict("value_ranges", problems, f"all values of {total} rows in their declared ranges, no NaN", rows=total)


def _adjacent(columns: Columns, names: Iterable[str]) -> Array:
    same = np.ones(columns.rows - 1, bool)
    for name in names:
        same &= columns[name][1:] == columns[name][:-1]
    return same


def _rows_named(columns: Columns, wrong: Array, what: str) -> Iterator[str]:
    return (f"{_row_name(columns, row)}: {what}" for row in np.flatnonzero(wrong))


def _row_name(columns: Columns, row: Any) -> str:
    lane = lane_name(columns["episode_id"][row], columns["game"][row], columns["side"][row])
    return f"{lane} step {columns['step_id'][row]} substep {columns['substep'][row]}"
