"""row_coverage: each decision of each kept game has its rows, exactly once, by counters that do not know the encoder."""

from pathlib import Path

import duckdb

from tcg_core.base.checks import Check
from tcg_core.base.errors import IntegrityError
from tcg_core.days.checks.report import lane_name, verdict

_QUERY = """
WITH held AS (
    SELECT episode_id, game, side, count(*) AS rows, count(DISTINCT step_id) AS decisions,
           count(*) - count(DISTINCT (step_id, substep)) AS doubled
    FROM read_parquet($rows) GROUP BY ALL
)
SELECT coalesce(h.episode_id, e.episode_id) AS episode_id, coalesce(h.game, e.game) AS game, coalesce(h.side, e.side) AS side,
       h.rows, e.rows, h.decisions, e.decisions, h.doubled, e.plain_rows, e.plain_decisions
FROM held h FULL JOIN read_parquet($expected) e
    ON h.episode_id = e.episode_id AND h.game = e.game AND h.side = e.side
WHERE h.rows IS NULL OR e.rows IS NULL OR h.rows <> e.rows OR h.decisions <> e.decisions OR h.doubled > 0
   OR coalesce(e.plain_rows, e.rows) <> e.rows OR coalesce(e.plain_decisions, e.decisions) <> e.decisions
ORDER BY 1, 2, 3
"""
_TOTALS = "SELECT count(*), coalesce(sum(rows), 0), count(plain_rows) FROM read_parquet($expected)"


def row_coverage(rows: Path, expected: Path) -> Check:
    """``rows``: the day's Parquet; ``expected``: one row a lane with what it must hold. Missing, extra, doubled and short
    lanes are named, and lanes whose two expected counts disagree."""
    try:
        with duckdb.connect(config={"threads": 1, "autoinstall_known_extensions": False}) as connection:
            connection.execute("SET memory_limit = '1GB'")
            connection.execute("SET temp_directory = ''")  # a check writes nothing, so it does not spill
            found = connection.execute(_QUERY, {"rows": str(rows), "expected": str(expected)}).fetchall()
            lanes, total, recounted = connection.execute(_TOTALS, {"expected": str(expected)}).fetchone() or (0, 0, 0)
    except duckdb.Error as error:
        raise IntegrityError(f"{rows}: {str(error).splitlines()[0]}") from None
    problems = [_problem(*row) for row in found]
    fine = f"{lanes} lanes hold the {total} rows expected of them, each once; {recounted} lanes were recounted from plain json"
    return verdict("row_coverage", problems, fine, lanes=lanes, rows=int(total), recounted=recounted)


def _problem(
    episode_id: int,
    game: int,
    side: int,
    rows: int | None,
    expected: int | None,
    decisions: int | None,
    expected_decisions: int | None,
    doubled: int | None,
    plain_rows: int | None,
    plain_decisions: int | None,
) -> str:
    lane = lane_name(episode_id, game, side)
    if rows is None:
        return f"missing {lane}: expected {expected} rows"
    if expected is None:
        return f"extra {lane}: {rows} rows of no kept game"
    if doubled:
        return f"doubled {lane}: {doubled} rows occur twice"
    if (rows, decisions) != (expected, expected_decisions):
        return f"{lane}: {rows} rows of {decisions} decisions, expected {expected} of {expected_decisions}"
    return (
        f"{lane}: plain json has {plain_rows} rows of {plain_decisions} decisions, the counter {expected} of {expected_decisions}"
    )
