# mypy: disable-error-code="untyped-decorator"
"""A night that was refused because the code had changed under the services is tried again once they were restarted."""

import dagster as dg

from tcg_assets.assets.jobs import nightly
from tcg_core.base.same_code import CodeChanged, changed_on_disk

#: Of the second try: the run that was refused.
AGAIN_TAG = "tcg/again_after_code_change"


@dg.sensor(
    job=nightly,
    minimum_interval_seconds=60,
    default_status=dg.DefaultSensorStatus.RUNNING,
    description="Starts a night again that was refused because the code had changed, once the services were restarted",
)
def night_again(context: dg.SensorEvaluationContext) -> dg.RunRequest | dg.SkipReason:
    """Asks for the last night again, as it was configured, if it was refused for its code and this process is current."""
    last = next(iter(context.instance.get_runs(dg.RunsFilter(job_name=nightly.name), limit=1)), None)
    if last is None or not refused_for_code(context.instance, last):
        return dg.SkipReason("the last night was not refused for its code")
    if changed_on_disk():
        return dg.SkipReason("the code on disk is not the code of this process: restart `tcg ui`")
    tags = {key: value for key, value in last.tags.items() if key.startswith("tcg/")} | {AGAIN_TAG: last.run_id}
    return dg.RunRequest(run_key=f"again-{last.run_id}", run_config=last.run_config, tags=tags)


def refused_for_code(instance: dg.DagsterInstance, run: dg.DagsterRun) -> bool:
    """Whether a step of the run failed because the code had changed."""
    if run.status is not dg.DagsterRunStatus.FAILURE:
        return False
    for entry in instance.all_logs(run.run_id, of_type=dg.DagsterEventType.STEP_FAILURE):
        failure = entry.dagster_event.step_failure_data.user_failure_data if entry.dagster_event else None
        said = failure.metadata.get("error") if failure else None
        if said is not None and said.value == CodeChanged.__name__:
            return True
    return False
