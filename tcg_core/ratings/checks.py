"""as_of and one_row_each: the ratings table read back, against the catalog's games counted anew."""

import sqlite3
from collections import Counter
from collections.abc import Sequence
from typing import Any

from tcg_core.base.checks import Check
from tcg_core.catalog.standing import REMOTE, REPLAY, replay_chain
from tcg_core.ratings.leaderboards import Leaderboard

_SHOWN = 5

#: Games by agent and day, counted by other SQL than the ratings are made from: each episode once, on its first validated day.
_PLAYED = """
WITH first AS (
    SELECT e.episode_id, min(e.day) AS day FROM episodes e JOIN datasets d ON d.day = e.day AND d.state = 'validated'
    WHERE e.episode_id IS NOT NULL GROUP BY e.episode_id
), counted AS (
    SELECT g.day, g.episode_id, count(g.outcome) AS games FROM games g JOIN first f
    ON f.day = g.day AND f.episode_id = g.episode_id GROUP BY g.day, g.episode_id
)
SELECT c.day, a.name, sum(c.games) FROM counted c JOIN participants p ON p.day = c.day AND p.episode_id = c.episode_id
JOIN agents a ON a.agent_id = p.agent_id
WHERE (SELECT count(DISTINCT q.agent_id) FROM participants q WHERE q.day = c.day AND q.episode_id = c.episode_id) = 2
GROUP BY c.day, a.name
"""


def rating_checks(
    connection: sqlite3.Connection, rows: Sequence[dict[str, Any]], boards: Sequence[Leaderboard]
) -> tuple[Check, ...]:
    """as_of and one_row_each, over the rows of the table."""
    days = [day for day, _ in replay_chain(connection)]
    return as_of(connection, rows, boards, days), one_row_each(rows, days)


def as_of(
    connection: sqlite3.Connection, rows: Sequence[dict[str, Any]], boards: Sequence[Leaderboard], days: Sequence[str]
) -> Check:
    """A day's rating is the state at its start: the games behind a computed one are exactly the agent's games of earlier
    validated days, a leaderboard's is that of the last snapshot at or before the day."""
    played: dict[str, Counter[str]] = {}
    for day, name, count in connection.execute(_PLAYED):
        played.setdefault(day, Counter())[name] += count
    before: dict[str, Counter[str]] = {}
    total: Counter[str] = Counter()
    for day in days:
        before[day] = total.copy()
        total.update(played.get(day, Counter()))
    problems = []
    for row in rows:
        day, name = row["day"], row["agent"]
        if row["source"] == REPLAY:
            expected = before.get(day, Counter())[name]
            if row["games"] != expected or row["games"] != row["wins"] + row["losses"] + row["draws"]:
                problems.append(f"{day} {name}: rated by {row['games']} games, {expected} were played before that day")
        elif row["source"] == REMOTE:
            board = next((board for board in reversed(boards) if board.as_of <= day), None)
            if board is None or (board.as_of, board.scores.get(name)) != (row["as_of"], row["elo"]):
                told = f"of {board.as_of} ({board.scores.get(name)})" if board else "which does not exist"
                problems.append(f"{day} {name}: {row['elo']} as of {row['as_of']}, expected the snapshot {told}")
    return _result("as_of", problems, f"{len(rows)} ratings on {len(days)} days, each the state at its day's start")


def one_row_each(rows: Sequence[dict[str, Any]], days: Sequence[str]) -> Check:
    """One row for each agent, day and source, on validated days only."""
    counts = Counter((row["agent"], row["day"], row["source"]) for row in rows)
    problems = [f"{day} {agent}: {count} rows of source {source}" for (agent, day, source), count in counts.items() if count > 1]
    problems += [f"{day}: ratings of a day that is not validated" for day in sorted({row["day"] for row in rows} - set(days))]
    return _result("one_row_each", problems, f"{len(counts)} (agent, day, source), each once")


def _result(name: str, problems: Sequence[str], fine: str) -> Check:
    more = f"; {len(problems) - _SHOWN} more" if len(problems) > _SHOWN else ""
    return Check(name, not problems, "; ".join(problems[:_SHOWN]) + more if problems else fine, facts={"problems": len(problems)})
