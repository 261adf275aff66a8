"""Rows of a day: its archive, its episodes. Each change is one short transaction of the caller's."""

import json
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tcg_core.base.errors import UnknownId
from tcg_core.base.home import Home
from tcg_core.catalog.cap_order import forget_day, order_day
from tcg_core.catalog.connection import catalog, now
from tcg_core.catalog.datasets import datasets_of, supersede_all
from tcg_core.catalog.errors import EpisodeConflict
from tcg_core.catalog.records import EpisodeRecord


@dataclass(frozen=True)
class DayRow:
    """A day whose archive was taken. ``archive_path`` is relative to the home."""

    day: str
    archive_sha256: str
    archive_path: str
    archive_bytes: int
    members: int
    directory_digest: str
    taken_at: str
    cataloged_at: str | None


def record_archive(
    connection: sqlite3.Connection, day: str, sha256: str, path: str, size: int, members: int, directory_digest: str
) -> None:
    """Records the archive of a day. Another archive than before supersedes the day's datasets and clears its episodes."""
    old = connection.execute("SELECT archive_sha256 FROM days WHERE day = ?", (day,)).fetchone()
    if old and old["archive_sha256"] != sha256:
        supersede_all(connection, day)
        _clear(connection, day)
    connection.execute(
        "INSERT INTO days (day, archive_sha256, archive_path, archive_bytes, members, directory_digest, taken_at)"
        " VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (day) DO UPDATE SET archive_path = excluded.archive_path,"
        " archive_bytes = excluded.archive_bytes, members = excluded.members, directory_digest = excluded.directory_digest,"
        " taken_at = excluded.taken_at, archive_sha256 = excluded.archive_sha256,"
        " cataloged_at = CASE WHEN days.archive_sha256 = excluded.archive_sha256 THEN days.cataloged_at END",
        (day, sha256, path, size, members, directory_digest, now()),
    )


def day_row(connection: sqlite3.Connection, day: str) -> DayRow:
    """The day; raises :class:`UnknownId` if its archive was never taken."""
    row = connection.execute("SELECT * FROM days WHERE day = ?", (day,)).fetchone()
    if row is None:
        raise UnknownId(f"day {day} is not in the catalog: its archive was never taken from the inbox")
    return DayRow(**dict(row))


def known_days(connection: sqlite3.Connection) -> list[str]:
    """All days whose archive was taken, by date."""
    return [row["day"] for row in connection.execute("SELECT day FROM days ORDER BY day")]


def list_days(home: Home) -> list[dict[str, Any]]:
    """For people: each day with the state of its present dataset, by date. ``state`` is ``taken`` before a build; rows,
    episodes and bytes are 0 then."""
    with catalog(home) as connection:
        days = connection.execute("SELECT * FROM days ORDER BY day").fetchall()
        datasets = datasets_of(connection)
        bad = connection.execute("SELECT day, count(*) AS n FROM episodes WHERE status = 'quarantined' GROUP BY day").fetchall()
    quarantined = {row["day"]: row["n"] for row in bad}
    order = ("validated", "staged", "failed", "damaged", "excluded", "superseded")
    listed = []
    for day in days:
        mine = sorted((d for d in datasets if d.day == day["day"]), key=lambda d: order.index(d.state))
        found = mine[0] if mine else None
        listed.append(
            {
                "day": day["day"],
                "state": found.state if found else "taken",
                "episodes": found.episodes if found else 0,
                "quarantined": quarantined.get(day["day"], 0),
                "rows": found.rows if found else 0,
                "bytes": found.bytes if found else 0,
                "generation": "+".join(found.generations) if found else "",
                "dataset": found.dataset_id if found else "",
                "archive": day["archive_sha256"][:12],
                "reason": (found.reason or "") if found else "",
            }
        )
    return listed


def check_conflicts(connection: sqlite3.Connection, day: str, records: Iterable[EpisodeRecord]) -> int:
    """How many episodes another day holds with the same content.

    Raises :class:`EpisodeConflict` naming both if another day holds an id with other content.
    """
    again = 0
    for record in records:
        if record.episode_id is None or record.content_hash is None:
            continue
        others = connection.execute(
            "SELECT day, member, content_hash FROM episodes WHERE episode_id = ? AND day <> ? AND content_hash IS NOT NULL",
            (record.episode_id, day),
        ).fetchall()
        for other in others:
            if other["content_hash"] != record.content_hash:
                raise EpisodeConflict(
                    f"episode {record.episode_id}: day {day} ({record.member}) has content {record.content_hash[:12]},"
                    f" day {other['day']} ({other['member']}) has {other['content_hash'][:12]}"
                )
        again += bool(others)
    return again


def record_episodes(
    connection: sqlite3.Connection, day: str, records: Sequence[EpisodeRecord], decks: Mapping[str, Sequence[int]]
) -> None:
    """Replaces the day's episodes, games, participants and decks. Raises :class:`EpisodeConflict` first."""
    check_conflicts(connection, day, records)
    _clear(connection, day)
    agents = record_names(connection, records, decks)
    connection.executemany(
        "INSERT INTO episodes VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [
            (
                day,
                r.member,
                r.episode_id,
                r.status,
                r.reason,
                r.detail,
                r.content_hash,
                r.generation,
                r.module_version,
                r.best_of,
                r.decisions,
                r.rows,
                json.dumps(r.caveats, sort_keys=True),
            )
            for r in records
        ],
    )
    connection.executemany(
        "INSERT INTO games VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [
            (
                day,
                r.episode_id,
                g.game,
                g.outcome,
                g.reason,
                g.excluded,
                g.first_player,
                *(g.prizes or (None, None)),
                g.decisions,
                g.rows,
            )
            for r in records
            for g in r.games
        ],
    )
    connection.executemany(
        "INSERT INTO participants VALUES (?, ?, ?, ?, ?)",
        [
            (day, r.episode_id, side, agents[seat.name], seat.deck_hash)
            for r in records
            if r.episode_id is not None
            for side, seat in enumerate(r.seats)
        ],
    )
    connection.execute(
        "INSERT OR IGNORE INTO shared_episodes SELECT e.episode_id, e.day FROM episodes e JOIN episodes mine"
        " ON mine.episode_id = e.episode_id AND mine.day = ? AND e.day <> mine.day",
        (day,),
    )
    connection.execute(
        "INSERT OR IGNORE INTO shared_episodes SELECT DISTINCT e.episode_id, ? FROM shared_episodes s JOIN episodes e"
        " ON e.episode_id = s.episode_id AND e.day = ?",
        (day, day),
    )
    order_day(connection, day)
    connection.execute("UPDATE days SET cataloged_at = ? WHERE day = ?", (now(), day))


def record_names(
    connection: sqlite3.Connection, records: Sequence[EpisodeRecord], decks: Mapping[str, Sequence[int]]
) -> dict[str, int]:
    """Adds the decks and team names that the catalog does not know yet, which stay when their episodes go; returns the agents'
    numbers, which are given in the order in which names come."""
    used = sorted({seat.deck_hash for record in records for seat in record.seats})
    connection.executemany("INSERT OR IGNORE INTO decks VALUES (?, ?)", [(key, json.dumps(list(decks[key]))) for key in used])
    names = sorted({seat.name for record in records for seat in record.seats})
    connection.executemany("INSERT OR IGNORE INTO agents (name) VALUES (?)", [(name,) for name in names])
    return {name: connection.execute("SELECT agent_id FROM agents WHERE name = ?", (name,)).fetchone()[0] for name in names}


def _clear(connection: sqlite3.Connection, day: str) -> None:
    connection.execute("DELETE FROM shared_episodes WHERE day = ?", (day,))
    forget_day(connection, day)
    connection.execute("DELETE FROM episodes WHERE day = ?", (day,))
