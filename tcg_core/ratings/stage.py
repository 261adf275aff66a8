"""Stage ``ratings``: brings the catalog's ratings up to date and publishes them as a table."""

import sqlite3
from pathlib import Path
from typing import Any

from tcg_core.base.built import Built
from tcg_core.base.home import Home
from tcg_core.base.manifest import Input
from tcg_core.base.stage import Stage, finish, make
from tcg_core.catalog.connection import catalog, transaction
from tcg_core.catalog.errors import SelectionEmpty
from tcg_core.catalog.registry import HomeRegistrar
from tcg_core.catalog.standing import INITIAL, REMOTE, REPLAY, K
from tcg_core.ratings.checks import rating_checks
from tcg_core.ratings.elo import Standing
from tcg_core.ratings.leaderboards import Leaderboard, leaderboards
from tcg_core.ratings.rate import rate_remote, rate_replays
from tcg_core.ratings.table import PLOT, read_ratings, write_ratings

KIND = "ratings"
_BEST = 10


def rate_agents(home: Home) -> Built:
    """Rates every validated day from the first one that changed on; the same days and snapshots name the same artifact.

    Raises :class:`SelectionEmpty` if no day is validated, :class:`LeaderboardError` for a snapshot that cannot be read.
    """
    boards = leaderboards(home)
    with catalog(home) as connection:
        with transaction(connection):
            days = _inputs(connection)
            if not days:
                raise SelectionEmpty("ratings: there is no validated day; take and build one first")
            replayed, standings = rate_replays(connection)
            remote = rate_remote(connection, boards)
        config = {"k": K, "initial": INITIAL, "leaderboards": {board.as_of: board.sha256 for board in boards}}

        def write(directory: Path) -> dict[str, Any]:
            write_ratings(connection, directory)
            return _counts(connection, boards)

        made = make(Stage.of(KIND, KIND, home.ratings, days, config), write)
        facts = made.manifest.facts | {
            "days_rated_anew": len(set(replayed) | set(remote)),
            "best_now": _best(connection, standings),
        }
        plots = {"ratings": made.path / PLOT}
        return finish(HomeRegistrar(home), made, lambda: rating_checks(connection, read_ratings(made.path), boards), facts, plots)


def days_of(home: Home) -> list[dict[str, Any]]:
    """For people: each rated day with its source, as-of date and number of agents."""
    with catalog(home) as connection:
        return [
            dict(row) for row in connection.execute("SELECT day, source, as_of, agents FROM rating_days ORDER BY day, source")
        ]


def table_of(home: Home, day: str, source: str, count: int) -> list[dict[str, Any]]:
    """For people: the best rated agents of a day."""
    query = (
        "SELECT a.name AS agent, round(e.elo, 1) AS elo, e.games, e.wins, e.losses, e.draws FROM agent_elo_daily e"
        " JOIN agents a USING (agent_id) WHERE e.day = ? AND e.source = ? ORDER BY e.elo DESC, a.name LIMIT ?"
    )
    with catalog(home) as connection:
        return [dict(row) for row in connection.execute(query, (day, source, count))]


def _inputs(connection: sqlite3.Connection) -> tuple[Input, ...]:
    query = (
        "SELECT d.dataset_id, coalesce(a.content, d.sha256) AS content FROM datasets d LEFT JOIN artifacts a"
        " ON a.kind = 'parquet_day' AND a.id = d.dataset_id WHERE d.state = 'validated' ORDER BY d.day"
    )
    return tuple(Input("parquet_day", row["dataset_id"], row["content"]) for row in connection.execute(query))


def _counts(connection: sqlite3.Connection, boards: list[Leaderboard]) -> dict[str, Any]:
    counted = {
        source: connection.execute(
            "SELECT count(*), count(DISTINCT agent_id) FROM agent_elo_daily WHERE source = ?", (source,)
        ).fetchone()
        for source in (REPLAY, REMOTE)
    }
    return {
        "rows": sum(row[0] for row in counted.values()),
        "agents_by_replay": counted[REPLAY][1],
        "agents_by_leaderboard": counted[REMOTE][1],
        "leaderboards": len(boards),
        "teams_without_score": sum(board.unscored for board in boards),
        "names_repeated": sum(board.repeated for board in boards),
    }


def _best(connection: sqlite3.Connection, standings: dict[int, Standing]) -> list[str]:
    names = dict(connection.execute("SELECT agent_id, name FROM agents").fetchall())
    ordered = sorted(standings.items(), key=lambda item: (-item[1].elo, names[item[0]]))
    return [f"{names[agent]} {standing.elo:.0f} ({standing.games} games)" for agent, standing in ordered[:_BEST]]
