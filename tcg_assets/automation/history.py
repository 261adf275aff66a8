"""What of Dagster's own history may go, and its removal.

A run of this project is a database of its own of about 140 kB. What it made is told by catalog and manifests; the run
itself is of use while someone may ask how it went.
"""

import shutil
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import dagster as dg

from tcg_assets.automation.at_work import ENDED
from tcg_assets.automation.attempts import DAY_TAG
from tcg_assets.graph import graph
from tcg_core.base.home import Home
from tcg_core.ops.listing import size

_DAY_SECONDS = 86_400.0
_PARTITION = "dagster/partition"
_AT_ONCE = 500


@dataclass(frozen=True)
class OldRun:
    """A run that may go. ``ended``: seconds since 1970; ``bytes``: of its event log and captured output."""

    run_id: str
    job: str
    status: str
    ended: float
    bytes: int


@dataclass(frozen=True)
class History:
    """``old`` may go, the oldest first; ``kept``: how many runs stay, by reason."""

    old: tuple[OldRun, ...]
    kept: dict[str, int]

    @property
    def bytes(self) -> int:
        """Bytes of what may go."""
        return sum(run.bytes for run in self.old)

    @property
    def line(self) -> str:
        """All of it in words."""
        stay = ", ".join(f"{count} {reason}" for reason, count in sorted(self.kept.items()))
        return f"{len(self.old)} runs of Dagster's history may go, {self.bytes / 1e6:.1f} MB; stay: {stay or 'none'}"


def plan_history(instance: dg.DagsterInstance, home: Home, days: int) -> History:
    """Plans the removal; changes nothing. Whatever its age, a run stays that

    made what is the latest materialization of an asset or of a day, or said the last word of a check; is the last of its
    job, or the last success of it, for its day or for none (the nightly compares with it, a failed day stays red by it);
    or counts as an attempt at an archive that still lies in the inbox.
    """
    latest, checked = _latest(instance), _checked(instance)
    seen: set[tuple[str, str, bool]] = set()
    old, kept = [], Counter[str]()
    for record in instance.get_run_records():
        run = record.dagster_run
        ended = record.end_time or record.update_timestamp.timestamp()
        place = (run.job_name, run.tags.get(_PARTITION, ""))
        last = (*place, False) not in seen
        last_success = run.status is dg.DagsterRunStatus.SUCCESS and (*place, True) not in seen
        seen |= {(*place, False)} | ({(*place, True)} if last_success else set())
        if run.status not in ENDED:
            kept["not ended"] += 1
        elif time.time() - ended < days * _DAY_SECONDS:
            kept[f"younger than {days} days"] += 1
        elif run.run_id in latest:
            kept["made what is shown now"] += 1
        elif run.run_id in checked:
            kept["checked what is shown now"] += 1
        elif last or last_success:
            kept["last of their job and day"] += 1
        elif DAY_TAG in run.tags and (home.inbox / f"{run.tags[DAY_TAG]}.zip").exists():
            kept["attempts at what lies in the inbox"] += 1
        else:
            bytes_ = sum(size(path) for path in _files(home, run.run_id))
            old.append(OldRun(run.run_id, run.job_name, run.status.value, ended, bytes_))
    old += _strays(instance, home, days)
    return History(tuple(sorted(old, key=lambda run: run.ended)), dict(kept))


def forget(instance: dg.DagsterInstance, home: Home, history: History) -> int:
    """Removes the old runs of a plan, the oldest first; returns the bytes freed. After a kill at any point a later plan
    finds the files that are left."""
    freed = 0
    for run in history.old:
        if instance.has_run(run.run_id):
            # First, for it empties the event log, and would make it anew.
            instance.delete_run(run.run_id)
        freed += run.bytes
        for path in _files(home, run.run_id):
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)
    return freed


def _files(home: Home, run_id: str) -> list[Path]:
    """The run's event log with SQLite's side files, its captured output, its stored values."""
    logs = home.dagster / "storage" / "history" / "runs"
    found = [logs / f"{run_id}.db{side}" for side in ("", "-wal", "-shm", "-journal")]
    found += [home.dagster / "compute_logs" / run_id, home.dagster / "storage" / run_id]
    return [path for path in found if path.exists()]


def _strays(instance: dg.DagsterInstance, home: Home, days: int) -> Iterator[OldRun]:
    """Event logs of runs that were deleted: what a killed removal leaves."""
    for path in (home.dagster / "storage" / "history" / "runs").glob("*-*-*-*-*.db"):
        written = path.stat().st_mtime
        if time.time() - written >= days * _DAY_SECONDS and not instance.has_run(path.stem):
            yield OldRun(path.stem, "a removed run", "gone", written, sum(size(p) for p in _files(home, path.stem)))


def _latest(instance: dg.DagsterInstance) -> set[str]:
    """Runs that made the latest materialization of an asset or of one of its partitions."""
    found: set[str] = set()
    storage = instance.event_log_storage
    for key in instance.get_asset_keys():
        ids = list(storage.get_latest_storage_id_by_partition(key, dg.DagsterEventType.ASSET_MATERIALIZATION).values())
        for start in range(0, len(ids), _AT_ONCE):
            chosen = dg.AssetRecordsFilter(asset_key=key, storage_ids=ids[start : start + _AT_ONCE])
            found |= {record.run_id for record in instance.fetch_materializations(chosen, limit=_AT_ONCE).records}
        found |= {record.run_id for record in instance.fetch_materializations(key, limit=1).records}
    return found


def _checked(instance: dg.DagsterInstance) -> set[str]:
    """Runs that said the last word of a check."""
    keys = list(graph.resolve_asset_graph().asset_check_keys)
    records = instance.event_log_storage.get_latest_asset_check_execution_by_key(keys).values()
    return {record.run_id for record in records}


def lines_of(history: History, shown: int = 20) -> Iterator[str]:
    """For people: the sum, and the first of what may go."""
    yield history.line
    for run in history.old[:shown]:
        at = time.strftime("%Y-%m-%d %H:%M", time.gmtime(run.ended))
        yield f"  {at} {run.job} {run.run_id[:8]} {run.status.lower()}, {run.bytes / 1e3:.0f} kB"
    if len(history.old) > shown:
        yield f"  and {len(history.old) - shown} more"
