"""What a training run has seen: the day files of its plan and of the plans of the runs that it went on from."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from tcg_core.base.atomic import sha256_file
from tcg_core.base.errors import IntegrityError, UnknownId
from tcg_core.base.graph import back
from tcg_core.base.home import Home
from tcg_core.base.manifest import Input, Key, read_manifest

SUMMARY, PLAN, CHECKPOINT = "summary.json", "work_plan", "checkpoint"


@dataclass(frozen=True)
class Seen:
    """runs: the run and those before it, the youngest first; files: SHA-256 of every rows.parquet in their plans."""

    runs: tuple[str, ...]
    files: frozenset[str]


def seen_by(home: Home, run: str) -> Seen:
    """What ``run`` and every run it went on from were planned over: a day that was published again since is not among it.

    Raises :class:`UnknownId` naming a plan that is not on disk and :class:`IntegrityError` naming one that is not as stored.
    """
    runs: list[str] = []
    files: set[str] = set()
    for visit in back([(PLAN, run)], lambda visit: _before(home, visit.key)):
        kind, name = visit.key
        if kind == PLAN:
            runs.append(name)
            files |= _files(_plan(home, name))
    return Seen(tuple(runs), frozenset(files))


def _before(home: Home, key: Key) -> Iterable[Input]:
    """From a plan to the run that it continues, from a run to its plan, whose id it bears."""
    kind, id = key
    if kind == CHECKPOINT:
        return [Input(PLAN, id, "")]
    return [item for item in read_manifest(_plan(home, id)).inputs if item.kind == CHECKPOINT]


def _plan(home: Home, run: str) -> Path:
    directory = home.plans / run
    if not directory.is_dir():
        raise UnknownId(
            f"selection.unseen_by: the plan of run {run} is not on disk ({directory}), so which days it saw is unknown: "
            "restore it from a backup, or train from fresh weights"
        )
    return directory


def _files(plan: Path) -> set[str]:
    summary = plan / SUMMARY
    expected = read_manifest(plan).files.get(SUMMARY)
    if not summary.is_file() or sha256_file(summary) != expected:
        raise IntegrityError(f"{summary} is not what its manifest lists")
    return {str(day["sha256"]) for day in json.loads(summary.read_text())["days"]}
