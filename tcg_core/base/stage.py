"""A stage, from what goes in to an artifact that others may use: identity, reuse or publication, manifest, registration, checks.

Each step has one rule, for every stage alike:

- Reuse: a directory of the same id whose files are those of its manifest is reused. A damaged one is discarded and made again.
  One of a ``keeping`` stage is set aside first, so that a person can still look at it. An ``irreplaceable`` one is refused by
  name, and a person decides.
- Publication: files and manifest are written under a temporary name and renamed whole (:func:`tcg_core.base.atomic.publishing`),
  so that a stage killed before leaves nothing that is taken for finished.
- Registration comes before the checks: what was never checked is known, and refused by all that ask for checks that passed.
- Checks are computed at each call. Only a stage whose checks cost minutes asks :func:`standing` for those on record.
"""

import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from tcg_core.base.atomic import discard, publishing, set_aside
from tcg_core.base.built import Built
from tcg_core.base.checks import Check
from tcg_core.base.code import code_version, versions_of
from tcg_core.base.errors import IntegrityError
from tcg_core.base.manifest import MANIFEST, Input, Manifest, artifact_id, hash_files, read_manifest, verify_files, write_manifest

OUTSIDE_IDENTITY = "it publishes and records what was made"
LOG = logging.getLogger("tcg")


class Registrar(Protocol):
    """The registry of one home (:class:`tcg_core.catalog.registry.HomeRegistrar`), for the rooms below the catalog too."""

    def register(self, manifest: Manifest, path: Path) -> None:
        """Records an artifact; if its content changed, its recorded checks are dropped."""

    def record_checks(self, kind: str, id: str, checks: Iterable[Check]) -> None:
        """Replaces the recorded checks of an artifact."""

    def checks_of(self, kind: str, id: str) -> tuple[Check, ...]:
        """The recorded checks of an artifact; empty if none were recorded."""
        ...


@dataclass(frozen=True)
class Stage:
    """One artifact to be: its identity and its place.

    irreplaceable: its directory holds hours of work, as a run's does: a damaged one stays. keeping: it may hold what cannot be
    made the same again (games of an engine without a seed) or what has left this machine (a submission): a damaged one is set
    aside, not removed.
    """

    kind: str
    id: str
    path: Path
    inputs: tuple[Input, ...]
    config: dict[str, Any]
    code: str
    versions: dict[str, str]
    irreplaceable: bool = False
    keeping: bool = False

    @classmethod
    def of(
        cls,
        asset: str,
        kind: str,
        root: Path,
        inputs: Iterable[Input],
        config: dict[str, Any],
        keeping: bool = False,
    ) -> "Stage":
        """The artifact ``root/<id>/`` that the code of ``asset`` (:mod:`tcg_core.base.code`) makes of these inputs."""
        inputs = tuple(inputs)
        id = artifact_id(kind, inputs, config, code_version(asset))
        return cls.named(asset, kind, id, root / id, inputs, config, keeping=keeping)

    @classmethod
    def named(
        cls,
        asset: str,
        kind: str,
        id: str,
        path: Path,
        inputs: Iterable[Input],
        config: dict[str, Any],
        irreplaceable: bool = False,
        keeping: bool = False,
    ) -> "Stage":
        """An artifact whose id is given: a training run has that of its plan, a step of it the run's and its number."""
        return cls(kind, id, path, tuple(inputs), config, code_version(asset), versions_of(asset), irreplaceable, keeping)

    def manifest(self, files: Mapping[str, str], facts: Mapping[str, Any] | None = None) -> Manifest:
        """The manifest of these files (SHA-256 by name)."""
        return Manifest(self.kind, self.id, self.inputs, self.config, self.code, self.versions, dict(files), dict(facts or {}))


@dataclass(frozen=True)
class Made:
    """An artifact on disk, and whether it was there before."""

    manifest: Manifest
    path: Path
    reused: bool


def intact(stage: Stage) -> Made:
    """The artifact of an earlier call, every file hashed; raises :class:`IntegrityError` naming what is not as recorded."""
    manifest = verify_files(stage.path)
    if (manifest.kind, manifest.id) != (stage.kind, stage.id):
        raise IntegrityError(f"{stage.path} holds {manifest.kind} {manifest.id}, expected {stage.kind} {stage.id}")
    # A run is named by its plan: its id says nothing of its own manifest.
    if stage.manifest({}).derived_id == stage.id != manifest.derived_id:
        derived = f"inputs, configuration and code give the id {manifest.derived_id}"
        raise IntegrityError(f"{stage.path / MANIFEST}: {derived}, expected {stage.id}")
    return Made(manifest, stage.path, True)


def find(stage: Stage) -> Made | None:
    """The intact artifact of an earlier call; None if there is none, or a damaged one, which is discarded or set aside.

    Raises :class:`IntegrityError` naming the file if an irreplaceable one is damaged.
    """
    if not stage.path.is_dir():
        return None
    try:
        return intact(stage)
    except IntegrityError as error:
        if stage.irreplaceable:
            raise
        if stage.keeping:
            LOG.warning("%s; it was set aside as %s and is made again", error, set_aside(stage.path))
        else:
            LOG.warning("%s; it is made again", error)
            discard(stage.path)
    return None


def make(stage: Stage, write: Callable[[Path], Mapping[str, Any]], place: Callable[[Manifest], Path] | None = None) -> Made:
    """Reuses the artifact (:func:`find`) or makes it: ``write`` fills the directory that it is given and returns the facts.

    place: where the artifact goes, if the name of its directory follows from its content too.
    """
    found = find(stage)
    if found:
        return found

    def target(temporary: Path) -> Path:
        return place(read_manifest(temporary)) if place else stage.path

    with publishing(stage.path, target) as temporary:
        facts = write(temporary)
        manifest = stage.manifest(hash_files(temporary), facts)
        write_manifest(temporary, manifest)
    path = place(manifest) if place else stage.path
    return Made(read_manifest(path), path, False)


def seal(stage: Stage, facts: Mapping[str, Any]) -> Made:
    """Ends a directory that grew in its place, as a training run does: its manifest is what makes it an artifact."""
    write_manifest(stage.path, stage.manifest(hash_files(stage.path), facts))
    return Made(read_manifest(stage.path), stage.path, False)


def standing(registrar: Registrar, made: Made, names: Iterable[str]) -> tuple[Check, ...]:
    """The checks ``names`` on record of a reused artifact, if all are there and none blocks; else nothing, and all are computed.

    They are of the content that is registered: another content dropped them.
    """
    if not made.reused:
        return ()
    wanted = set(names)
    found = tuple(check for check in registrar.checks_of(made.manifest.kind, made.manifest.id) if check.name in wanted)
    whole = {check.name for check in found} == wanted and not any(check.blocks for check in found)
    return found if whole else ()


def finish(
    registrar: Registrar,
    made: Made,
    checks: Callable[[], tuple[Check, ...]],
    facts: dict[str, Any],
    plots: dict[str, Path] | None = None,
) -> Built:
    """Registers, computes and records the checks, and says what a person wants to see of it."""
    manifest = made.manifest
    registrar.register(manifest, made.path)
    found = checks()
    registrar.record_checks(manifest.kind, manifest.id, found)
    return Built(manifest.kind, manifest.id, made.path, made.reused, found, facts, plots or {})
