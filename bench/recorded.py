"""Archives of long real games, as many as asked for: the material of the other benchmarks.

    python -m bench.recorded ARCHIVE --episodes 5000 --processes 2

Four of five episodes are random against random and one heuristic against heuristic, each with two random legal decks of its
own (every tenth with the sample deck), because such games are about as long as Kaggle's: 160 rows and 4.4 MB. What is
recorded depends on the day and the episode's number only.
"""

import argparse
import binascii
import json
import zipfile
import zlib
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

from tcg_core.engine.agents import make_agent
from tcg_core.engine.decks import random_legal_deck, sample_deck
from tcg_core.replay.record import DecisionCapReached, record_episode
from tcg_core.replay.record_day import episode_id_of

#: (member's name, CRC-32, bytes, deflated bytes)
Packed = tuple[str, int, int, bytes]
_CHUNK = 8


def episode(date: str, index: int) -> bytes:
    """The replay of one episode as JSON; a game without an end is dropped and another one played."""
    identity = episode_id_of(date, index)
    names = ["heuristic", "heuristic"] if index % 5 == 0 else ["random", "random"]
    attempt = 0
    while True:
        seed = (identity * 100 + attempt) * 2
        decks = [sample_deck()] * 2 if index % 10 == 1 else [random_legal_deck("v1", seed), random_legal_deck("v1", seed + 1)]
        agents = [make_agent(name, "v1", deck, seed + side) for side, (name, deck) in enumerate(zip(names, decks, strict=True))]
        try:
            return json.dumps(record_episode(agents, decks, "v1", 1, names, identity)).encode()
        except DecisionCapReached:
            attempt += 1


def _packed(date: str, indexes: range) -> list[Packed]:
    found = []
    for index in indexes:
        data = episode(date, index)
        deflate = zlib.compressobj(6, zlib.DEFLATED, -15)
        name = f"{episode_id_of(date, index)}.json"
        found.append((name, binascii.crc32(data), len(data), deflate.compress(data) + deflate.flush()))
    return found


def record(path: Path, date: str, episodes: int, processes: int) -> None:
    """Writes the archive; members are deflated where they are recorded."""
    chunks = [range(first, min(first + _CHUNK, episodes)) for first in range(0, episodes, _CHUNK)]
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, crc, size, data in _members(date, chunks, processes):
            _append(archive, name, crc, size, data)


def _members(date: str, chunks: list[range], processes: int) -> Iterator[Packed]:
    if processes == 1:
        for chunk in chunks:
            yield from _packed(date, chunk)
        return
    with ProcessPoolExecutor(processes, get_context("spawn")) as pool:
        for part in pool.map(_packed, [date] * len(chunks), chunks):
            yield from part


def _append(archive: zipfile.ZipFile, name: str, crc: int, size: int, data: bytes) -> None:
    """A member that is deflated already: zipfile has no public way to take one."""
    assert archive.fp is not None
    info = zipfile.ZipInfo(name)
    info.compress_type, info.CRC, info.file_size, info.compress_size = zipfile.ZIP_DEFLATED, crc, size, len(data)
    info.header_offset = archive.fp.tell()
    archive.fp.write(info.FileHeader(zip64=False) + data)
    archive.filelist.append(info)
    archive.NameToInfo[name] = info
    archive.start_dir, archive._didModify = archive.fp.tell(), True


def main() -> None:
    """Records one archive."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("archive", type=Path)
    parser.add_argument("--date", default="2026-09-01")
    parser.add_argument("--episodes", type=int, default=300)
    parser.add_argument("--processes", type=int, default=1)
    arguments = parser.parse_args()
    record(arguments.archive, arguments.date, arguments.episodes, arguments.processes)


if __name__ == "__main__":
    main()
