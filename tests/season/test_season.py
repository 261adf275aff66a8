"""A small season through the real daemon: days arrive, nights train, and everything that can be killed is."""

import os
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import dagster as dg
import pytest
from dagster._core.definitions.schedule_definition import ScheduleExecutionData

from tcg_assets.automation import nightly_schedule
from tcg_assets.instance import open_instance
from tcg_assets.reconcile import _process_of, reconcile
from tcg_assets.resources import Workspace
from tcg_assets.sync import sync
from tcg_core.atomic import sweep
from tcg_core.catalog.connection import catalog
from tcg_core.catalog.datasets import datasets_of
from tcg_core.catalog.registry import rows_of
from tcg_core.catalog.verify import verify
from tcg_core.home import VARIABLE, Home
from tcg_core.model.config import ModelConfig
from tcg_core.night import Nightly, save_nightly
from tcg_core.provenance import MANIFEST, verify_files
from tcg_core.recipe import Optimizer, Recipe, Schedule, Selection, Split, Work
from tcg_core.replay.record_day import record_day
from tests.season.deployment import Deployment, ended, kill_when_it_appears, status_of
from tests.ui.driving import until

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]
FIRST_WAVE = ("2026-08-01", "2026-08-02", "2026-08-03", "2026-08-04")
REPUBLISHED, CORRUPT, BY_BACKFILL = "2026-08-02", "2026-08-05", "2026-08-06"
EPISODES = 6
PATIENCE = 600.0
NIGHT = Nightly(
    recipe=Recipe(
        selection=Selection(last_n_days=14),
        split=Split(val_frac=0.3),
        work=Work(tbptt_chunk=8, batch_size=128),
        model=ModelConfig(d_model=32, heads=4, layers=1, ff=64, registers=4),
        optimizer=Optimizer(lr=5e-3),
        schedule=Schedule(warmup_steps=3),
        epochs=6,
        latest_every_updates=3,
    ),
    full_weekday="never",
    opponents=("random",),
    games=2,
)


@pytest.fixture
def deployment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Deployment]:
    monkeypatch.setenv(VARIABLE, str(tmp_path / "data"))
    deployed = Deployment(Home.resolve().prepare())
    yield deployed
    deployed.stop()


def test_a_season_with_faults_ends_with_everything_in_agreement(deployment: Deployment, tmp_path: Path) -> None:
    home = deployment.home
    save_nightly(home, NIGHT)
    for day in FIRST_WAVE:
        record_day(home, day, EPISODES)
    (home.inbox / f"{CORRUPT}.zip").write_bytes(b"a copy that broke off")
    with open_instance(home) as instance:
        deployment.start()

        _say("the sensor takes the whole archives and leaves the corrupt one")
        until(lambda: _validated(home) >= set(FIRST_WAVE), PATIENCE, "the first wave")
        assert _validated(home) == set(FIRST_WAVE)
        assert (home.inbox / f"{CORRUPT}.zip").is_file()

        _say("kill -9 of a step")
        killed = deployment.launch("ingest_day", {}, {"dagster/partition": FIRST_WAVE[0]})
        pid, _ = until(lambda: _process_of(instance, killed), 120.0, "a process of the run")
        os.kill(pid, 9)
        assert ended(instance, killed, 120.0) == "FAILURE"
        assert FIRST_WAVE[0] in _validated(home), "a killed run takes nothing away"

        _say("kill -9 of the trainer in the first night; the second night goes on with the same plan")
        first = _launched(deployment, instance, night=7)
        kill_when_it_appears("tcg_assets.trainer", str(home.root), PATIENCE)
        assert ended(instance, first, PATIENCE) == "FAILURE"
        second = _launched(deployment, instance, night=8)
        assert ended(instance, second, PATIENCE) == "SUCCESS"
        assert len(rows_of(home, "work_plan")) == 1
        assert not _night(instance, 9).run_requests, "nothing is new"

        _say("kill -9 of the whole deployment, with a run under way")
        running = deployment.launch("ingest_day", {}, {"dagster/partition": FIRST_WAVE[1]})
        until(lambda: _process_of(instance, running) or status_of(instance, running) == "SUCCESS", 120.0, "the run's start")
        deployment.kill()
        until(lambda: reconcile(instance, home, dry_run=True).runs == () or _worker_gone(instance, running), 60.0, "its end")
        reconcile(instance, home)
        assert status_of(instance, running) in ("FAILURE", "SUCCESS", "QUEUED")

        _say("after the restart: a day published again, and the whole archive in the place of the corrupt one")
        other = Home(tmp_path / "other").prepare()
        shutil.copy(record_day(other, REPUBLISHED, EPISODES, seed=14), home.inbox)
        record = record_day(other, CORRUPT, EPISODES)
        (home.inbox / f"{CORRUPT}.zip").unlink()
        shutil.copy(record, home.inbox)
        before = _dataset(home, REPUBLISHED)
        deployment.start()
        until(lambda: _dataset(home, REPUBLISHED) not in ("", before), PATIENCE, "the day published again")
        until(lambda: CORRUPT in _validated(home), PATIENCE, "the day that was corrupt")
        assert sorted(_states(home, REPUBLISHED)) == ["superseded", "validated"]

        _say("a full disk under one write of a backfill, and the same command again")
        record_day(home, BY_BACKFILL, EPISODES)
        shutil.move(home.inbox / f"{BY_BACKFILL}.zip", tmp_path)
        shutil.copy(tmp_path / f"{BY_BACKFILL}.zip", home.inbox)
        assert _backfill(limit=60_000) == 2
        assert BY_BACKFILL not in _validated(home)
        assert _backfill() == 0

        _say("the third night trains on what is new, the fourth has nothing to do")
        third = _launched(deployment, instance, night=10)
        assert ended(instance, third, PATIENCE) == "SUCCESS"
        skipped = _night(instance, 11)
        assert (skipped.skip_message or "").startswith("nothing new: 6 days")

        _say("catalog, files, registry and Dagster agree")
        deployment.stop()
        assert _validated(home) == {*FIRST_WAVE, CORRUPT, BY_BACKFILL}
        assert [check.message for check in verify(home) if not check.passed] == []
        for row in rows_of(home):
            assert row.path.exists(), row
            if (row.path / MANIFEST).is_file() and row.kind != "staged_day":
                verify_files(row.path)
        assert sync(instance, home).materializations == 0, "Dagster knows all of it already"
        reconcile(instance, home)
        assert not sweep(home.root)
        assert instance.event_log_storage.get_concurrency_info("trainer").claimed_slots == []


def _night(instance: dg.DagsterInstance, night: int) -> ScheduleExecutionData:
    built = dg.build_schedule_context(
        instance=instance, scheduled_execution_time=datetime(2026, 8, night, 3, tzinfo=UTC), resources={"workspace": Workspace()}
    )
    with built as context:
        return nightly_schedule.evaluate_tick(context)


def _launched(deployment: Deployment, instance: dg.DagsterInstance, night: int) -> str:
    [request] = _night(instance, night).run_requests or []
    return deployment.launch("nightly", dict(request.run_config), dict(request.tags))


def _backfill(limit: int = 0) -> int:
    def bounded() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    command = [sys.executable, "-m", "tcg_core.cli", "backfill", BY_BACKFILL, BY_BACKFILL, "--workers", "1"]
    command += ["--no-sync"] if limit else []
    root = Path(__file__).resolve().parents[2]
    return subprocess.run(command, cwd=root, preexec_fn=bounded if limit else None, check=False).returncode


def _worker_gone(instance: dg.DagsterInstance, run_id: str) -> bool:
    found = _process_of(instance, run_id)
    return found is None or not Path(f"/proc/{found[0]}").exists()


def _validated(home: Home) -> set[str]:
    with catalog(home) as connection:
        return {row.day for row in datasets_of(connection, state="validated")}


def _states(home: Home, day: str) -> list[str]:
    with catalog(home) as connection:
        return [row.state for row in datasets_of(connection, day)]


def _dataset(home: Home, day: str) -> str:
    with catalog(home) as connection:
        found = datasets_of(connection, day, "validated")
    return found[0].dataset_id if found else ""


def _say(what: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {what}", flush=True)
