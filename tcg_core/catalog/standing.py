"""Ratings as they stood at the start of a day: reading them, and knowing whether they still follow from the validated days."""

import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass

from tcg_core.base.digest import sha256_json
from tcg_core.catalog.errors import RatingsStale

REMOTE, REPLAY = "remote", "replay"
#: Points that one game can move at most, and where an agent starts: those of the ladder's own scale (a new submission has 600).
K, INITIAL = 32.0, 600.0


@dataclass(frozen=True)
class DayRating:
    """By what a day's top agents were chosen. ``as_of``: date of the leaderboard, or last day whose games count; ``digest``
    covers names and ratings of those chosen."""

    day: str
    source: str
    as_of: str | None
    digest: str


@dataclass(frozen=True)
class Top:
    """The best rated agents of a day."""

    names: frozenset[str]
    rating: DayRating


def rating_source(connection: sqlite3.Connection, day: str) -> str | None:
    """``remote`` if a leaderboard snapshot covers the day, else ``replay`` if ratings were computed, else None."""
    query = "SELECT DISTINCT source FROM agent_elo_daily WHERE day = ?"
    found = {row["source"] for row in connection.execute(query, (day,))}
    return REMOTE if REMOTE in found else REPLAY if found else None


def top_agents(connection: sqlite3.Connection, day: str, count: int, chain: Mapping[str, str]) -> Top | None:
    """The ``count`` best rated agents at the start of ``day``; equal ratings are ordered by name. None if the day has no
    ratings (nobody had played before it). ``chain``: :func:`replay_chain`.

    Raises :class:`RatingsStale` if the day's computed ratings do not follow from the days that are validated now.
    """
    source = rating_source(connection, day)
    row = connection.execute("SELECT * FROM rating_days WHERE day = ? AND source = ?", (day, source or REPLAY)).fetchone()
    if source != REMOTE and (row is None or row["inputs"] != chain.get(day)):
        state = "older than the validated days" if row else "not computed"
        raise RatingsStale(f"selection: top_elo {count}: the ratings of day {day} are {state}: run `tcg catalog ratings`")
    if source is None:
        return None
    query = (
        "SELECT a.name, e.elo FROM agent_elo_daily e JOIN agents a USING (agent_id) WHERE e.day = ? AND e.source = ?"
        " ORDER BY e.elo DESC, a.name LIMIT ?"
    )
    best = [(r["name"], round(r["elo"], 6)) for r in connection.execute(query, (day, source, count))]
    as_of = row["as_of"] if row else None
    return Top(frozenset(name for name, _ in best), DayRating(day, source, as_of, sha256_json([day, source, as_of, best])))


def replay_chain(connection: sqlite3.Connection) -> list[tuple[str, str]]:
    """For each validated day by date the hash of all that its computed ratings come from: the constants and every validated
    dataset *before* it. A day that arrives late changes the hash of every later day and of no earlier one."""
    link = sha256_json(["elo", K, INITIAL])
    chain = []
    for row in connection.execute("SELECT day, dataset_id FROM datasets WHERE state = 'validated' ORDER BY day"):
        chain.append((row["day"], link))
        link = sha256_json([link, row["day"], row["dataset_id"]])
    return chain
