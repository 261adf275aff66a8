# mypy: disable-error-code="untyped-decorator"
"""Alerts on the state of the home, beside those on failed runs: damaged days, missed deadlines, no backup, broken files."""

import dagster as dg

from tcg_assets.assets.resources import Workspace
from tcg_assets.sync.damage import report_damage
from tcg_assets.sync.switches import nightly_on
from tcg_core.alerts.watch import watch

_INTERVAL = 120


@dg.sensor(
    minimum_interval_seconds=_INTERVAL,
    default_status=dg.DefaultSensorStatus.RUNNING,
    description="Alerts on damaged days, missed deadlines, a missing backup, broken files; closes an alert once it is fixed",
)
def home_watch(context: dg.SensorEvaluationContext, workspace: Workspace) -> dg.SkipReason:
    """Sends one alert per problem of the home, closes it when the problem is fixed, and shows damaged days as failed."""
    home = workspace.home()
    reported = report_damage(context.instance, home)
    kept = watch(home, nightly=nightly_on(context.instance))
    for problem in kept.problems:
        context.log.warning(problem)
    lines = [f"{item.day} is shown as damaged" for item in reported]
    lines += [f"told: {item.title}" for item in kept.opened] + [f"closed: {item.title}" for item in kept.closed]
    lines += [f"still: {item.title}" for item in kept.still]
    return dg.SkipReason("; ".join(lines) or "nothing needs a person")
