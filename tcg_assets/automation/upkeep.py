# mypy: disable-error-code="untyped-decorator"
"""When the jobs of :mod:`tcg_assets.automation.maintenance` start by themselves: at the times of maintenance.json."""

import dagster as dg

from tcg_assets.assets.deadlines import WHEN
from tcg_assets.assets.resources import Workspace
from tcg_assets.automation.at_work import at_work
from tcg_assets.automation.maintenance import audit, backup, retention
from tcg_core.ops.maintenance import load_maintenance

_ON = dg.DefaultScheduleStatus.RUNNING


@dg.schedule(
    job=audit,
    cron_schedule=WHEN.audit.cron,
    execution_timezone=WHEN.zone,
    default_status=_ON,
    description="Reads a share of the validated days again, those first that were read longest ago",
)
def audit_schedule(context: dg.ScheduleEvaluationContext, workspace: Workspace) -> dg.RunRequest | dg.SkipReason:
    """Reads a share of the validated days again, those first that were read longest ago. A missed night is not made up."""
    from tcg_core.ops.audit import turn

    home = workspace.home()
    load_maintenance(home)
    if not turn(home):
        return dg.SkipReason("there is no validated day")
    return _unless_at_work(context, audit)


@dg.schedule(
    job=backup,
    cron_schedule=WHEN.backup.cron,
    execution_timezone=WHEN.zone,
    default_status=_ON,
    description="Backs the data home up to backup_to of maintenance.json; without one it skips",
)
def backup_schedule(context: dg.ScheduleEvaluationContext, workspace: Workspace) -> dg.RunRequest | dg.SkipReason:
    """Backs the data home up to `backup_to` of maintenance.json; without one it skips."""
    if load_maintenance(workspace.home()).destination is None:
        return dg.SkipReason("no backup is configured: set backup_to in maintenance.json of the data home")
    return _unless_at_work(context, backup)


@dg.schedule(
    job=retention,
    cron_schedule=WHEN.retention.cron,
    execution_timezone=WHEN.zone,
    default_status=_ON,
    description="Tells what may go; removes it only with retention_apply in maintenance.json",
)
def retention_schedule(context: dg.ScheduleEvaluationContext, workspace: Workspace) -> dg.RunRequest | dg.SkipReason:
    """Tells what may go; removes it only with `retention_apply` in maintenance.json."""
    load_maintenance(workspace.home())
    return _unless_at_work(context, retention)


def _unless_at_work(context: dg.ScheduleEvaluationContext, job: dg.JobDefinition) -> dg.RunRequest | dg.SkipReason:
    running = at_work(context.instance, job.name)
    if running:
        return dg.SkipReason(running)
    return dg.RunRequest(run_key=f"{job.name}:{context.scheduled_execution_time.isoformat()}")
