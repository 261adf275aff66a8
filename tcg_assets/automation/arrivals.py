"""Days that arrive: each whole archive of the inbox is taken once, and tried again after a failure. On by default."""

import time
from collections.abc import Iterator
from pathlib import Path

import dagster as dg

from tcg_assets.assets.jobs import ingest_day
from tcg_assets.assets.partitions import days
from tcg_assets.assets.resources import Workspace
from tcg_assets.automation.attempts import ARRIVALS, next_attempt, tags_of
from tcg_assets.automation.inbox import Arrival, look


@dg.sensor(
    job=ingest_day,
    minimum_interval_seconds=30,
    default_status=dg.DefaultSensorStatus.RUNNING,
    description="Takes each whole archive of the inbox once",
)
def inbox_sensor(context: dg.SensorEvaluationContext, workspace: Workspace) -> dg.SensorResult | dg.SkipReason:
    """Takes each whole archive of the inbox once: adds its day as a partition and starts `ingest_day`."""
    seen = look(workspace.home().inbox, context.cursor, _directory_digest)
    context.update_cursor(seen.cursor)
    lines = list(seen.lines)
    requests = list(_requests(context.instance, seen.ready, lines))
    for line in lines:
        context.log.info(line)
    if not requests:
        return dg.SkipReason("; ".join(lines) or "the inbox is empty")
    wanted = [request.partition_key for request in requests if request.partition_key]
    known = set(context.instance.get_dynamic_partitions(days.name or ""))
    added = [day for day in wanted if day not in known]
    return dg.SensorResult(
        run_requests=requests,
        dynamic_partitions_requests=[days.build_add_request(added)] if added else [],
    )


def _requests(instance: dg.DagsterInstance, ready: tuple[Arrival, ...], lines: list[str]) -> Iterator[dg.RunRequest]:
    for arrival in ready:
        attempt = next_attempt(instance, tags_of(arrival), ARRIVALS, time.time())
        if attempt.held:
            lines.append(f"{arrival.day}: {attempt.held}")
            continue
        key = f"{arrival.day}:{arrival.digest[:16]}:{attempt.number}"
        yield dg.RunRequest(run_key=key, partition_key=arrival.day, tags=tags_of(arrival))


def _directory_digest(path: Path) -> str:
    from tcg_core.replay.archive import open_archive

    with open_archive(path) as archive:
        return str(archive.directory_digest)
