"""Pools in real processes: day builds and tournaments never overlap beyond their limits, and a killed one frees its place."""

import json
import logging
import os
import signal
import subprocess
import sys
import time
from datetime import timedelta

import dagster as dg
import pytest
from dagster._daemon.monitoring.concurrency import execute_concurrency_slots_iteration

from tcg_assets.assets.wiring import CHAIN_POOL, DAY_POOL, POOLS
from tcg_assets.definitions import defs
from tcg_assets.sync.instance import open_instance
from tcg_assets.sync.reconcile import reconcile
from tcg_core.base.home import Home
from tests.assets.conftest import ROOT
from tests.assets.fakes import checks_for, fake_built

SECONDS = 1.5
#: One run of a job on the home of the environment, whose stage only waits and notes when it began and ended.
CHILD = """
import json, os, sys, time
import dagster as dg
import pytest
from tests.assets.fakes import Stages, checks_for, fake_built
from tests.assets.test_pools import most_at_once
from tcg_core.base.home import Home
from tcg_assets.definitions import defs
from tcg_assets.sync.instance import open_instance

what, key, seconds, company = sys.argv[1], sys.argv[2], float(sys.argv[3]), int(sys.argv[4])
home = Home.resolve().prepare()
stages = Stages(pytest.MonkeyPatch())

def note(event):
    with (home.root / "times.jsonl").open("a") as file:
        file.write(json.dumps([time.time(), event, key]) + "\\n")

def waiting(kind, assets):
    def stage(home, *arguments, **keywords):
        note("began")
        end = time.time() + 60
        while most_at_once(home) < company and time.time() < end:
            time.sleep(0.1)  # for the others of its pool, which may start late on a busy machine
        time.sleep(seconds)
        note("ended")
        return fake_built(home, kind, f"{kind}-{key}", home.root / kind, checks_for(*assets), rows=2)
    return stage

stages.install("tcg_core.days.build", build_day=waiting("staged_day", ("day_catalog", "staged_day")))
stages.install("tcg_core.arena.tournament", tournament=waiting("tournament", ("tournament",)))
quiet = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}
with open_instance(home) as instance:
    if what == "day":
        instance.add_dynamic_partitions("days", [key])
        job, more = defs.resolve_job_def("ingest_day"), {"partition_key": key}
    else:
        job, more = defs.resolve_job_def("nightly"), {"asset_selection": [dg.AssetKey("tournament")]}
    print(job.execute_in_process(run_config=quiet, instance=instance, raise_on_error=False, **more).success, flush=True)
"""


@pytest.fixture
def ready(home: Home) -> Home:
    """A home whose instance is written, with a submission that can be played."""
    fake_built(home, "submission", "submission-1", home.submissions, checks_for("submission"))
    with open_instance(home):
        return home


def start(what: str, key: str, seconds: float = SECONDS, company: int = 1) -> "subprocess.Popen[str]":
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-W", "ignore", "-c", CHILD, what, key, str(seconds), str(company)]
    return subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True)


def events(home: Home) -> list[tuple[float, str, str]]:
    path = home.root / "times.jsonl"
    return sorted(tuple(json.loads(line)) for line in path.read_text().splitlines()) if path.is_file() else []


def most_at_once(home: Home) -> int:
    at_once = most = 0
    for _, event, _ in events(home):
        at_once += 1 if event == "began" else -1
        most = max(most, at_once)
    return most


def wait_for(home: Home, event: str, key: str, seconds: float = 60.0) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if any((e, k) == (event, key) for _, e, k in events(home)):
            return
        time.sleep(0.1)
    raise AssertionError(f"{key} never {event}: {events(home)}")


@pytest.mark.slow
@pytest.mark.parametrize(("what", "pool", "count"), [("day", DAY_POOL, 4), ("game", CHAIN_POOL, 3)])
def test_never_more_at_once_than_the_pool_allows(ready: Home, what: str, pool: str, count: int) -> None:
    children = [start(what, f"2026-08-0{n}", company=POOLS[pool]) for n in range(1, count + 1)]
    said = [child.communicate(timeout=120)[0].strip() for child in children]
    assert said == ["True"] * count
    assert len(events(ready)) == 2 * count
    # At the limit, not only under it: the pool holds back nothing that it should not.
    assert most_at_once(ready) == POOLS[pool]


@pytest.mark.slow
def test_a_killed_run_frees_its_place_for_the_one_that_waits(ready: Home) -> None:
    killed = start("game", "first", 600)
    wait_for(ready, "began", "first")
    waiting = start("game", "second", 0.1)
    with open_instance(ready) as instance:
        end = time.monotonic() + 60
        while not instance.event_log_storage.get_concurrency_info(CHAIN_POOL).pending_step_count:
            assert time.monotonic() < end, "the second never asked for the pool"
            time.sleep(0.1)
        killed.send_signal(signal.SIGKILL)
        killed.wait(timeout=30)
        assert [key for _, _, key in events(ready)] == ["first"]
        [ended] = reconcile(instance, ready).runs
        assert ended.slots == (CHAIN_POOL,)
    assert waiting.communicate(timeout=60)[0].strip() == "True"
    assert [event for _, event, key in events(ready) if key == "second"] == ["began", "ended"]


def test_the_daemon_frees_the_place_of_a_run_that_ended_without_doing_it(ready: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    from dagster._daemon.monitoring import concurrency

    class Workspace:
        def __init__(self, instance: dg.DagsterInstance) -> None:
            self.instance = instance

    with open_instance(ready) as instance:
        run = instance.create_run_for_job(defs.resolve_job_def("nightly"), status=dg.DagsterRunStatus.STARTED)
        claim = instance.event_log_storage.claim_concurrency_slot(CHAIN_POOL, run.run_id, "tournament")
        assert claim.is_claimed
        instance.report_run_failed(run)
        logger = logging.getLogger("test")
        list(execute_concurrency_slots_iteration(Workspace(instance), logger))  # type: ignore[arg-type]
        assert instance.event_log_storage.get_concurrency_info(CHAIN_POOL).claimed_slots, "too early: it may be ending still"
        later = concurrency.get_current_datetime() + timedelta(seconds=31)
        monkeypatch.setattr(concurrency, "get_current_datetime", lambda: later)
        list(execute_concurrency_slots_iteration(Workspace(instance), logger))  # type: ignore[arg-type]
        assert not instance.event_log_storage.get_concurrency_info(CHAIN_POOL).claimed_slots


def test_every_pool_of_the_graph_has_an_explicit_limit(home: Home) -> None:
    graph = defs.resolve_asset_graph()
    used = {pool for key in graph.get_all_asset_keys() for pool in graph.get(key).pools}
    assert used == set(POOLS)
    with open_instance(home) as instance:
        for pool, limit in POOLS.items():
            found = instance.event_log_storage.get_concurrency_info(pool)
            assert found.slot_count == limit and not found.using_default_limit
