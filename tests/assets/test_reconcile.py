"""After a kill: dead runs are closed and their slots freed, living ones are left alone."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import pytest
from dagster._core.remote_origin import RegisteredCodeLocationOrigin, RemoteRepositoryOrigin

from tcg_assets.automation.launch import ChainBusy, run_chain
from tcg_assets.definitions import defs
from tcg_assets.sync.instance import open_instance
from tcg_assets.sync.reconcile import reconcile
from tcg_core.base.home import Home
from tcg_core.recipe import Recipe, Selection
from tests.assets.conftest import ROOT

#: Starts a day whose first stage never ends, says so, and waits to be killed.
CHILD = """
import os, time
from tests.assets.fakes import Stages
import pytest
from tcg_core.base.home import Home
import tcg_assets.automation.launch
from tcg_assets.sync.instance import open_instance
from tcg_assets.automation.launch import run_chain
from tcg_assets.automation.news import News
from tcg_core.recipe import Recipe, Selection

home = Home.resolve().prepare()
stages = Stages(pytest.MonkeyPatch())

def hang(home, recipe, cards):
    (home.inbox / f".tmp-{os.getpid()}-deadbeef-half.zip").write_bytes(b"half")
    print("hanging", flush=True)
    time.sleep(600)

tcg_assets.automation.launch.news = lambda home, recipe: News((), "x")
stages.install("tcg_core.plan.build", build_plan=hang)
with open_instance(home) as instance:
    print(run_chain(instance, home, Recipe(selection=Selection(all_days=True))).failures)
"""


@pytest.fixture
def hanging(home: Home) -> Iterator["subprocess.Popen[str]"]:
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    child = subprocess.Popen([sys.executable, "-c", CHILD], cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    assert child.stdout.readline().strip() == "hanging"
    yield child
    child.kill()
    child.wait()


def test_a_killed_run_is_closed_its_slot_freed_and_its_temporaries_swept(hanging: "subprocess.Popen[str]", home: Home) -> None:
    with open_instance(home) as instance:
        alive = reconcile(instance, home)
        assert alive.runs == (), "a run that lives is left alone"
        assert alive.temporaries == ()
        with pytest.raises(ChainBusy, match="of nightly \\(STARTED\\) has the pool 'trainer'"):
            run_chain(instance, home, Recipe(selection=Selection(all_days=True)))
        hanging.send_signal(signal.SIGKILL)
        hanging.wait()
        [record] = instance.get_run_records()
        assert record.dagster_run.status is dg.DagsterRunStatus.STARTED
        assert _slots(instance) == 1

        [seen] = reconcile(instance, home, dry_run=True).runs
        assert (seen.was, seen.now) == ("STARTED", "FAILURE")
        assert _slots(instance) == 1

        done = reconcile(instance, home)
        assert [ended.run_id for ended in done.runs] == [record.dagster_run.run_id]
        assert f"its process {hanging.pid} is gone" in done.runs[0].reason
        assert [path.name.rpartition("-")[2] for path in done.temporaries] == ["half.zip"]
        run = instance.get_run_by_id(record.dagster_run.run_id)
        assert run is not None
        assert run.status is dg.DagsterRunStatus.FAILURE
        assert _slots(instance) == 0
        assert reconcile(instance, home).runs == ()


def test_a_run_that_never_got_a_process_is_closed_after_a_while(
    instance: dg.DagsterInstance, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = instance.create_run_for_job(defs.resolve_job_def("card_tables"), status=dg.DagsterRunStatus.NOT_STARTED)
    assert reconcile(instance, home).runs == ()
    later = time.time() + 3600
    monkeypatch.setattr("tcg_assets.sync.reconcile.time.time", lambda: later)
    assert [ended.run_id for ended in reconcile(instance, home).runs] == [run.run_id]


def test_a_queued_run_belongs_to_the_daemon(instance: dg.DagsterInstance, home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    location = RegisteredCodeLocationOrigin("tcg_assets")
    origin = RemoteRepositoryOrigin(location, "__repository__").get_job_origin("card_tables")
    queued = dg.DagsterRunStatus.QUEUED
    instance.run_storage.add_run(dg.DagsterRun("card_tables", status=queued, remote_job_origin=origin))
    assert instance.get_runs(dg.RunsFilter(statuses=[dg.DagsterRunStatus.QUEUED]))
    later = time.time() + 3600
    monkeypatch.setattr("tcg_assets.sync.reconcile.time.time", lambda: later)
    assert reconcile(instance, home).runs == ()


def test_a_later_process_with_the_same_number_is_another_one(tmp_path: Path) -> None:
    from tcg_assets.sync.reconcile import _lives

    assert _lives(os.getpid(), time.time())
    assert not _lives(os.getpid(), time.time() - 10 * 24 * 3600)


def _slots(instance: dg.DagsterInstance) -> int:
    return len(instance.event_log_storage.get_concurrency_info("trainer").claimed_slots)
