"""Imports a finished run of another data home, with all it was made from, so that it is found by its id.

Copied are the run, its plan, its card tables, and likewise the runs it resumed. Days are large and not needed to resume a
checkpoint: those that this home lacks are recorded by their manifests, so that lineage still reaches the archives.
"""

import json
import shutil
from dataclasses import dataclass
from pathlib import Path

from tcg_core.base.atomic import publishing
from tcg_core.base.checks import Check
from tcg_core.base.errors import IntegrityError
from tcg_core.base.graph import Visit, made_first
from tcg_core.base.home import Home
from tcg_core.base.manifest import MANIFEST, Input, Key, Manifest, read_manifest, verify_files
from tcg_core.catalog import registry
from tcg_core.lineage.imported import record
from tcg_core.train.errors import BringRefused
from tcg_core.train.runs import pointers

RUN, PLAN, CARDS, DAY = "checkpoint", "work_plan", "card_features", "parquet_day"


@dataclass(frozen=True)
class Part:
    """One artifact of a chain: where it lies in the other home, and the results of its checks there."""

    manifest: Manifest
    path: Path
    checks: tuple[Check, ...]


@dataclass(frozen=True)
class ImportedRun:
    """The result of an import. copied: kinds and ids, none if all were here; days_elsewhere: days only the other home has."""

    run: str
    copied: tuple[tuple[str, str], ...]
    days_elsewhere: tuple[str, ...]


def bring_in(home: Home, source: Home, run: str) -> ImportedRun:
    """Copies ``run`` and what it was made from out of ``source``; parts that this home has with the same content stay.

    Everything is verified before anything is written. Each part is published whole and registered with its checks, after the
    parts it was made from; after a kill the same call continues. Raises :class:`BringRefused` for a run that is not finished,
    whose checks failed or are not on record, or if this home already has a different run with that id, and
    :class:`IntegrityError` naming a file that is not as recorded.
    """
    parts, days = _collect(source, run)
    for part in parts:
        _refuse_other(home, part.manifest)
    copied = [part.manifest.key for part in parts if _publish(home, part)]
    elsewhere = tuple(manifest for manifest in days.values() if not _day_is_here(home, manifest))
    record(home, run, source.root, elsewhere)
    return ImportedRun(run, tuple(copied), tuple(sorted(day for day, manifest in days.items() if manifest in elsewhere)))


def _collect(source: Home, run: str) -> tuple[list[Part], dict[str, Manifest]]:
    """The run and all it was made from, verified, each part after those it was made from; and the days' manifests by date."""
    found: dict[Key, Part] = {}
    days: dict[str, Manifest] = {}

    def inputs_of(visit: Visit) -> list[Input]:
        part = found[visit.key] = _verified(source, visit)
        planned = {}
        if part.manifest.kind == PLAN:
            planned = {day["dataset_id"]: day for day in json.loads((part.path / "summary.json").read_text())["days"]}
        for item in part.manifest.inputs:
            if item.kind == DAY and item.id in planned:
                days[planned[item.id]["day"]] = _day(source, item, planned[item.id])
        return [item for item in part.manifest.inputs if item.kind != DAY]

    return [found[visit.key] for visit in made_first([(RUN, run)], inputs_of)], days


def _verified(source: Home, visit: Visit) -> Part:
    kind, id = visit.key
    path = _place(source, kind, id)
    if not (path / MANIFEST).is_file():
        unfinished = "; it is not finished: recover it in its own home first (tcg train RUN)" if path.is_dir() else ""
        raise BringRefused(f"{kind} {id} is not whole in {source.root}{unfinished}")
    manifest = verify_files(path)
    if manifest.key != visit.key or (visit.item and visit.item.sha256 != manifest.content):
        raise IntegrityError(f"{path} is not the {kind} {id} that the run was made from")
    if manifest.kind == RUN:
        _verify_steps(path)
    return Part(manifest, path, _checks(source, manifest))


def _verify_steps(run: Path) -> None:
    """The run's manifest covers the files of its steps; this also compares the steps' own manifests and the pointers."""
    for step in sorted(run.glob("step_*")):
        verify_files(step)
    for name in (pointers.LATEST, pointers.BEST, *(file.stem for file in run.glob("epoch_*.json"))):
        pointers.require(run, name)


def _day(source: Home, item: Input, planned: dict[str, str]) -> Manifest:
    manifest = read_manifest((source.root / planned["path"]).parent)
    if (manifest.id, manifest.content) != (item.id, item.sha256):
        raise IntegrityError(f"day {planned['day']} in {source.root} is not the one that the plan was made from")
    return manifest


def _checks(source: Home, manifest: Manifest) -> tuple[Check, ...]:
    path = source.root / "checks" / manifest.kind / f"{manifest.id}.json"
    name = f"{manifest.kind} {manifest.id}"
    try:
        values = json.loads(path.read_text())
        checks = tuple(Check(**check) for check in values["checks"])
    except OSError:
        raise BringRefused(f"{name}: {path} is missing: what its checks said is not on record") from None
    except (ValueError, KeyError, TypeError) as error:
        raise IntegrityError(f"{path} is no record of checks: {error}") from None
    if values["content"] != manifest.content or not checks:
        raise BringRefused(f"{name}: {path} is of another content: it was not checked as it is")
    failed = [check for check in checks if check.blocks]
    if failed:
        raise BringRefused(f"{name}: check {failed[0].name} failed: {failed[0].message}")
    return checks


def _refuse_other(home: Home, manifest: Manifest) -> None:
    """Refuses a different artifact of this home under the same id."""
    path = _place(home, manifest.kind, manifest.id)
    if not path.exists():
        return
    if not (path / MANIFEST).is_file():
        raise BringRefused(f"{manifest.kind} {manifest.id} is here too and not finished: finish it or move {path} away")
    found = verify_files(path).content
    if found != manifest.content:
        raise BringRefused(
            f"{manifest.kind} {manifest.id} is here too, with content {found[:12]}; that of the other home has "
            f"{manifest.content[:12]}: move {path} away to take the other one"
        )


def _publish(home: Home, part: Part) -> bool:
    """Copies one part unless this home has it, and makes sure that it is registered with its checks. True if it was copied.

    No Stage (:mod:`tcg_core.base.stage`): nothing is made; manifest and checks are those of the other home.
    """
    path = _place(home, part.manifest.kind, part.manifest.id)
    fresh = not path.exists()
    if fresh:
        with publishing(path) as temporary:
            shutil.copytree(part.path, temporary, dirs_exist_ok=True, ignore=shutil.ignore_patterns(".tmp-*"))
            verify_files(temporary)
    known = {row.id: row.content for row in registry.rows_of(home, part.manifest.kind)}
    if fresh or known.get(part.manifest.id) != part.manifest.content:
        registry.register(home, part.manifest, path)
    if not registry.checks_of(home, part.manifest.kind, part.manifest.id):
        registry.record_checks(home, part.manifest.kind, part.manifest.id, part.checks)
    return fresh


def _day_is_here(home: Home, manifest: Manifest) -> bool:
    return any(
        (found.id, found.content) == (manifest.id, manifest.content)
        for found in (read_manifest(path.parent) for path in home.days.glob(f"*/*/{MANIFEST}"))
    )


def _place(home: Home, kind: str, id: str) -> Path:
    roots = {RUN: home.checkpoints, PLAN: home.plans, CARDS: home.cards}
    if kind not in roots:
        raise BringRefused(f"a run made from {kind} {id} cannot be imported")
    return roots[kind] / id
