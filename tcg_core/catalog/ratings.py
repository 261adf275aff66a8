"""Ratings as they stood at the start of a day."""

import sqlite3

from tcg_core.catalog.errors import SelectionEmpty


def rating_source(connection: sqlite3.Connection, day: str) -> str | None:
    """``remote`` if leaderboard snapshots exist for the day, else ``replay`` if ratings were computed, else None."""
    found = {r["source"] for r in connection.execute("SELECT DISTINCT source FROM agent_elo_daily WHERE day = ?", (day,))}
    return "remote" if "remote" in found else "replay" if found else None


def top_agents(connection: sqlite3.Connection, day: str, count: int) -> set[str]:
    """Names of the ``count`` best rated agents at the start of ``day``; equal ratings are ordered by name.

    Raises :class:`SelectionEmpty` if the day has no ratings.
    """
    source = rating_source(connection, day)
    if source is None:
        raise SelectionEmpty(f"selection: top_elo {count} leaves no rows: day {day} has no ratings")
    query = (
        "SELECT a.name FROM agent_elo_daily e JOIN agents a USING (agent_id) WHERE e.day = ? AND e.source = ?"
        " ORDER BY e.elo DESC, a.name LIMIT ?"
    )
    return {row["name"] for row in connection.execute(query, (day, source, count))}
