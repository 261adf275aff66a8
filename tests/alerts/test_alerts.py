"""What Dagster's sensors make of runs: real events of small jobs on an instance of their own."""

import dagster as dg
import pytest

from tcg_assets.assets.resources import Workspace
from tcg_assets.automation.alerts import failure_alerts, incidents_of, recovered, run_link
from tcg_assets.definitions import defs
from tcg_core.alerts.incidents import notify, open_incidents
from tcg_core.alerts.links import UI_VARIABLE

DAYS = dg.StaticPartitionsDefinition(["2026-08-03"])
WORKS = {"build_day": True, "day_archive": True}


@dg.asset(partitions_def=DAYS)
def day_archive() -> None:
    if not WORKS["day_archive"]:
        raise dg.Failure(description="2026-08-03.zip is no archive", allow_retries=False)


@dg.asset(
    partitions_def=DAYS, deps=[day_archive], check_specs=[dg.AssetCheckSpec("lane_order", asset="build_day", blocking=True)]
)
def build_day() -> dg.MaterializeResult:
    message = "lane (5, 0) goes back"
    return dg.MaterializeResult(
        check_results=[dg.AssetCheckResult(check_name="lane_order", passed=WORKS["build_day"], description=message)]
    )


JOB = dg.define_asset_job("ingest_day", selection=[day_archive, build_day])
OTHER = dg.define_asset_job("takes_a_day", selection=[day_archive])


@pytest.fixture
def instance():
    with dg.DagsterInstance.ephemeral() as ephemeral:
        yield ephemeral


def run(instance, **works):
    WORKS.update({"build_day": True, "day_archive": True} | works)
    job = dg.Definitions(assets=[day_archive, build_day], jobs=[JOB]).resolve_job_def("ingest_day")
    result = job.execute_in_process(instance=instance, partition_key="2026-08-03", raise_on_error=False)
    return result, instance.get_run_by_id(result.run_id)


def test_a_refusal_a_check_and_a_crash_are_three_incidents_each_with_its_reason(instance, home):
    _, refused = run(instance, day_archive=False)
    [first] = incidents_of(instance, refused, "x")
    assert first.subject == "day_archive[2026-08-03]" and first.what == "2026-08-03.zip is no archive"
    assert first.link == run_link(refused.run_id) and "2026-08-03.zip" in first.first
    _, bad = run(instance, build_day=False)
    [second] = incidents_of(instance, bad, "x")
    assert second.subject == "build_day[2026-08-03]" and second.what == "check lane_order failed: lane (5, 0) goes back"
    _, fine = run(instance)
    [third] = incidents_of(instance, fine, "the process died")
    assert third.subject == "ingest_day[2026-08-03]" and third.what == "the process died"
    assert len({first.key, second.key, third.key}) == 3


def test_of_a_lost_process_the_alert_says_what_ended_it(instance):
    lost = instance.create_run_for_job(dg.Definitions(assets=[day_archive], jobs=[OTHER]).resolve_job_def("takes_a_day"))
    instance.report_engine_event("Run execution process was terminated by signal 9 (SIGKILL).", lost)
    instance.report_run_failed(lost)
    [told] = incidents_of(instance, lost, "marked from outside")
    assert told.what == "Run execution process was terminated by signal 9 (SIGKILL)."
    named = instance.create_run_for_job(dg.Definitions(assets=[day_archive], jobs=[OTHER]).resolve_job_def("takes_a_day"))
    instance.report_engine_event("Its worker started.", named)
    instance.report_run_failed(named, "its process 7 is gone")
    [told] = incidents_of(instance, named, "its process 7 is gone")
    assert told.what == "its process 7 is gone"


def test_the_sensor_tells_once_and_a_success_of_the_same_step_closes(instance, home, monkeypatch):
    monkeypatch.delenv("TCG_WEBHOOK", raising=False)
    for _ in range(2):
        result, failed = run(instance, day_archive=False)
        context = dg.build_run_status_sensor_context(
            "failure_alerts", result.get_run_failure_event(), instance, failed
        ).for_run_failure()
        failure_alerts(context, workspace=Workspace(data=str(home.root)))
    [held] = open_incidents(home)
    assert held.count == 2 and held.incident.subject == "day_archive[2026-08-03]"
    _, bad = run(instance, build_day=False)
    for found in incidents_of(instance, bad, "x"):
        notify(home, found)
    assert [found.subject for found in recovered(instance, home, bad)] == ["day_archive[2026-08-03]"]
    _, fine = run(instance)
    assert [found.subject for found in recovered(instance, home, fine)] == ["build_day[2026-08-03]"]
    assert open_incidents(home) == []


def test_links_lead_to_where_the_ui_is_reached(monkeypatch):
    monkeypatch.delenv(UI_VARIABLE, raising=False)
    assert run_link("abc") == "http://127.0.0.1:3000/runs/abc"
    monkeypatch.setenv(UI_VARIABLE, "https://tcg.example/")
    assert run_link("abc") == "https://tcg.example/runs/abc"


def test_both_sensors_are_part_of_the_code_location_and_on():
    for name in ("failure_alerts", "recovery_watch"):
        assert defs.resolve_sensor_def(name).default_status is dg.DefaultSensorStatus.RUNNING
