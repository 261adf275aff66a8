"""A day that was found damaged becomes red in the UI: its partition, its check `intact`, and a run that says why."""

import dagster as dg

from tcg_assets.assets.partitions import days
from tcg_assets.graph import graph
from tcg_core.alerts.watch import Damaged, damaged_days
from tcg_core.base.home import Home

#: Of the run that stands for the damage. What `failure_alerts` would tell of it is told by the watch already.
DAMAGE_TAG = "tcg/damaged"
_LOCATION = {".dagster/repository": "__repository__@tcg_assets"}


def report_damage(instance: dg.DagsterInstance, home: Home) -> list[Damaged]:
    """Reports every damaged day that was not reported yet; returns those.

    Dagster knows no event that unmakes a materialization: a partition is red when the last run that was to make it failed.
    So one is recorded as failed, with the reason, and the next materialization of the day makes it green again.
    """
    return [item for item in damaged_days(home) if _report(instance, item)]


def _report(instance: dg.DagsterInstance, item: Damaged) -> bool:
    tags = {DAMAGE_TAG: f"{item.dataset_id} {item.since}"}
    if instance.get_runs(dg.RunsFilter(tags=tags), limit=1):
        return False
    if item.day not in instance.get_dynamic_partitions(days.name or ""):
        instance.add_dynamic_partitions(days.name or "", [item.day])
    key, why = dg.AssetKey("parquet_day"), f"day {item.day}: dataset {item.dataset_id} is damaged: {item.reason}"
    job = graph.resolve_job_def("ingest_day").get_subset(asset_selection={key})
    run = instance.create_run_for_job(
        job, tags=tags | _LOCATION | {"dagster/partition": item.day}, asset_selection=frozenset({key})
    )
    instance.report_run_failed(run, message=f"{why}; `tcg day build {item.day}` or Materialize builds it again")
    # After the run, whose planned check would otherwise be the last word.
    instance.report_runless_asset_event(
        dg.AssetCheckEvaluation(
            asset_key=key,
            check_name="intact",
            passed=False,
            description=why,
            metadata={"day": item.day, "dataset": item.dataset_id, "found": item.since, "run": run.run_id},
            blocking=True,
            partition=item.day,
        )
    )
    return True
