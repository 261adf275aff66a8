"""What a clean-up would do: made first, shown, and then done or not."""

import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from tcg_core.arena.schedule import load_schedule
from tcg_core.arena.worker import SCHEDULE
from tcg_core.base.errors import TcgError
from tcg_core.base.graph import Graph
from tcg_core.base.home import Home
from tcg_core.base.manifest import Input, Key
from tcg_core.catalog.connection import catalog
from tcg_core.catalog.datasets import DatasetRow, datasets_of
from tcg_core.catalog.kinds import ARCHIVE, DAY, STAGED
from tcg_core.catalog.registry import Registered, rows_of
from tcg_core.lineage.days import promotions
from tcg_core.lineage.graph import registered as registered_graph
from tcg_core.ops import leftovers, orphans
from tcg_core.ops.listing import size, unfinished_runs
from tcg_core.ops.reach import Artifact, kept
from tcg_core.ops.retention import Retention
from tcg_core.submission.ladder import records

Action = Literal["remove", "adopt", "forget", "look"]
#: Kinds that may go when nothing needs them; whatever else is registered stays.
MAY_GO = ("card_features", "ratings", "work_plan", "checkpoint", "torch_artifact", "submission", "tournament", "field_drift")
REPORTS = ("ratings", "field_drift")
_OLD_VERSIONS = ("superseded", "failed", "damaged")


@dataclass(frozen=True)
class Item:
    """One thing. action: ``remove`` it, ``adopt`` it into the registry, ``forget`` a row whose files are gone, or ``look``:
    a person should. key: its kind and id, if it is registered; seen: when it was registered or changed, as the plan saw it."""

    action: Action
    what: str
    path: Path
    why: str
    key: Key | None = None
    bytes: int = 0
    seen: str = ""


@dataclass(frozen=True)
class CleanUpPlan:
    """All items in the order in which they are done, later stages before earlier ones; and why everything else stays."""

    items: tuple[Item, ...]
    kept: dict[Key, str]

    @property
    def freed(self) -> int:
        """Bytes that go."""
        return sum(item.bytes for item in self.items if item.action == "remove")


def make_plan(home: Home, retention: Retention) -> CleanUpPlan:
    """Looks at registry and disk; changes nothing. Raises :class:`TcgError` for an id in ``retention.keep`` that is not there."""
    rows = rows_of(home)
    with catalog(home) as connection:
        inputs = dict(registered_graph(connection).inputs)
        datasets = datasets_of(connection)
        changed = {
            row["dataset_id"]: row["changed_at"] for row in connection.execute("SELECT dataset_id, changed_at FROM datasets")
        }
        promoted = promotions(connection)
        archives = _archives(connection)
    found = tuple(orphans.find(home, rows, datasets))
    for orphan in found:
        if orphan.manifest_key:
            inputs.setdefault(orphan.manifest_key, orphan.inputs)
    graph = Graph(inputs | _runs_of_steps(inputs))
    half, abandoned = (
        dict(leftovers.half_played(home, retention.running_days)),
        dict(leftovers.abandoned_runs(home, retention.recent_days)),
    )
    named = {
        *_named(retention, rows),
        *(("submission", record.submission) for record in records(home)),
        *(("submission", id) for id in (promoted if retention.past_champions else promoted[-1:])),
        *(orphan.manifest_key for orphan in found if orphan.manifest_key and orphan.intact),
        *(("work_plan", run.name) for run in unfinished_runs(home) if run not in abandoned),
        *_playing(home, half),
        *((row.kind, row.id) for row in rows if row.kind not in (*MAY_GO, DAY, STAGED, ARCHIVE)),
    }
    # The registry lists what was materialized last first.
    artifacts = [_artifact(row, -index) for index, row in enumerate(rows) if row.kind in MAY_GO]
    why = kept(graph, artifacts, named, retention.recent_days, retention.failed_days, retention.latest)
    items = [
        *(Item("remove", "temporary", path, "its writer is dead", bytes=size(path)) for path in leftovers.temporaries(home.root)),
        *(
            Item("remove", "set aside", path, reason, bytes=size(path))
            for path, reason in leftovers.set_aside(home, retention.failed_days)
        ),
        *(Item("remove", "half-played tournament", path, reason, bytes=size(path)) for path, reason in half.items()),
        *(_unregistered(orphan, why, retention) for orphan in found),
        *(_gone(row, why) for row in rows if row.kind in MAY_GO and ((row.kind, row.id) not in why or not row.path.exists())),
        *(Item("remove", "abandoned training run", path, reason, bytes=size(path)) for path, reason in abandoned.items()),
        *_steps(home, graph),
    ]
    registered = {(row.kind, row.id) for row in rows}
    versions = list(_versions(home, datasets, changed, why, retention, registered))
    items += versions
    if retention.archives:
        gone = {item.key for item in versions}
        stay = {(kind, row.dataset_id) for row in datasets for kind in (DAY, STAGED) if (DAY, row.dataset_id) not in gone}
        items += _old_archives(rows, archives, {visit.key for visit in graph.back(*why, *stay)})
    return CleanUpPlan(tuple(items), why)


def days_since(at: str) -> float:
    """Days since a time as the catalog writes it."""
    then = datetime.fromisoformat(at)
    return (datetime.now(UTC) - then).total_seconds() / leftovers.DAY_SECONDS


def _named(retention: Retention, rows: list[Registered]) -> Iterator[Key]:
    for id in retention.keep:
        keys = [(row.kind, row.id) for row in rows if row.id == id]
        if not keys:
            raise TcgError(f"retention: keep names {id}, which is not in the registry")
        yield from keys


def _artifact(row: Registered, sequence: int) -> Artifact:
    group = f"{row.kind} {row.path.parent.name}" if row.kind == "field_drift" else row.kind
    return Artifact(
        (row.kind, row.id), days_since(row.registered_at), row.state == "passed", group, sequence, row.kind in REPORTS
    )


def _playing(home: Home, half: dict[Path, str]) -> Iterator[Key]:
    """Submissions of tournaments that are being played or may be continued."""
    for path in home.tournaments.glob("*.running") if home.tournaments.is_dir() else ():
        if path not in half and (path / SCHEDULE).is_file():
            yield from (
                ("submission", player.spec) for player in load_schedule(path / SCHEDULE).players if player.kind == "submission"
            )


def _gone(row: Registered, why: dict[Key, str]) -> Item:
    key = (row.kind, row.id)
    if row.path.exists():
        why_gone = f"{row.state}, {days_since(row.registered_at):.0f} days old, nothing needs it"
        return Item("remove", row.kind, row.path, why_gone, key, size(row.path), row.registered_at)
    if key in why:
        return Item("look", row.kind, row.path, f"is missing, and is kept: {why[key]}; restore it from a backup", key)
    return Item("forget", row.kind, row.path, "its files are gone", key)


def _unregistered(orphan: orphans.Orphan, why: dict[Key, str], retention: Retention) -> Item:
    key = orphan.manifest_key
    if orphan.twin:
        return Item("look", "orphan", orphan.path, f"lies beside the registered {key[0]} {key[1]}" if key else "", None)
    if orphan.intact and not orphan.day:
        return Item("adopt", "orphan", orphan.path, "whole, but a crash came before it was registered", key)
    if orphan.intact and orphan.awaited:
        return Item(
            "look", "orphan", orphan.path, f"a crash came before it was registered: tcg day build {orphan.day} finishes it", key
        )
    if key is None:
        return Item("look", "unknown directory", orphan.path, "it has no manifest, so it is none of ours; it stays")
    idle = leftovers.idle_for(orphan.path)
    if idle < retention.failed_days or (key in why and orphan.intact):
        return Item("look", "orphan", orphan.path, f"{orphan.problem}; it stays {retention.failed_days} days", key)
    return Item("remove", "orphan", orphan.path, orphan.problem, None, size(orphan.path))


def _steps(home: Home, graph: Graph) -> Iterator[Item]:
    referred = {item.id for items in graph.inputs.values() for item in items if item.kind == "checkpoint_step"}
    for path in leftovers.unpointed_steps(home, referred):
        yield Item("remove", "checkpoint step", path, "no pointer names it", bytes=size(path))


def _versions(
    home: Home,
    datasets: list[DatasetRow],
    changed: dict[str, str],
    why: dict[Key, str],
    retention: Retention,
    registered: set[Key],
) -> Iterator[Item]:
    for row in datasets:
        path = home.root / row.path
        limit = retention.superseded_days if row.state == "superseded" else retention.failed_days
        old = row.state in _OLD_VERSIONS and days_since(changed[row.dataset_id]) >= limit
        key = (DAY, row.dataset_id)
        if not old or key in why or (STAGED, row.dataset_id) in why:
            continue
        if path.is_dir():
            yield Item(
                "remove",
                f"{row.state} day version",
                path,
                f"of {row.day}, nothing needs it",
                key,
                size(path),
                changed[row.dataset_id],
            )
        elif key in registered or (STAGED, row.dataset_id) in registered:
            yield Item("forget", f"{row.state} day version", path, "its files are gone", key)


def _archives(connection: sqlite3.Connection) -> set[str]:
    """Hashes of the present archives of all days."""
    return {str(row["archive_sha256"]) for row in connection.execute("SELECT archive_sha256 FROM days")}


def _old_archives(rows: list[Registered], present: set[str], needed: set[Key]) -> Iterator[Item]:
    for row in rows:
        key = (row.kind, row.id)
        if row.kind == ARCHIVE and row.content not in present and key not in needed:
            action: Action = "remove" if row.path.exists() else "forget"
            why = "the day has another one, nothing needs it"
            yield Item(
                action, "superseded archive", row.path, why, key, size(row.path) if row.path.exists() else 0, row.registered_at
            )


def _runs_of_steps(inputs: dict[Key, tuple[Input, ...]]) -> dict[Key, tuple[Input, ...]]:
    """A step belongs to its run: what was made from ``RUN/step_N`` needs the run."""
    steps = {item.key for items in inputs.values() for item in items if item.kind == "checkpoint_step"}
    return {(kind, id): (Input("checkpoint", id.split("/", 1)[0], ""),) for kind, id in steps}
