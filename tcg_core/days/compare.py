"""What is on disk of an episode against what the present code makes of it, and the first difference in words."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from tcg_core.catalog.records import EpisodeRecord
from tcg_core.days.members import ExpectedLane, Processed
from tcg_core.encode.columns import Array, Columns
from tcg_core.encode.schema import SCHEMA
from tcg_core.rows.reader import DayReader

_SHOWN = 120


@dataclass(frozen=True)
class Difference:
    """The first place where an episode differs: ``expected`` is on disk, ``found`` is what this code makes.

    game, side, step: None where the difference is not within a row.
    """

    episode_id: int
    column: str
    expected: str
    found: str
    game: int | None = None
    side: int | None = None
    step: int | None = None

    def __str__(self) -> str:
        place = f" game {self.game} side {self.side} step {self.step}" if self.game is not None else ""
        return f"episode {self.episode_id}{place}: {self.column} is {self.expected} on disk, {self.found} by this code"


@dataclass(frozen=True)
class StoredEpisode:
    """What a day's directory holds of one episode; columns: None unless it has rows."""

    record: EpisodeRecord
    decks: Mapping[str, Sequence[int]]
    lanes: tuple[ExpectedLane, ...]
    columns: Columns | None


def first_difference(stored: StoredEpisode, made: Processed) -> Difference | None:
    """The first difference, None if there is none: how the episode ended, its catalogue facts, its lanes, its rows with all
    auxiliary targets. The text behind a quarantine's reason is not compared: it is for people and decides nothing."""
    id = stored.record.episode_id or 0
    for column, expected, found in _facts(stored, made):
        if expected != found:
            return Difference(id, column, _short(expected), _short(found))
    if stored.columns is None or made.columns is None:
        return None
    return _row_difference(id, stored.columns, made.columns)


def stored_rows(path: Path, episodes: frozenset[int]) -> Iterator[tuple[int, Columns]]:
    """The rows of each of these episodes, in the order of the file; one row group is in memory at a time."""
    waiting: int | None = None
    parts: list[Columns] = []
    with DayReader(path) as reader:
        for number in range(len(reader.row_groups)):
            ids = reader.read_row_group(number, ("episode_id",))["episode_id"]
            here = [int(id) for id in ids[np.flatnonzero(np.diff(ids, prepend=ids[0] - 1))] if int(id) in episodes]
            whole = reader.read_row_group(number) if here else None
            for id in here:
                if waiting is not None and id != waiting:
                    yield waiting, Columns.concatenate(parts)
                    parts = []
                assert whole is not None
                waiting = id
                parts.append(whole.take(np.flatnonzero(ids == id)))
    if waiting is not None:
        yield waiting, Columns.concatenate(parts)


def _facts(stored: StoredEpisode, made: Processed) -> Iterator[tuple[str, Any, Any]]:
    before, after = stored.record, made.record
    yield "status", before.status, after.status
    yield "reason", before.reason, after.reason
    if before.status == "quarantined":
        return
    for name in ("content_hash", "generation", "module_version", "best_of", "seats", "games", "caveats"):
        yield name, getattr(before, name), getattr(after, name)
    used = {seat.deck_hash for seat in after.seats}
    yield "decks", {key: list(stored.decks.get(key, ())) for key in used}, {key: list(made.decks[key]) for key in used}
    yield "expected lanes", _counted(stored.lanes), _counted(made.expected)
    if stored.columns is None or made.columns is None:
        yield "rows", _rows(stored.columns), _rows(made.columns)


def _counted(lanes: Sequence[ExpectedLane]) -> list[ExpectedLane]:
    """Without what was counted again from plain json: that is a sample of the build's own."""
    return [replace(lane, plain_decisions=None, plain_rows=None) for lane in lanes]


def _rows(columns: Columns | None) -> int:
    return 0 if columns is None else columns.rows


def _row_difference(id: int, before: Columns, after: Columns) -> Difference | None:
    first: tuple[int, str] | None = None
    for stream in SCHEMA.streams:
        row = _first_row(before, after, stream.name)
        if row is not None and (first is None or row < first[0]):
            first = row, stream.name
    if first is None:
        return None
    row, name = first
    shown = before if row < before.rows else after
    game, side, step = (int(shown[key][row]) for key in ("game", "side", "step_id"))
    return Difference(id, name, _value(before, name, row), _value(after, name, row), game, side, step)


def _first_row(before: Columns, after: Columns, name: str) -> int | None:
    """The first row in which a stream differs, by bits; None if there is none."""
    group = SCHEMA.by_name[name].group
    one, other = before[name], after[name]
    same_lengths = not group or np.array_equal(before.offsets[group], after.offsets[group])
    if one.dtype == other.dtype and one.shape == other.shape and same_lengths and _equal(one, other):
        return None
    for row in range(min(before.rows, after.rows)):
        if one.dtype != other.dtype or not _same(_cell(before, name, row), _cell(after, name, row)):
            return row
    return min(before.rows, after.rows)


def _equal(one: Array, other: Array) -> bool:
    return one.tolist() == other.tolist() if one.dtype == object else one.tobytes() == other.tobytes()


def _same(one: Array, other: Array) -> bool:
    return one.shape == other.shape and _equal(one, other)


def _cell(columns: Columns, name: str, row: int) -> Array:
    group = SCHEMA.by_name[name].group
    bounds = (row, row + 1) if group is None else (columns.offsets[group][row], columns.offsets[group][row + 1])
    return columns[name][bounds[0] : bounds[1]]


def _value(columns: Columns, name: str, row: int) -> str:
    if row >= columns.rows:
        return "no row"
    cell, group = _cell(columns, name, row), SCHEMA.by_name[name].group
    return _short(cell.tolist() if group else cell[0])


def _short(value: Any) -> str:
    text = str(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
