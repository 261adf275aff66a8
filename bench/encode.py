"""Speed and size of parsing, encoding and batching on real replays, one process.

    python bench/encode.py [ARCHIVE ...] [--repeat 5]

Archives default to the golden ones. Times are the process's CPU time, so a shared machine distorts them less.
"""

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from tcg_core.encode.cards import FIRST, CardTables
from tcg_core.encode.collate import collate
from tcg_core.encode.columns import Columns
from tcg_core.encode.rows import encode_episode
from tcg_core.replay.archive import open_archive
from tcg_core.replay.episode import parse_episode

GOLDEN = Path(__file__).resolve().parents[1] / "tests/golden"
BATCH = 256


def _identity_tables() -> CardTables:
    """Tables in which every id is its own content: shapes and look-ups as in training, without the engine."""
    index = np.concatenate([[0], np.arange(FIRST, 2048)]).astype(np.int32)
    both = {"v1": index, "v2": index}
    return CardTables(both, both, np.zeros((2048, 1), np.float32), np.zeros((2048, 1), np.float32))


def _timed(repeat: int, work: Callable[[], Any]) -> float:
    """CPU seconds of the fastest of ``repeat`` runs."""
    best = float("inf")
    for _ in range(repeat):
        start = time.process_time()
        work()
        best = min(best, time.process_time() - start)
    return best


def main() -> None:
    """Prints one line a figure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("archives", nargs="*", type=Path, default=sorted(GOLDEN.glob("*.zip")))
    parser.add_argument("--repeat", type=int, default=5)
    arguments = parser.parse_args()
    members = []
    for path in arguments.archives:
        with open_archive(path) as archive:
            members += [(archive.read(member), member.name) for member in archive.members]
    parsing = _timed(arguments.repeat, lambda: [parse_episode(*member) for member in members])
    episodes = [parse_episode(*member) for member in members]
    encoding = _timed(arguments.repeat, lambda: [encode_episode(episode, "2026-01-01") for episode in episodes])
    columns = Columns.concatenate([encode_episode(episode, "2026-01-01") for episode in episodes])
    order = np.random.default_rng(13).permutation(columns.rows)
    tables = _identity_tables()

    def batches() -> None:
        for first in range(0, columns.rows, BATCH):
            part = columns.take(order[first : first + BATCH])
            collate(part, part["generation"], tables)

    batching = _timed(arguments.repeat, batches)
    megabytes = sum(len(data) for data, _ in members) / 1e6
    print(f"episodes {len(members)}  MB {megabytes:.1f}  rows {columns.rows}")
    print(f"parse         {megabytes / parsing:8.0f} MB/s  {columns.rows / parsing:8.0f} rows/s")
    print(f"encode        {columns.rows / encoding:8.0f} rows/s")
    print(f"parse+encode  {columns.rows / (parsing + encoding):8.0f} rows/s")
    print(f"take+collate  {columns.rows / batching:8.0f} rows/s in shuffled batches of {BATCH}")
    print(f"decoded       {columns.nbytes() / columns.rows:8.0f} bytes/row")
    for name, array in columns.values.items():
        size = 4 * array.size if array.dtype == object else array.nbytes
        print(f"  {name:20} {size / columns.rows:7.1f} bytes/row")


if __name__ == "__main__":
    main()
