"""Selecting from a catalog of 1,000 days, and the row coverage check over a whole day.

python -m bench.selection [--day DIRECTORY]      (DIRECTORY: days/DATE/<sha12> of a data home, for the coverage check)
"""

import argparse
import datetime
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bench import measure
from tcg_core.catalog.connection import catalog
from tcg_core.catalog.selection import select_days
from tcg_core.dataset.checks.coverage import row_coverage
from tcg_core.dataset.layout import EXPECTED
from tcg_core.dataset.reader import ROWS
from tcg_core.home import Home
from tcg_core.recipe import Selection
from tests.catalog.helpers import add_day, episode

SELECTIONS = {
    "all days": Selection(all_days=True),
    "last 30 days": Selection(last_n_days=30),
    "all days, 50 rows a day": Selection(all_days=True, max_rows_per_day=50),
}


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
    parser.add_argument("--episodes", type=int, default=10, help="a day")
    parser.add_argument("--day", type=Path)
    arguments = parser.parse_args()
    print(measure.machine())
    with tempfile.TemporaryDirectory(prefix="tcg_bench_") as place:
        home = Home(Path(place) / "home").prepare()
        for number in range(arguments.days):
            day = datetime.date(2024, 1, 1) + datetime.timedelta(days=number)
            first = number * arguments.episodes
            add_day(home, day.isoformat(), [episode(first + i) for i in range(arguments.episodes)])
        with catalog(home) as connection:
            for name, selection in SELECTIONS.items():
                found = select_days(connection, selection)
                seconds = _best(lambda selection=selection: select_days(connection, selection))
                print(f"{name:26} {1000 * seconds:6.1f} ms CPU for {len(found)} of {arguments.days} days")
    if arguments.day:
        started, cpu = time.perf_counter(), time.process_time()
        check = row_coverage(arguments.day / ROWS, arguments.day / EXPECTED)
        wall, cpu = time.perf_counter() - started, time.process_time() - cpu
        print(f"row_coverage {wall:.2f} s wall, {cpu:.2f} s CPU: {'passed' if check.passed else 'FAILED'}: {check.message}")


if __name__ == "__main__":
    main()
