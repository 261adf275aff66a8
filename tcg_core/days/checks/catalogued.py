"""catalog_id_sets, catalog_foreign_keys, catalog_same_content: the catalog's rows of a day against its archive and itself."""

import sqlite3
from collections.abc import Iterable

from tcg_core.base.checks import Check
from tcg_core.catalog.verify import id_sets
from tcg_core.days.checks.report import verdict

#: Rows of a day whose parent is absent, by table: queries of their own, for ``foreign_keys`` may have been off.
_ORPHANS = {
    "games": "SELECT count(*) FROM games g WHERE g.day = ?1 AND NOT EXISTS"
    " (SELECT 1 FROM episodes e WHERE e.day = g.day AND e.episode_id = g.episode_id)",
    "participants of no episode": "SELECT count(*) FROM participants p WHERE p.day = ?1 AND NOT EXISTS"
    " (SELECT 1 FROM episodes e WHERE e.day = p.day AND e.episode_id = p.episode_id)",
    "participants of no agent": "SELECT count(*) FROM participants p WHERE p.day = ?1 AND NOT EXISTS"
    " (SELECT 1 FROM agents a WHERE a.agent_id = p.agent_id)",
    "participants of no deck": "SELECT count(*) FROM participants p WHERE p.day = ?1 AND NOT EXISTS"
    " (SELECT 1 FROM decks d WHERE d.deck_hash = p.deck_hash)",
    "episodes of no day": "SELECT count(*) FROM episodes e WHERE e.day = ?1 AND NOT EXISTS"
    " (SELECT 1 FROM days d WHERE d.day = e.day)",
}
_INCOMPLETE = (
    "SELECT e.episode_id FROM episodes e WHERE e.day = ?1 AND e.status <> 'quarantined' AND ("
    " (SELECT count(*) FROM participants p WHERE p.day = e.day AND p.episode_id = e.episode_id) <> 2 OR"
    " NOT EXISTS (SELECT 1 FROM games g WHERE g.day = e.day AND g.episode_id = e.episode_id))"
)


def catalog_id_sets(connection: sqlite3.Connection, day: str, members: Iterable[str]) -> Check:
    """Members of the archive and episodes of the catalog are the same set."""
    known = {row["member"] for row in connection.execute("SELECT member FROM episodes WHERE day = ?", (day,))}
    problems = id_sets(day, "episodes", set(members), known, ("the archive", "the catalog"))
    return verdict("catalog_id_sets", problems, f"{len(known)} episodes, the same in the archive and in the catalog")


def catalog_foreign_keys(connection: sqlite3.Connection, day: str) -> Check:
    """Every game, participant and episode of the day has its parents, every episode two participants and a game."""
    problems = []
    for what, query in _ORPHANS.items():
        count = connection.execute(query, (day,)).fetchone()[0]
        if count:
            problems.append(f"{count} {what}")
    incomplete = [row[0] for row in connection.execute(_INCOMPLETE, (day,))]
    if incomplete:
        problems.append(f"{len(incomplete)} episodes without two participants and a game, as {incomplete[0]}")
    return verdict("catalog_foreign_keys", problems, "every row has its parents")


def catalog_same_content(connection: sqlite3.Connection, day: str) -> Check:
    """A warning that names decisions that were published under two ids, on this day or on another."""
    rows = connection.execute(
        "SELECT mine.episode_id AS id, other.episode_id AS other, other.day AS day FROM episodes mine JOIN episodes other"
        " ON other.content_hash = mine.content_hash AND other.episode_id <> mine.episode_id"
        " WHERE mine.day = ? AND mine.decisions > 0 AND (other.day <> mine.day OR other.episode_id > mine.episode_id)",
        (day,),
    ).fetchall()
    problems = [f"episodes {row['id']} and {row['other']} ({row['day']}) hold the same decisions" for row in rows]
    message = "; ".join(problems[:5]) or "no decisions under two ids"
    return Check("catalog_same_content", not problems, message, "WARN", {"pairs": len(problems)})
