"""`tcg gc`: does what the plan says, later stages before earlier ones. After a kill, the next call continues."""

import logging
import shutil
from dataclasses import dataclass
from pathlib import Path

from tcg_core.base.atomic import discard
from tcg_core.base.home import Home
from tcg_core.base.manifest import Key, verify_files
from tcg_core.catalog import registry
from tcg_core.catalog.connection import catalog, transaction
from tcg_core.catalog.kinds import DAY, STAGED
from tcg_core.lineage.graph import registered
from tcg_core.ops.lock import ops_lock
from tcg_core.ops.plan import REPORTS, CleanUpPlan, Item, make_plan
from tcg_core.ops.retention import Retention
from tcg_core.train.lock import trainer_lock

LOG = logging.getLogger("tcg")


@dataclass(frozen=True)
class Cleaned:
    """What was done."""

    plan: CleanUpPlan
    freed: int


def clean(home: Home, retention: Retention) -> Cleaned:
    """Makes the plan under the locks of trainer and operator, and does it.

    Raises :class:`TrainerBusy` during training and :class:`OpsBusy` during a backup: a running training reads days and steps
    that are not in the registry yet.
    """
    with ops_lock(home.root, "clean-up"), trainer_lock(home, "clean-up"):
        plan = make_plan(home, retention)
        freed = 0
        for item in _in_order(home, plan):
            if item.key and item.action == "remove" and _moved_on(home, item.key, item.seen):
                LOG.info("%s %s was used since the plan was made: it stays", *item.key)
                continue
            _do(home, item)
            freed += item.bytes if item.action == "remove" else 0
    return Cleaned(plan, freed)


def _moved_on(home: Home, key: Key, seen: str) -> bool:
    """True if the artifact was materialized or selected again since the plan was made, or something was made from it. Stages
    other than training hold no lock against a clean-up."""
    with catalog(home) as connection:
        if key[0] == DAY:
            found = connection.execute("SELECT changed_at FROM datasets WHERE dataset_id = ?", (key[1],)).fetchone()
        else:
            found = connection.execute("SELECT registered_at FROM artifacts WHERE kind = ? AND id = ?", key).fetchone()
        users = connection.execute("SELECT kind FROM artifact_inputs WHERE input_kind = ? AND input_id = ?", key).fetchall()
    return found is None or found[0] != seen or any(row["kind"] not in REPORTS for row in users)


def _in_order(home: Home, plan: CleanUpPlan) -> list[Item]:
    """Items in the order of removal: an artifact before those it was made from, so that nothing is left without its lineage."""
    with catalog(home) as connection:
        heights = registered(connection).heights()
    first = [item for item in plan.items if item.action == "adopt"]
    rest = [item for item in plan.items if item.action in ("remove", "forget")]
    return first + sorted(rest, key=lambda item: -heights.get(item.key, 0) if item.key else 1)


def _do(home: Home, item: Item) -> None:
    if item.action == "adopt":
        registry.register(home, verify_files(item.path), item.path)
        return
    _remove(item.path)
    if item.path.parent == home.checkpoints:
        _remove(home.runs / item.path.name)
    if item.key:
        kind, id = item.key
        for key in ((DAY, id), (STAGED, id)) if kind == DAY else (item.key,):
            _forget(home, key)
        _forget_files(home, item.path)


def _remove(path: Path) -> None:
    if path.name.startswith(".tmp-") and path.is_dir():
        shutil.rmtree(path)
    elif path.is_dir():
        discard(path)
    else:
        path.unlink(missing_ok=True)


def _forget(home: Home, key: Key) -> None:
    """Removes the artifact's rows and its record of checks; rows of a day's dataset stay, as its history."""
    kind, id = key
    (home.root / "checks" / kind / f"{id}.json").unlink(missing_ok=True)
    with catalog(home) as connection, transaction(connection):
        for table in ("artifact_inputs", "artifact_checks", "artifacts"):
            connection.execute(f"DELETE FROM {table} WHERE kind = ? AND id = ?", key)


def _forget_files(home: Home, path: Path) -> None:
    with catalog(home) as connection, transaction(connection):
        name = registry.relative(home, path)
        connection.execute("DELETE FROM verified_files WHERE path = ? OR path GLOB ? || '/*'", (name, name))
