"""A day from archive to promoted, checks included, against the padded-array baseline, in one run.

    python -m bench.day                        records 300 long real games first (about 40 s)
    python -m bench.day --archive FILE.zip     takes that archive
    python -m bench.day --archive FILE.zip --only 2     one run of ours with two workers: the full-size day

Times of a shared machine: CPU seconds of the whole process tree stand beside the wall clock.
"""

import argparse
import json
import resource
import sys
import tempfile
import time
import zipfile
from pathlib import Path

import pyarrow.parquet as parquet

from bench import measure
from bench.recorded import record
from tcg_core.base.home import Home
from tcg_core.base.table import text_table
from tcg_core.days.build import build_day
from tcg_core.days.promote import promote_day
from tcg_core.days.take import add_archive, take_archive
from tcg_core.rows.reader import ROWS, DayReader

DAY = "2026-09-01"
PEER = Path(__file__).with_name("peer_padded_day.py")
#: A real day: bytes of JSON and rows.
FULL_BYTES, FULL_ROWS = 21.5e9, 800_000


def child(home: Path, workers: int) -> None:
    """The run that is measured: take, build, promote; prints a JSON object."""
    data = Home(home)
    seconds = {}
    for name, stage in (
        ("take", lambda: take_archive(data, DAY)),
        ("build", lambda: build_day(data, DAY, workers=workers)),
        ("promote", lambda: promote_day(data, DAY)),
    ):
        started = time.perf_counter()
        built = stage()
        seconds[name] = round(time.perf_counter() - started, 2)
        if not built.passed:
            raise SystemExit(f"{name}: {[check for check in built.checks if not check.passed]}")
    facts = built.facts
    own, ended = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = {name: round(used.ru_utime + used.ru_stime, 1) for name, used in (("parent", own), ("workers", ended))}
    print(json.dumps({"rows": facts["rows"], "bytes": facts["bytes"], "path": str(built.path), "seconds": seconds, "cpu": cpu}))


def ours(archive: Path, workers: int, work: Path) -> measure.Cost:
    """Our run in a data home of its own."""
    home = Home(work / f"home{workers}").prepare()
    add_archive(home, archive, DAY)
    return measure.run(__file__, "--child", home.root, "--workers", str(workers))


def report(name: str, cost: measure.Cost, json_bytes: int) -> None:
    """One line a run."""
    rows = cost.result["rows"]
    print(
        f"{name:20} {rows:8} rows  wall {cost.wall:7.1f} s  cpu {cost.cpu:7.1f} s  {rows / cost.wall:7.0f} rows/s wall "
        f"{rows / cost.cpu:7.0f} rows/s core  {json_bytes / 1e6 / cost.cpu:5.0f} MB/s core  "
        f"peak {cost.peak_rss / 1e6:6.0f} MB  load {cost.load:.1f}  {cost.result['seconds']} {cost.result.get('cpu', '')}"
    )


def extrapolate(name: str, cost: measure.Cost, json_bytes: int) -> None:
    """What a full day would take at this rate."""
    for by, factor in (("bytes", FULL_BYTES / json_bytes), ("rows", FULL_ROWS / cost.result["rows"])):
        cpu, wall = cost.cpu * factor, cost.wall * factor
        print(
            f"{name}: a full day by {by:5} {cpu:6.0f} CPU s = {cpu / 120:4.1f} min on two free cores; wall {wall / 60:4.1f} min"
        )


def streams(path: Path) -> None:
    """Bytes a row of each stream, decoded and on disk."""
    metadata = parquet.ParquetFile(path / ROWS).metadata
    packed: dict[str, int] = {}
    for number in range(metadata.num_row_groups):
        group = metadata.row_group(number)
        for column in range(group.num_columns):
            chunk = group.column(column)
            name = chunk.path_in_schema.split(".")[0]
            packed[name] = packed.get(name, 0) + chunk.total_compressed_size
    decoded: dict[str, int] = {}
    with DayReader(path) as reader:
        rows = reader.rows
        for columns in reader.batches():
            for name, array in columns.values.items():
                decoded[name] = decoded.get(name, 0) + (4 * array.size if array.dtype == object else array.nbytes)
            for group, bounds in columns.offsets.items():
                decoded[f"offsets of {group}"] = decoded.get(f"offsets of {group}", 0) + bounds.nbytes
    assert set(packed) <= set(decoded)
    by_size = sorted(decoded.items(), key=lambda item: -item[1])
    sizes = [(name, size, packed.get(name, 0)) for name, size in by_size]
    sizes.append(("all", sum(decoded.values()), sum(packed.values())))
    lines = [[name, f"{size / rows:.2f}", f"{stored / rows:.2f}"] for name, size, stored in sizes]
    print("\n".join(text_table(["stream", "decoded, bytes a row", "on disk, bytes a row"], lines)))


def main() -> None:
    """Runs all three, or ours only."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--archive", type=Path)
    parser.add_argument("--episodes", type=int, default=300)
    parser.add_argument("--only", type=int, help="ours only, with so many workers")
    parser.add_argument("--home", type=Path, help="with --only: keep the data home here")
    parser.add_argument("--child", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--workers", type=int, default=1, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        child(arguments.child, arguments.workers)
        return
    with tempfile.TemporaryDirectory(prefix="tcg_bench_") as place:
        work = arguments.home or Path(place)
        archive = arguments.archive or work / "recorded.zip"
        if not arguments.archive:
            record(archive, DAY, arguments.episodes, 2)
        with zipfile.ZipFile(archive) as file:
            sizes = [info.file_size for info in file.infolist()]
        total = sum(sizes)
        print(measure.machine())
        print(f"{archive.name}: {len(sizes)} episodes, {total / 1e6:.0f} MB of JSON in {archive.stat().st_size / 1e6:.0f} MB")
        sys.stdout.flush()
        runs = {}
        if arguments.only is None:
            target = work / "peer.parquet"
            runs["peer, 1 process"] = measure.run(PEER, archive, target)
            report("peer, 1 process", runs["peer, 1 process"], total)
        for workers in (1, 2) if arguments.only is None else (arguments.only,):
            name = f"ours, {workers} worker{'s' * (workers > 1)}"
            runs[name] = ours(archive, workers, work)
            report(name, runs[name], total)
            extrapolate(name, runs[name], total)
        if arguments.only is None:
            peer, one, two = runs.values()
            print(f"ours with 2 workers against the peer: {peer.wall / two.wall:.1f} times by the wall clock")
            print(f"per core: {peer.cpu / one.cpu:.1f} times by CPU seconds with 1 worker, {peer.cpu / two.cpu:.1f} with 2")
            print(
                f"bytes a row: peer {peer.result['decoded_bytes'] / peer.result['rows']:.0f} decoded, "
                f"{peer.result['bytes'] / peer.result['rows']:.0f} on disk"
            )
        streams(Path(list(runs.values())[-1].result["path"]))


if __name__ == "__main__":
    main()
