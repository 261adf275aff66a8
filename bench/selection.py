"""Selecting from a catalog of 1,000 days, with and without caps, and the row coverage check over a whole day.

python -m bench.selection [--episodes 5000] [--day DIRECTORY]     (DIRECTORY: days/DATE/<sha12> of a data home, for the
coverage check)
"""

import argparse
import datetime
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bench import measure
from tcg_core.base.digest import sha256_bytes
from tcg_core.base.home import Home
from tcg_core.catalog.cap_order import order_day
from tcg_core.catalog.connection import catalog, transaction
from tcg_core.catalog.files import remember
from tcg_core.catalog.selection import select_days
from tcg_core.days.checks.coverage import row_coverage
from tcg_core.days.layout import EXPECTED
from tcg_core.recipe import Selection
from tcg_core.rows.reader import ROWS

SELECTIONS = {
    "all days": Selection(all_days=True),
    "last 30 days": Selection(last_n_days=30),
    "1,000 rows a day": Selection(all_days=True, max_rows_per_day=1_000),
    "5,000 rows a day": Selection(all_days=True, max_rows_per_day=5_000),
    "20,000 rows a day": Selection(all_days=True, max_rows_per_day=20_000),
    "1,000,000 rows in all": Selection(all_days=True, max_rows=1_000_000),
    "both: 20,000 a day, 5,000,000 in all": Selection(all_days=True, max_rows_per_day=20_000, max_rows=5_000_000),
}
#: Rows of the i-th episode: 60 to 259, about 160 on average as on a real day.
_EPISODES = """WITH RECURSIVE n (i) AS (VALUES (0) UNION ALL SELECT i + 1 FROM n WHERE i + 1 < :count)
    INSERT INTO episodes SELECT :day, (:first + i) || '.json', :first + i, 'rows', NULL, NULL, printf('%064d', :first + i), 'v1',
    '1.32.7', 1, 60 + ((:first + i) * 2654435761 >> 7) % 200, 60 + ((:first + i) * 2654435761 >> 7) % 200, '{}' FROM n"""


def fill(home: Home, days: int, episodes: int) -> None:
    """A catalog of ``days`` validated days of ``episodes`` episodes; each day's file holds its name."""
    with catalog(home) as connection:
        connection.execute("PRAGMA synchronous = OFF")
        for number in range(days):
            day = (datetime.date(2024, 1, 1) + datetime.timedelta(days=number)).isoformat()
            sha, data = sha256_bytes(day.encode()), day.encode()
            path = home.days / day / sha[:12] / "rows.parquet"
            path.parent.mkdir(parents=True)
            path.write_bytes(data)
            relative = path.parent.relative_to(home.root).as_posix()
            with transaction(connection):
                connection.execute(
                    "INSERT INTO days VALUES (?, ?, ?, 100, ?, 'd', 0, 'now', 'now')", (day, sha, f"archives/{day}.zip", episodes)
                )
                connection.execute(_EPISODES, {"day": day, "first": 80_000_000 + number * episodes, "count": episodes})
                order_day(connection, day)
                connection.execute(
                    "INSERT INTO datasets SELECT ?, ?, 'validated', NULL, ?, ?, ?, sum(rows), count(*), 200, 'v1', 's', 'c', ?,"
                    " 'now', 'now', NULL FROM episodes WHERE day = ?",
                    (sha[:16], day, relative, sha256_bytes(data), len(data), sha, day),
                )
                remember(connection, path, f"{relative}/rows.parquet", sha256_bytes(data))


def _best(work: Callable[[], Any], repeat: int = 7) -> float:
    found = float("inf")
    for _ in range(repeat):
        started = time.process_time()
        work()
        found = min(found, time.process_time() - started)
    return found


def main() -> None:
    """Prints one line a selection."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--days", type=int, default=1000)
    parser.add_argument("--episodes", type=int, default=500, help="a day")
    parser.add_argument("--day", type=Path)
    arguments = parser.parse_args()
    print(measure.machine())
    with tempfile.TemporaryDirectory(prefix="tcg_bench_") as place:
        home = Home(Path(place) / "home").prepare()
        started = time.perf_counter()
        fill(home, arguments.days, arguments.episodes)
        print(f"{arguments.days} days of {arguments.episodes} episodes made in {time.perf_counter() - started:.0f} s")
        with catalog(home) as connection:
            for name, selection in SELECTIONS.items():
                found = select_days(connection, selection)
                seconds = _best(lambda selection=selection: select_days(connection, selection))
                episodes, rows = sum(day.episodes for day in found), sum(day.rows for day in found)
                what = f"{len(found):5} days, {episodes:9,} episodes, {rows:11,} rows"
                print(f"{name:38} {1000 * seconds:6.1f} ms CPU for {what}")
    if arguments.day:
        started, cpu = time.perf_counter(), time.process_time()
        check = row_coverage(arguments.day / ROWS, arguments.day / EXPECTED)
        wall, cpu = time.perf_counter() - started, time.process_time() - cpu
        print(f"row_coverage {wall:.2f} s wall, {cpu:.2f} s CPU: {'passed' if check.passed else 'FAILED'}: {check.message}")


if __name__ == "__main__":
    main()
