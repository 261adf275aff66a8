"""Pointer files of a run: ``latest.json``, ``best.json``, ``epoch_NNNN.json``, each replaced in one step."""

import json
from pathlib import Path

from tcg_core.base.atomic import discard, write_json
from tcg_core.base.errors import IntegrityError, UnknownId
from tcg_core.base.makers import mended_by
from tcg_core.base.manifest import read_manifest

OUTSIDE_IDENTITY = "which checkpoint is named what"

LATEST, BEST = "latest", "best"


def epoch_pointer(epoch: int) -> str:
    """Name of the snapshot after an epoch, counted from 0."""
    return f"epoch_{epoch:04d}"


def point(run: Path, name: str, step: Path, update: int) -> None:
    """Makes pointer ``name`` say ``step`` (a directory of ``run``) with its update number and content hash."""
    write_json(run / f"{name}.json", {"step": update, "path": step.name, "sha256": read_manifest(step).content})


def follow(run: Path, name: str) -> Path | None:
    """The directory a pointer names, None if there is no such pointer.

    Raises :class:`IntegrityError` naming the pointer if its directory is missing or has another content.
    """
    file = run / f"{name}.json"
    if not file.is_file():
        return None
    try:
        values = json.loads(file.read_text())
        step, content = run / str(values["path"]), str(values["sha256"])
    except (ValueError, KeyError) as error:
        raise IntegrityError(f"{file} is not a pointer: {error}{mended_by(run)}") from None
    if not step.is_dir():
        raise IntegrityError(f"{file} points to {step.name}, which is missing{mended_by(run)}")
    found = read_manifest(step).content
    if found != content:
        raise IntegrityError(f"{file} points to {step.name} with content {content[:12]}, found {found[:12]}{mended_by(run)}")
    return step


def require(run: Path, name: str) -> Path:
    """:func:`follow`; raises :class:`UnknownId` if there is no such pointer."""
    step = follow(run, name)
    if step is None:
        raise UnknownId(f"{run} has no pointer {name}.json")
    return step


def pointed(run: Path) -> set[str]:
    """Names of the directories some pointer names."""
    return {str(json.loads(file.read_text())["path"]) for file in run.glob("*.json") if _is_pointer(file.stem)}


def remove_unpointed(run: Path) -> list[str]:
    """Removes step directories that no pointer names; returns their names."""
    kept = pointed(run)
    gone = []
    for step in sorted(run.glob("step_*")):
        if step.is_dir() and step.name not in kept:
            discard(step)
            gone.append(step.name)
    return gone


def _is_pointer(stem: str) -> bool:
    return stem in (LATEST, BEST) or stem.startswith("epoch_")
