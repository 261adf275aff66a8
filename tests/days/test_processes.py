"""Builds in processes of their own: killed in the middle, and with many members in bounded memory."""

import os
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from tcg_core.base.atomic import sweep
from tcg_core.base.manifest import hash_files
from tcg_core.days.build import build_day
from tcg_core.days.pool import chunks
from tcg_core.days.promote import promote_day
from tcg_core.days.take import take_archive
from tcg_core.days.write_day import write_day
from tcg_core.replay.archive import open_archive
from tests.days.conftest import V1
from tests.days.replays import members, put

CHILD = Path(__file__).with_name("build_child.py")
ROOT = CHILD.parents[2]
LIMIT = 2 * 2**30  # bytes of address space


def copies(count):
    name, data = next(iter(members().items()))
    told = f'"EpisodeId": {name[:-5]}'.encode()
    assert data.count(told) == 1
    return {f"{number}.json": data.replace(told, f'"EpisodeId": {number}'.encode()) for number in range(1, count + 1)}


def start(home, workers, address_space=None):
    command = [sys.executable, str(CHILD), str(home.root), V1, str(workers)]
    if address_space:
        command = ["sh", "-c", f'ulimit -v {address_space // 1024} && exec "$@"', "sh", *command]
    return subprocess.Popen(
        command,
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        text=True,
    )


def test_a_killed_build_leaves_no_worker_and_the_same_command_ends_it(home, chance):
    put(home, V1, copies(60))
    take_archive(home, V1)
    process = start(home, 2)
    deadline = time.monotonic() + 60
    workers = []
    while len(workers) < 3:  # two workers and the resource tracker of multiprocessing
        assert process.poll() is None and time.monotonic() < deadline
        workers = psutil.Process(process.pid).children(recursive=True)
        time.sleep(0.02)
    time.sleep(chance.uniform(0, 0.3))
    assert process.poll() is None
    process.kill()
    process.wait()
    psutil.wait_procs(workers, timeout=30)
    assert [worker for worker in workers if worker.is_running() and worker.status() != psutil.STATUS_ZOMBIE] == []
    assert not list(home.staging.glob(f"{V1}/[!.]*"))
    assert sweep(home.root)
    assert build_day(home, V1, workers=2).passed and promote_day(home, V1).passed


@pytest.mark.slow
def test_memory_does_not_grow_with_the_archive(home):
    peaks = {}
    for count in (60, 300):
        put(home, V1, copies(count))
        take_archive(home, V1)
        process = start(home, 1)
        rows, peaks[count] = map(int, process.communicate(timeout=300)[0].split())
        assert process.returncode == 0 and rows > count
    print({count: f"{peak / 1e6:.0f} MB" for count, peak in peaks.items()})
    assert peaks[300] - peaks[60] < 60e6


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="macOS does not enforce `ulimit -v`")
def test_field_case_an_archive_of_300_copies_is_built_under_a_limit_of_memory(home):
    """``ulimit -v`` bounds the address space of each process of the build to less than the archive's JSON twice over, and
    far less than 300 parsed replays."""
    put(home, V1, copies(300))
    take_archive(home, V1)
    process = start(home, 1, address_space=LIMIT)
    rows, peak = map(int, process.communicate(timeout=300)[0].split())
    assert process.returncode == 0 and rows > 300 and peak < LIMIT
    process = start(home, 1, address_space=LIMIT // 16)  # the limit is one: with too little the build cannot even begin
    assert process.communicate(timeout=300)[0] == "" and process.returncode != 0


@pytest.mark.slow
def test_one_and_eight_workers_give_the_same_bytes(home):
    put(home, V1, copies(90))
    take_archive(home, V1)
    with open_archive(next((home.archives / V1).glob("*.zip"))) as archive:
        assert len(chunks(archive.members, frozenset())) > 5
        found = []
        for workers in (1, 8):
            directory = home.root / f"written{workers}"
            directory.mkdir()
            write_day(archive, V1, directory, workers)
            found.append(hash_files(directory))
    assert found[0] == found[1] and set(found[0]) == {"rows.parquet", "expected.parquet", "episodes.json", "shape.png"}
