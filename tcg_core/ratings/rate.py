"""Fills ``agent_elo_daily``: computed ratings from the first day that changed, leaderboard ratings from the snapshots."""

import sqlite3
from collections.abc import Iterable, Sequence

from tcg_core.catalog.connection import now
from tcg_core.catalog.standing import REMOTE, REPLAY, replay_chain
from tcg_core.ratings.elo import GameResult, Standing, play
from tcg_core.ratings.leaderboards import Leaderboard

#: Games of a day in order of time; an episode that an earlier validated day holds was counted there.
_GAMES = (
    "SELECT p0.agent_id AS agent0, p1.agent_id AS agent1, g.outcome FROM games g"
    " JOIN participants p0 ON p0.day = g.day AND p0.episode_id = g.episode_id AND p0.side = 0"
    " JOIN participants p1 ON p1.day = g.day AND p1.episode_id = g.episode_id AND p1.side = 1"
    " WHERE g.day = ? AND g.outcome IS NOT NULL AND NOT EXISTS (SELECT 1 FROM shared_episodes s"
    "  JOIN datasets d ON d.day = s.day AND d.state = 'validated' WHERE s.episode_id = g.episode_id AND s.day < g.day)"
    " ORDER BY g.episode_id, g.game"
)
_INSERT = "INSERT INTO agent_elo_daily VALUES (?, ?, ?, ?, ?, ?, ?, ?)"


def games_of(connection: sqlite3.Connection, day: str) -> list[GameResult]:
    """The day's games with a known outcome, forfeits included, in the order in which they are rated."""
    return [GameResult(row["agent0"], row["agent1"], row["outcome"]) for row in connection.execute(_GAMES, (day,))]


def rate_replays(connection: sqlite3.Connection) -> tuple[list[str], dict[int, Standing]]:
    """Brings the computed ratings up to date within the caller's transaction.

    Starts at the state stored for the last day whose inputs are unchanged. Returns the days that were written anew and the
    standings after the last day.
    """
    chain = replay_chain(connection)
    stored = dict(
        connection.execute("SELECT day, inputs FROM rating_days WHERE source = ?", (REPLAY,)).fetchall()  # (day, inputs) rows
    )
    good = 0
    while good < len(chain) and stored.get(chain[good][0]) == chain[good][1]:
        good += 1
    for day in {*stored, *(day for day, _ in chain)} - {day for day, _ in chain[:good]}:
        _forget(connection, day, REPLAY)
    standings = _stored(connection, chain[good - 1][0]) if good else {}
    if good:
        standings = play(standings, games_of(connection, chain[good - 1][0]))
    for position in range(good, len(chain)):
        day, inputs = chain[position]
        as_of = chain[position - 1][0] if position else None
        rows = [(a, day, REPLAY, s.elo, s.games, s.wins, s.losses, s.draws) for a, s in sorted(standings.items())]
        _write(connection, day, REPLAY, as_of, inputs, rows)
        standings = play(standings, games_of(connection, day))
    return [day for day, _ in chain[good:]], standings


def rate_remote(connection: sqlite3.Connection, boards: Sequence[Leaderboard]) -> list[str]:
    """Gives every validated day the ratings of the last snapshot taken at or before its start. Returns the days written anew."""
    stored = {
        row["day"]: (row["as_of"], row["inputs"])
        for row in connection.execute("SELECT * FROM rating_days WHERE source = ?", (REMOTE,)).fetchall()
    }
    written = []
    wanted: dict[str, Leaderboard] = {}
    for day, _ in replay_chain(connection):
        before = [board for board in boards if board.as_of <= day]
        if before:
            wanted[day] = before[-1]
    for day in sorted(set(stored) - set(wanted)):
        _forget(connection, day, REMOTE)
    for day, board in wanted.items():
        if stored.get(day) == (board.as_of, board.sha256):
            continue
        _forget(connection, day, REMOTE)
        agents = _agents(connection, board.scores)
        rows = [(agents[name], day, REMOTE, score, 0, 0, 0, 0) for name, score in sorted(board.scores.items())]
        _write(connection, day, REMOTE, board.as_of, board.sha256, rows)
        written.append(day)
    return written


def _write(
    connection: sqlite3.Connection, day: str, source: str, as_of: str | None, inputs: str, rows: Sequence[tuple[object, ...]]
) -> None:
    connection.executemany(_INSERT, rows)
    connection.execute("INSERT INTO rating_days VALUES (?, ?, ?, ?, ?, ?)", (day, source, as_of, inputs, len(rows), now()))


def _forget(connection: sqlite3.Connection, day: str, source: str) -> None:
    connection.execute("DELETE FROM agent_elo_daily WHERE day = ? AND source = ?", (day, source))
    connection.execute("DELETE FROM rating_days WHERE day = ? AND source = ?", (day, source))


def _stored(connection: sqlite3.Connection, day: str) -> dict[int, Standing]:
    rows = connection.execute("SELECT * FROM agent_elo_daily WHERE day = ? AND source = ?", (day, REPLAY))
    return {r["agent_id"]: Standing(r["elo"], r["games"], r["wins"], r["losses"], r["draws"]) for r in rows}


def _agents(connection: sqlite3.Connection, names: Iterable[str]) -> dict[str, int]:
    """Ids by name; teams of a leaderboard that no replay showed become agents too, since they count in a top N."""
    connection.executemany("INSERT OR IGNORE INTO agents (name) VALUES (?)", [(name,) for name in sorted(names)])
    return {row["name"]: row["agent_id"] for row in connection.execute("SELECT name, agent_id FROM agents")}
