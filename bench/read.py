"""How fast the rows of a promoted day come back: shuffled within windows, through the cache, into padded batches, one core.

    python -m bench.read DIRECTORY      (days/DATE/<sha12> of a data home, as bench.day --home leaves it)

Row groups are shuffled by seed; so many of them as ``--window`` says are open at once and their rows come in random order.
The path is the trainer's own: ``train.data.Source`` and ``encode.collate``. Times are CPU seconds.
"""

import argparse
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa

from bench import measure
from bench.encode import _identity_tables
from tcg_core.encode.collate import collate
from tcg_core.plan.rows import PlanDay
from tcg_core.rows.cache import RowGroupCache
from tcg_core.rows.reader import ROWS, DayReader
from tcg_core.train.data import STREAMS, Source


def windows(groups: list[tuple[int, int]], window: int, batch: int, seed: int) -> Iterator[np.ndarray]:
    """Row numbers of each batch."""
    draw = np.random.default_rng(seed)
    order = draw.permutation(len(groups))
    for first in range(0, len(order), window):
        rows = np.concatenate([np.arange(groups[g][0], sum(groups[g])) for g in order[first : first + window]])
        rows = draw.permutation(rows)
        for start in range(0, len(rows), batch):
            yield rows[start : start + batch]


def main() -> None:
    """Prints one line a step of the path, and one for all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--window", type=int, default=8)
    parser.add_argument("--batch", type=int, default=512)
    parser.add_argument("--rows", type=int, default=200_000, help="stop after so many")
    arguments = parser.parse_args()
    pa.set_cpu_count(1)
    print(measure.machine())
    tables = _identity_tables()
    with DayReader(arguments.directory) as reader:
        groups = reader.row_groups
        path = str(arguments.directory / ROWS)
        day = PlanDay("2026-09-01", "", path, "", "", reader.rows, 0, len(groups), 0)
        started = time.process_time()
        read = sum(reader.read_row_group(number, STREAMS).rows for number in range(min(len(groups), 50)))
        print(f"read row groups in order  {read / (time.process_time() - started):8.0f} rows/s")
        cache = RowGroupCache((reader,), 2**30, streams=STREAMS)
        source = Source((day,), (reader,), cache)
        rows, fetching, padding, bytes_ = 0, 0.0, 0.0, 0
        for wanted in windows(groups, arguments.window, arguments.batch, 13):
            begin = time.process_time()
            columns = source.fetch(wanted)
            middle = time.process_time()
            batch = collate(columns, "v1", tables)
            fetching, padding = fetching + middle - begin, padding + time.process_time() - middle
            rows += columns.rows
            bytes_ += sum(array.nbytes for array in batch.values())
            if rows >= arguments.rows:
                break
    print(f"read, cache and gather    {rows / fetching:8.0f} rows/s")
    print(f"pad into batches of {arguments.batch:<5} {rows / padding:8.0f} rows/s, {bytes_ / rows:.0f} bytes a padded row")
    print(f"all                       {rows / (fetching + padding):8.0f} rows/s of {rows} rows, window {arguments.window}")
    print(f"cache: {cache.counters.misses} row groups read, {cache.counters.hit_rate:.1%} of requests from memory")


if __name__ == "__main__":
    main()
