"""Dagster's own history: what goes, what stays whatever its age, and that nothing is lost that the home does not hold."""

import json
from pathlib import Path

import dagster as dg
import pytest
from typer.testing import CliRunner, Result

import tcg_core.ops.clean  # noqa: F401  # before fakes stand in for stages that it imports
from tcg_assets.automation import history as module
from tcg_assets.automation.attempts import ARCHIVE_TAG, DAY_TAG
from tcg_assets.automation.history import forget, plan_history
from tcg_assets.cli.main import app
from tcg_assets.definitions import defs
from tcg_assets.sync.fill import sync
from tcg_assets.sync.instance import open_instance
from tcg_core.base.errors import ConfigError
from tcg_core.base.home import Home
from tests.assets.conftest import QUIET
from tests.assets.fakes import Stages

DAY = "2026-08-01"


def ingest(instance: dg.DagsterInstance, day: str = DAY, **tags: str) -> str:
    instance.add_dynamic_partitions("days", [day])
    job = defs.resolve_job_def("ingest_day")
    result = job.execute_in_process(
        run_config=QUIET, instance=instance, partition_key=day, raise_on_error=False, tags={"dagster/max_runtime": "60"} | tags
    )
    return result.run_id


def later(monkeypatch: pytest.MonkeyPatch, days: float) -> None:
    import time

    now = time.time() + days * 86_400
    monkeypatch.setattr(module.time, "time", lambda: now)


def test_what_is_shown_now_stays_and_what_it_replaced_goes(home: Home, stages: Stages, monkeypatch: pytest.MonkeyPatch) -> None:
    with open_instance(home) as instance:
        first, second, other = ingest(instance), ingest(instance), ingest(instance, "2026-08-02")
        assert plan_history(instance, home, 30).old == ()
        assert plan_history(instance, home, 30).kept == {"younger than 30 days": 3}
        later(monkeypatch, 31)
        plan = plan_history(instance, home, 30)
        assert [run.run_id for run in plan.old] == [first]
        assert plan.kept == {"made what is shown now": 2}
        before = instance.get_latest_materialization_events([dg.AssetKey("parquet_day")])
        log = home.dagster / "storage" / "history" / "runs" / f"{first}.db"
        assert log.is_file() and plan.bytes >= log.stat().st_size > 10_000

        freed = forget(instance, home, plan)
        assert freed == plan.bytes and not log.exists() and not list(log.parent.glob(f"{first}*"))
        assert instance.get_run_by_id(first) is None
        assert {run.run_id for run in instance.get_runs()} == {second, other}
        assert instance.get_latest_materialization_events([dg.AssetKey("parquet_day")]) == before
        assert plan_history(instance, home, 30).old == ()
        assert set(instance.get_materialized_partitions(dg.AssetKey("parquet_day"))) == {DAY, "2026-08-02"}


def test_what_a_killed_removal_left_goes_the_next_time(home: Home, stages: Stages, monkeypatch: pytest.MonkeyPatch) -> None:
    with open_instance(home) as instance:
        first, _ = ingest(instance), ingest(instance)
        later(monkeypatch, 31)
        instance.delete_run(first)
        assert [(run.run_id, run.job) for run in plan_history(instance, home, 30).old] == [(first, "a removed run")]
        assert forget(instance, home, plan_history(instance, home, 30)) > 10_000
        assert plan_history(instance, home, 30).old == ()


def test_after_it_sync_has_nothing_to_tell(home: Home, stages: Stages, monkeypatch: pytest.MonkeyPatch) -> None:
    with open_instance(home) as instance:
        for _ in range(2):
            ingest(instance)
        later(monkeypatch, 31)
        told = sync(instance, home)
        forget(instance, home, plan_history(instance, home, 30))
        assert sync(instance, home).materializations == 0, told


def test_failures_stay_red_and_attempts_at_the_inbox_are_remembered(
    home: Home, stages: Stages, monkeypatch: pytest.MonkeyPatch
) -> None:
    tags = {DAY_TAG: DAY, ARCHIVE_TAG: "abc"}
    stages.failing = "lane_order"
    (home.inbox / f"{DAY}.zip").write_bytes(b"zip")
    with open_instance(home) as instance:
        runs = [ingest(instance, **tags) for _ in range(3)]
        later(monkeypatch, 400)
        assert plan_history(instance, home, 30).old == ()
        (home.inbox / f"{DAY}.zip").unlink()
        plan = plan_history(instance, home, 30)
        # The first two made archives that the third made again; the last keeps the day red.
        assert {run.run_id for run in plan.old} <= set(runs[:2]) and plan.old


def test_the_nightlys_last_success_stays_for_it_says_that_nothing_is_new(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    job = defs.resolve_job_def("nightly")
    with open_instance(home) as instance:
        ids = {}
        for name, status in (("old", "SUCCESS"), ("success", "SUCCESS"), ("failed", "FAILURE"), ("last", "CANCELED")):
            ids[name] = instance.create_run_for_job(job, status=dg.DagsterRunStatus[status]).run_id
        running = instance.create_run_for_job(job, status=dg.DagsterRunStatus.STARTED).run_id
        later(monkeypatch, 400)
        plan = plan_history(instance, home, 30)
        assert {run.run_id for run in plan.old} == {ids["old"], ids["failed"], ids["last"]}
        assert running not in {run.run_id for run in plan.old} and plan.kept["not ended"] == 1


def gc(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["gc", *arguments])


def test_the_command_tells_first_and_does_it_when_asked(home: Home, stages: Stages, monkeypatch: pytest.MonkeyPatch) -> None:
    with open_instance(home) as instance:
        for _ in range(2):
            ingest(instance)
    later(monkeypatch, 9)
    assert "0 runs of Dagster's history may go" in gc().stdout
    (home.root / "maintenance.json").write_text(json.dumps({"history_days": 8}))
    assert "1 runs of Dagster's history may go" in gc().stdout
    applied = gc("--apply")
    assert applied.exit_code == 0 and applied.stdout.endswith("MB freed\n")
    with open_instance(home) as instance:
        assert len(instance.get_runs()) == 1
    (home.root / "maintenance.json").write_text("{")
    assert isinstance(gc("--apply").exception, ConfigError), "before anything of the home is removed"


def test_the_history_is_where_dagsters_storage_puts_it(home: Home, stages: Stages) -> None:
    with open_instance(home, captured=True) as instance:
        run = ingest(instance)
        found = {path.relative_to(home.dagster).parts[0] for path in module._files(home, run)}
        assert found == {"storage", "compute_logs"}
        assert Path(instance.event_log_storage.path_for_shard(run)) in module._files(home, run)  # type: ignore[attr-defined]
