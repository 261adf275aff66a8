"""Whether a job has a run that has not ended: the question of every schedule and sensor that starts one at a time."""

import dagster as dg

ENDED = (dg.DagsterRunStatus.SUCCESS, dg.DagsterRunStatus.FAILURE, dg.DagsterRunStatus.CANCELED)
UNFINISHED = [status for status in dg.DagsterRunStatus if status not in ENDED]


def at_work(instance: dg.DagsterInstance, job: str) -> str:
    """Says which run of ``job`` has not ended, "" if none."""
    running = instance.get_runs(dg.RunsFilter(job_name=job, statuses=UNFINISHED), limit=1)
    return f"run {running[0].run_id[:8]} of {job} has not ended" if running else ""
