# mypy: disable-error-code="untyped-decorator, type-arg"
"""Alerts: a failed run opens an incident for each step that failed, a step that succeeds closes its own."""

from collections.abc import Iterator

import dagster as dg

from tcg_assets.assets.resources import Workspace
from tcg_assets.pages.failure import failure_line
from tcg_assets.sync.damage import DAMAGE_TAG
from tcg_core.alerts.incidents import Incident, incident, notify, resolve_subject
from tcg_core.alerts.links import ui_link
from tcg_core.base.home import Home

_PARTITION = "dagster/partition"
_FROM_OUTSIDE = "This run has been marked as failed from outside the execution context."


@dg.run_failure_sensor(
    default_status=dg.DefaultSensorStatus.RUNNING,
    minimum_interval_seconds=30,
    description="Reports a failed run to the log and the webhook, once per incident",
)
def failure_alerts(context: dg.RunFailureSensorContext, workspace: Workspace) -> None:
    """Reports a failed run to the log and the webhook, once per incident, with a link and the first thing to do."""
    if DAMAGE_TAG in context.dagster_run.tags:
        # This run stands for a damaged day, which `home_watch` reports.
        return
    for found in incidents_of(context.instance, context.dagster_run, context.failure_event.message or "the run failed"):
        sent = notify(workspace.home(), found)
        for channel, problem in sent.results.items():
            if problem:
                context.log.warning(f"{found.subject}: {channel}: {problem}")


@dg.run_status_sensor(
    run_status=dg.DagsterRunStatus.SUCCESS,
    description="Closes incidents of what succeeded",
    default_status=dg.DefaultSensorStatus.RUNNING,
    minimum_interval_seconds=30,
)
def recovery_watch(context: dg.RunStatusSensorContext, workspace: Workspace) -> None:
    """Closes incidents of what succeeded, so that the same failure is reported again later."""
    closed = recovered(context.instance, workspace.home(), context.dagster_run)
    for found in closed:
        context.log.info(f"{found.subject}: closed, it succeeded in run {context.dagster_run.run_id[:8]}")


def incidents_of(instance: dg.DagsterInstance, run: dg.DagsterRun, message: str) -> Iterator[Incident]:
    """One incident for each step that failed by itself; one for the job where no step did (a crash, a lost process)."""
    partition, link = run.tags.get(_PARTITION, ""), run_link(run.run_id)
    for step, text in why_failed(instance, run.run_id, message):
        yield incident(run.job_name, step, text, partition=partition, link=link)


def why_failed(instance: dg.DagsterInstance, run_id: str, message: str) -> list[tuple[str, str]]:
    """(step, its message) of each step that failed by itself; ("", the cause, else ``message``) where none did."""
    return list(_failed_steps(instance, run_id)) or [("", _cause(instance, run_id) or message)]


def recovered(instance: dg.DagsterInstance, home: Home, run: dg.DagsterRun) -> list[Incident]:
    """Closes and returns the incidents of the steps that succeeded in the run, and of its job."""
    partition = run.tags.get(_PARTITION, "")
    events = instance.all_logs(run.run_id, of_type=dg.DagsterEventType.STEP_SUCCESS)
    names = {run.job_name} | {entry.dagster_event.step_key or "" for entry in events if entry.dagster_event}
    subjects = sorted(f"{name}[{partition}]" if partition else name for name in names if name)
    return [found for subject in subjects for found in resolve_subject(home, subject)]


def run_link(run_id: str) -> str:
    """Address of a run's page."""
    return ui_link(f"runs/{run_id}")


def _cause(instance: dg.DagsterInstance, run_id: str) -> str:
    """Why a run ended in which no step failed, else "". For a lost process Dagster's failure event only says that it came from
    outside; the event before it gives the cause."""
    logged = instance.all_logs(run_id, of_type={dg.DagsterEventType.ENGINE_EVENT, dg.DagsterEventType.RUN_FAILURE})
    events = [entry.dagster_event for entry in logged if entry.dagster_event is not None]
    if len(events) < 2 or not events[-1].is_run_failure or (events[-1].message or "") not in ("", _FROM_OUTSIDE):
        return ""
    return events[-2].message or ""


def _failed_steps(instance: dg.DagsterInstance, run_id: str) -> Iterator[tuple[str, str]]:
    checks: dict[str, list[str]] = {}
    for entry in instance.all_logs(run_id, of_type=dg.DagsterEventType.ASSET_CHECK_EVALUATION):
        event = entry.dagster_event
        if event is not None:
            check = event.asset_check_evaluation_data
            if check.blocking and not check.passed:
                checks.setdefault(event.step_key or "", []).append(f"check {check.check_name} failed: {check.description}")
    for entry in instance.all_logs(run_id, of_type=dg.DagsterEventType.STEP_FAILURE):
        event = entry.dagster_event
        if event is not None:
            step = event.step_key or ""
            yield step, "; ".join(checks.get(step, ())) or failure_line(event)
