"""After a kill: runs that Dagster still believes alive, pool slots they hold, temporaries they left."""

import time
from dataclasses import dataclass
from pathlib import Path

import dagster as dg
import psutil  # type: ignore[import-untyped]

from tcg_core.base.atomic import sweep
from tcg_core.base.home import Home
from tcg_core.ops.leftovers import temporaries

_ALIVE = [
    dg.DagsterRunStatus.NOT_STARTED,
    dg.DagsterRunStatus.STARTING,
    dg.DagsterRunStatus.STARTED,
    dg.DagsterRunStatus.CANCELING,
]
#: Seconds that a run without any known process is left alone: it may just be starting.
_SETTLING = 60.0
#: Seconds by which the clocks of the kernel and of the event log may differ.
_CLOCK_SLACK = 5.0


@dataclass(frozen=True)
class Ended:
    """A run that was closed: what it was and what it is now. ``slots``: pools in which it held a place."""

    run_id: str
    job: str
    was: str
    now: str
    reason: str
    slots: tuple[str, ...] = ()


@dataclass(frozen=True)
class Reconciled:
    """What was put right, or would be."""

    runs: tuple[Ended, ...]
    temporaries: tuple[Path, ...]


def reconcile(instance: dg.DagsterInstance, home: Home, *, dry_run: bool = False) -> Reconciled:
    """Closes runs whose process is gone, frees their pool slots, sweeps temporaries of dead processes.

    Runs that live, and queued ones, which belong to the daemon, are left alone. ``dry_run`` only reports.
    """
    ended = []
    for record in instance.get_run_records(dg.RunsFilter(statuses=_ALIVE)):
        reason = _why_dead(instance, record.dagster_run, record.create_timestamp.timestamp())
        if reason:
            ended.append(_end(instance, record.dagster_run, reason, dry_run))
    if not home.root.is_dir():
        return Reconciled(tuple(ended), ())
    swept = temporaries(home.root) if dry_run else sweep(home.root)
    return Reconciled(tuple(ended), tuple(swept))


def _end(instance: dg.DagsterInstance, run: dg.DagsterRun, reason: str, dry_run: bool) -> Ended:
    cancelling = run.status is dg.DagsterRunStatus.CANCELING
    now = dg.DagsterRunStatus.CANCELED if cancelling else dg.DagsterRunStatus.FAILURE
    slots = _pools_held_by(instance, run.run_id)
    if not dry_run:
        if cancelling:
            instance.report_run_canceled(run, message=reason)
        else:
            instance.report_run_failed(run, message=reason)
        instance.event_log_storage.free_concurrency_slots_for_run(run.run_id)
    return Ended(run.run_id, run.job_name, run.status.value, now.value, reason, slots)


def _pools_held_by(instance: dg.DagsterInstance, run_id: str) -> tuple[str, ...]:
    storage = instance.event_log_storage
    pools = sorted(storage.get_concurrency_keys())
    return tuple(
        pool for pool in pools if any(slot.run_id == run_id for slot in storage.get_concurrency_info(pool).claimed_slots)
    )


def _why_dead(instance: dg.DagsterInstance, run: dg.DagsterRun, created: float) -> str:
    process = _process_of(instance, run.run_id)
    if process is None:
        return "it never got a process" if time.time() - created > _SETTLING else ""
    pid, since = process
    return "" if _lives(pid, since) else f"its process {pid} is gone"


def _process_of(instance: dg.DagsterInstance, run_id: str) -> tuple[int, float] | None:
    """Process of a run and the time at which it said so: the last event that names one."""
    for entry in reversed(instance.all_logs(run_id, of_type=dg.DagsterEventType.ENGINE_EVENT)):
        event = entry.dagster_event
        metadata = event.engine_event_data.metadata if event is not None else {}
        if "pid" in metadata:
            return int(str(metadata["pid"].value)), entry.timestamp
    return None


def _lives(pid: int, since: float) -> bool:
    """True if ``pid`` lives and is not a later process that was given the same number."""
    try:
        process = psutil.Process(pid)
        return bool(process.status() != psutil.STATUS_ZOMBIE and process.create_time() <= since + _CLOCK_SLACK)
    except psutil.NoSuchProcess:
        return False
