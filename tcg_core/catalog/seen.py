"""What a training run has seen: the day files of its plan and of the plans of the runs that it went on from."""

import json
from collections.abc import Iterator
from dataclasses import dataclass

from tcg_core.base.atomic import sha256_file
from tcg_core.base.errors import IntegrityError, UnknownId
from tcg_core.base.home import Home
from tcg_core.base.manifest import read_manifest

SUMMARY, CHECKPOINT = "summary.json", "checkpoint"


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
    waiting = [run]
    while waiting:
        name = waiting.pop()
        if name not in runs:
            runs.append(name)
            waiting += list(_parents(home, name))
            files |= _files(home, name)
    return Seen(tuple(runs), frozenset(files))


def _parents(home: Home, run: str) -> Iterator[str]:
    directory = home.plans / run
    if not directory.is_dir():
        raise UnknownId(
            f"selection.unseen_by: the plan of run {run} is not on disk ({directory}), so which days it saw is unknown: "
            "restore it from a backup, or train from fresh weights"
        )
    return (item.id for item in read_manifest(directory).inputs if item.kind == CHECKPOINT)


def _files(home: Home, run: str) -> set[str]:
    summary = home.plans / run / SUMMARY
    expected = read_manifest(summary.parent).files.get(SUMMARY)
    if not summary.is_file() or sha256_file(summary) != expected:
        raise IntegrityError(f"{summary} is not what its manifest lists")
    return {str(day["sha256"]) for day in json.loads(summary.read_text())["days"]}
