"""The order in which caps keep episodes, stored with each day: what a cap keeps of a day is the head of a sorted table.

``cap_order`` has one row an episode with rows: ``rows_through`` is the sum of the rows of this and all episodes before it, in
the order of :func:`~tcg_core.catalog.caps.episode_order` under :data:`~tcg_core.recipe.SPLIT_SEED`. A cap of N rows keeps
exactly those with ``rows_through <= N``: it reads what it keeps and hashes nothing.
"""

import json
import sqlite3
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import msgspec

from tcg_core.catalog.caps import EpisodeRows, episode_order
from tcg_core.recipe import SPLIT_SEED

_numbers = msgspec.json.Decoder(list[int])


@dataclass(frozen=True)
class Head:
    """What a cap keeps of a day: episode ids, ascending, and their rows."""

    ids: tuple[int, ...]
    rows: int


def declare(connection: sqlite3.Connection) -> None:
    """Gives the connection the function ``cap_key(episode_id)``, by which ``cap_order`` is filled."""
    connection.create_function("cap_key", 1, lambda id: episode_order(SPLIT_SEED, id), deterministic=True)


def order_day(connection: sqlite3.Connection, day: str) -> None:
    """Stores the order of the day's episodes anew, within the caller's transaction."""
    forget_day(connection, day)
    connection.execute(
        "INSERT INTO cap_order SELECT day, sum(rows) OVER (ORDER BY cap_key(episode_id) ROWS UNBOUNDED PRECEDING), episode_id"
        " FROM episodes WHERE day = ? AND status = 'rows'",
        (day,),
    )


def forget_day(connection: sqlite3.Connection, day: str) -> None:
    """Removes the order of the day's episodes, within the caller's transaction."""
    connection.execute("DELETE FROM cap_order WHERE day = ?", (day,))


def rows_of(connection: sqlite3.Connection, days: Iterable[str]) -> dict[str, int]:
    """Rows of all episodes of each day."""
    query = "SELECT e.value, (SELECT coalesce(max(c.rows_through), 0) FROM cap_order c WHERE c.day = e.value) FROM json_each(?) e"
    return {row[0]: row[1] for row in connection.execute(query, (json.dumps(list(days)),))}


def rows_within(connection: sqlite3.Connection, caps: Mapping[str, int]) -> dict[str, int]:
    """Rows that each day's cap keeps."""
    query = (
        "SELECT e.key, (SELECT coalesce(max(c.rows_through), 0) FROM cap_order c WHERE c.day = e.key AND"
        " c.rows_through <= e.value) FROM json_each(?) e"
    )
    return {row[0]: row[1] for row in connection.execute(query, (json.dumps(caps),))}


def heads(connection: sqlite3.Connection, caps: Mapping[str, int]) -> dict[str, Head]:
    """What each day's cap keeps."""
    # One row a day, its numbers as one text: a row an episode is twice as slow to take over.
    query = (
        "SELECT e.key, (SELECT '[' || max(c.rows_through) || ',' || group_concat(c.episode_id) || ']' FROM cap_order c"
        " WHERE c.day = e.key AND c.rows_through <= e.value) FROM json_each(?) e"
    )
    return {day: _head(numbers) for day, numbers in connection.execute(query, (json.dumps(caps),))}


def _head(numbers: str | None) -> Head:
    """``numbers``: rows, then ids; None where nothing is kept."""
    rows, *ids = _numbers.decode(numbers or "[0]")
    ids.sort()
    return Head(tuple(ids), rows)


def head_episodes(connection: sqlite3.Connection, day: str, cap: int) -> list[EpisodeRows]:
    """The episodes that a cap keeps of a day, with the rows of each, by id."""
    query = "SELECT episode_id, rows_through FROM cap_order WHERE day = ? AND rows_through <= ? ORDER BY rows_through"
    found, before = [], 0
    for id, through in connection.execute(query, (day, cap)):
        found.append(EpisodeRows(id, through - before))
        before = through
    return sorted(found, key=lambda episode: episode.episode_id)
