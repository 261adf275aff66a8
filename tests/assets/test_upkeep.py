"""Audit, backup and clean-up as Dagster runs them: what their pages show, and why a schedule starts nothing."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import dagster as dg
import pytest
import yaml

from tcg_assets.assets.resources import Workspace
from tcg_assets.automation.alerts import failure_alerts
from tcg_assets.automation.maintenance import MAINTENANCE_TAG
from tcg_assets.automation.watch import home_watch
from tcg_assets.definitions import defs
from tcg_assets.sync.damage import DAMAGE_TAG, report_damage
from tcg_assets.sync.instance import TEMPLATE, open_instance
from tcg_core.alerts.incidents import open_incidents
from tcg_core.base.home import Home
from tcg_core.catalog.connection import catalog
from tcg_core.catalog.datasets import datasets_of, mark
from tests.assets.conftest import QUIET
from tests.ops.chain import age, chain, day

AT = datetime(2026, 9, 1, 1, 0, tzinfo=UTC)


@pytest.fixture
def instance(home: Home) -> Iterator[dg.DagsterInstance]:
    with open_instance(home) as opened:
        yield opened


def launch(instance: dg.DagsterInstance, job: str, op: str, **config: object) -> dg.ExecuteInProcessResult:
    return defs.resolve_job_def(job).execute_in_process(
        run_config={"ops": {op: {"config": config}}} | QUIET, instance=instance, raise_on_error=False
    )


def shown(result: dg.ExecuteInProcessResult) -> dict[str, object]:
    [event] = [event for event in result.all_events if event.is_successful_output]
    return {
        name: value.records if isinstance(value, dg.TableMetadataValue) else value.value
        for name, value in event.step_output_data.metadata.items()
    }


def failed_text(result: dg.ExecuteInProcessResult) -> str:
    [event] = [event for event in result.all_events if event.is_step_failure]
    return str(event.step_failure_data.user_failure_data.description)


def tick(name: str, instance: dg.DagsterInstance, home: Home) -> dg.RunRequest | dg.SkipReason:
    context = dg.build_schedule_context(instance=instance, scheduled_execution_time=AT)
    return defs.resolve_schedule_def(name)(context, workspace=Workspace(data=str(home.root)))  # type: ignore[return-value]


def broken_days(home: Home, *names: str) -> None:
    """Files that stand for rows are none: whoever reads these days finds them damaged."""
    for name in names:
        day(home, name)


def test_the_audit_shows_each_day_with_its_reason_and_makes_the_damaged_one_red(instance: dg.DagsterInstance, home: Home) -> None:
    broken_days(home, "2026-08-01", "2026-08-02")
    instance.add_dynamic_partitions("days", ["2026-08-01", "2026-08-02"])
    for name in ("2026-08-01", "2026-08-02"):
        instance.report_runless_asset_event(dg.AssetMaterialization("parquet_day", partition=name))
    with catalog(home) as connection:
        [row] = datasets_of(connection, "2026-08-01", "validated")
    (home.root / row.path / "file.bin").write_bytes(b"other bytes")
    found = shown(launch(instance, "audit", "audit_days", days=["2026-08-01"]))
    [line] = [record.data for record in found["days"]]  # type: ignore[attr-defined]
    assert (line["day"], line["result"]) == ("2026-08-01", "damaged") and "file.bin" in line["reason"]
    assert (found["read"], found["damaged"], found["not_reached"], found["validated"]) == (1, 1, 0, 2)

    assert _failed_partitions(instance) == {"2026-08-01"}
    key = dg.AssetCheckKey(dg.AssetKey("parquet_day"), "intact")
    [last] = instance.event_log_storage.get_asset_check_execution_history(key, limit=1)
    assert (last.status.value, last.partition) == ("FAILED", "2026-08-01")
    [run] = instance.get_runs(dg.RunsFilter(statuses=[dg.DagsterRunStatus.FAILURE]))
    assert run.tags["dagster/partition"] == "2026-08-01" and DAMAGE_TAG in run.tags
    told = [entry.dagster_event.message or "" for entry in instance.all_logs(run.run_id) if entry.dagster_event]
    assert any("is damaged" in text and "file.bin" in text for text in told)


def _failed_partitions(instance: dg.DagsterInstance) -> set[str]:
    """As the asset's page asks for them."""
    from dagster._core.storage.partition_status_cache import get_and_update_asset_status_cache_value

    from tcg_assets.assets.partitions import days

    value = get_and_update_asset_status_cache_value(instance, dg.AssetKey("parquet_day"), days, instance)
    assert value is not None
    return set(value.deserialize_failed_partition_subsets(days).get_partition_keys())


def test_damage_that_a_command_line_found_is_reported_once_and_a_new_build_makes_it_green(
    instance: dg.DagsterInstance, home: Home
) -> None:
    day(home, "2026-08-01")
    with catalog(home) as connection:
        [row] = datasets_of(connection, "2026-08-01", "validated")
        mark(connection, row.day, row.dataset_id, "damaged", "the disk")
    assert [item.day for item in report_damage(instance, home)] == ["2026-08-01"]
    assert report_damage(instance, home) == []
    assert _failed_partitions(instance) == {"2026-08-01"}
    instance.report_runless_asset_event(dg.AssetMaterialization("parquet_day", partition="2026-08-01"))
    assert _failed_partitions(instance) == set()


def test_the_watch_tells_of_the_day_and_failure_alerts_does_not_tell_it_again(
    instance: dg.DagsterInstance, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TCG_WEBHOOK", raising=False)
    day(home, "2026-08-01")
    with catalog(home) as connection:
        [row] = datasets_of(connection, "2026-08-01", "validated")
        mark(connection, row.day, row.dataset_id, "damaged", "the disk")
    for text in ("told: tcg: day 2026-08-01 is damaged", "still: tcg: day 2026-08-01 is damaged"):
        context = dg.build_sensor_context(instance=instance)
        said = home_watch(context, workspace=Workspace(data=str(home.root)))
        assert text in str(said.skip_message)  # type: ignore[union-attr]
    [run] = instance.get_runs()
    [event] = [entry.dagster_event for entry in instance.all_logs(run.run_id, of_type=dg.DagsterEventType.RUN_FAILURE)]
    assert event is not None
    context = dg.build_run_status_sensor_context("failure_alerts", event, instance, run).for_run_failure()
    failure_alerts(context, workspace=Workspace(data=str(home.root)))
    assert [held.incident.subject for held in open_incidents(home)] == ["damaged[2026-08-01]"]


def test_a_day_that_is_not_validated_is_refused_by_name(instance: dg.DagsterInstance, home: Home) -> None:
    assert "2026-08-01 has no validated dataset" in failed_text(launch(instance, "audit", "audit_days", days=["2026-08-01"]))


def test_a_backup_shows_what_was_new_and_forgets_the_oldest(instance: dg.DagsterInstance, home: Home, tmp_path: Path) -> None:
    day(home, "2026-08-01")
    (home.root / "maintenance.json").write_text(json.dumps({"backup_to": str(tmp_path / "b"), "backup_keep": 1}))
    first = shown(launch(instance, "backup", "back_up"))
    assert first["new_contents"] == first["files"] and first["forgotten"] == 0
    second = shown(launch(instance, "backup", "back_up"))
    assert 0 < second["new_contents"] < first["files"] and second["forgotten"] == 1  # type: ignore[operator]
    assert second["destination"] == str(tmp_path / "b")
    elsewhere = shown(launch(instance, "backup", "back_up", to=str(tmp_path / "c")))
    assert elsewhere["destination"] == str(tmp_path / "c")


def test_a_backup_of_damaged_files_is_made_and_fails(instance: dg.DagsterInstance, home: Home, tmp_path: Path) -> None:
    broken_days(home, "2026-08-01")
    [rows] = home.days.glob("*/*/file.bin")
    rows.write_bytes(b"other bytes")
    told = failed_text(launch(instance, "backup", "back_up", to=str(tmp_path / "b")))
    assert "the backup was made, but 1 files of the home are damaged" in told and "file.bin" in told


def test_a_backup_without_a_destination_is_refused_and_its_schedule_skips(instance: dg.DagsterInstance, home: Home) -> None:
    assert "set backup_to in maintenance.json" in failed_text(launch(instance, "backup", "back_up"))
    skipped = tick("backup_schedule", instance, home)
    assert "no backup is configured" in str(skipped.skip_message)  # type: ignore[union-attr]
    (home.root / "maintenance.json").write_text(json.dumps({"backup_to": "/somewhere"}))
    assert isinstance(tick("backup_schedule", instance, home), dg.RunRequest)


def test_the_clean_up_only_tells_until_it_is_told_to_do_it(instance: dg.DagsterInstance, home: Home) -> None:
    days = (day(home, "2026-08-01"),)
    for name in "abcd":
        chain(home, name, days)
    age(home, 40)
    told = shown(launch(instance, "retention", "clean_up"))
    assert "plan-a" in [record.data["id"] for record in told["may_go"]]  # type: ignore[attr-defined]
    assert str(told["result"]).startswith("only told") and told["freed_bytes"] == 0 and (home.plans / "plan-a").is_dir()
    assert told["may_go_bytes"]
    (home.root / "maintenance.json").write_text(json.dumps({"retention_apply": True}))
    done = shown(launch(instance, "retention", "clean_up"))
    assert done["result"] == "done" and done["freed_bytes"] == told["may_go_bytes"] and not (home.plans / "plan-a").exists()


def test_a_clean_up_beside_a_trainer_is_put_off(instance: dg.DagsterInstance, home: Home) -> None:
    from tcg_core.train.lock import trainer_lock

    with trainer_lock(home, "training"):
        told = shown(launch(instance, "retention", "clean_up", apply=True))
    assert "not done, the next time comes again" in str(told["result"]) and "trainer.lock" in str(told["result"])


def test_an_audit_starts_when_there_is_a_day_and_none_is_at_work(instance: dg.DagsterInstance, home: Home) -> None:
    assert "no validated day" in str(tick("audit_schedule", instance, home).skip_message)  # type: ignore[union-attr]
    day(home, "2026-08-01")
    asked = tick("audit_schedule", instance, home)
    assert isinstance(asked, dg.RunRequest) and asked.run_key == "audit:2026-09-01T01:00:00+00:00"
    instance.create_run_for_job(defs.resolve_job_def("audit"), status=dg.DagsterRunStatus.STARTED)
    assert "of audit has not ended" in str(tick("audit_schedule", instance, home).skip_message)  # type: ignore[union-attr]


@pytest.mark.parametrize("name", ["audit_schedule", "backup_schedule", "retention_schedule"])
def test_a_broken_configuration_makes_the_tick_fail(instance: dg.DagsterInstance, home: Home, name: str) -> None:
    (home.root / "maintenance.json").write_text("{")
    with pytest.raises(Exception, match=r"maintenance\.json"):
        tick(name, instance, home)


def test_what_keeps_the_home_is_on_and_one_at_a_time() -> None:
    for name in ("audit_schedule", "backup_schedule", "retention_schedule"):
        assert defs.resolve_schedule_def(name).default_status is dg.DefaultScheduleStatus.RUNNING
    assert defs.resolve_sensor_def("home_watch").default_status is dg.DefaultSensorStatus.RUNNING
    limits = yaml.safe_load(TEMPLATE.read_text())["concurrency"]["runs"]["tag_concurrency_limits"]
    assert limits == [{"key": key, "limit": 1} for key in MAINTENANCE_TAG]
    for name in ("audit", "backup", "retention"):
        assert MAINTENANCE_TAG.items() <= defs.resolve_job_def(name).tags.items()


def test_times_and_deadlines_are_those_of_the_home(tmp_path: Path) -> None:
    import os
    import subprocess
    import sys

    settings = {"audit_at": "04:10", "backup_at": "05:20", "retention_at": "06:30", "zone": "Europe/Berlin", "day_hours": 50}
    (tmp_path / "maintenance.json").write_text(json.dumps(settings | {"evaluation_hours": 0}))
    code = (
        "import json; from tcg_assets.definitions import defs; g = defs.resolve_asset_graph(); import dagster as dg\n"
        "p = {n: g.get(dg.AssetKey(n)).freshness_policy for n in ('parquet_day', 'tournament', 'champion')}\n"
        "print(json.dumps([[s.name, s.cron_schedule, s.execution_timezone] for s in defs.schedules]"
        " + [[n, v and v.fail_window.to_timedelta().total_seconds() / 3600] for n, v in p.items()]))"
    )
    told = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code],
        env=os.environ | {"TCG_DATA": str(tmp_path)},
        cwd=TEMPLATE.parent,
        capture_output=True,
        text=True,
        check=True,
    )
    found = {line[0]: line[1:] for line in json.loads(told.stdout)}
    assert found["audit_schedule"] == ["10 4 * * *", "Europe/Berlin"]
    assert found["backup_schedule"] == ["20 5 * * *", "Europe/Berlin"]
    assert found["retention_schedule"] == ["30 6 * * *", "Europe/Berlin"]
    assert (found["parquet_day"], found["tournament"], found["champion"]) == ([50], [None], [None])
