"""Builds a day: one pass over its archive fills the staging area and the catalog; then what lies on disk is checked."""

import shutil
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from tcg_core.base.atomic import discard, make_directory, publish, temporary_beside
from tcg_core.base.built import Built
from tcg_core.base.checks import Check
from tcg_core.base.code import versions_of
from tcg_core.base.digest import sha256_bytes
from tcg_core.base.errors import IntegrityError
from tcg_core.base.home import Home, parse_day
from tcg_core.base.manifest import (
    MANIFEST,
    Input,
    Manifest,
    artifact_id,
    hash_files,
    read_manifest,
    verify_files,
    write_manifest,
)
from tcg_core.catalog import registry
from tcg_core.catalog.connection import catalog, transaction
from tcg_core.catalog.datasets import dataset, datasets_of, mark, stage
from tcg_core.catalog.days import DayRow, check_conflicts, day_row, record_episodes
from tcg_core.catalog.kinds import ARCHIVE, DAY, STAGED, as_staged
from tcg_core.catalog.proofs import of_other_code
from tcg_core.catalog.records import EpisodeRecord
from tcg_core.days.checks.quarantine import MAX_QUARANTINE_FRAC, quarantine_fraction
from tcg_core.days.code import build_code
from tcg_core.days.layout import SHAPE, dataset_record, read_episodes, write_quarantine
from tcg_core.days.staged_checks import STAGED_CHECKS, catalog_checks, staged_checks
from tcg_core.days.write_day import write_day
from tcg_core.encode.schema import SCHEMA
from tcg_core.lookahead.compute import compute_would_ko, described
from tcg_core.lookahead.settings import WouldKo
from tcg_core.replay.archive import Archive, open_archive
from tcg_core.rows.reader import ROWS


def build_day(
    home: Home,
    day: str,
    workers: int = 1,
    max_quarantine_frac: float = MAX_QUARANTINE_FRAC,
    would_ko: WouldKo | None = None,
) -> Built:
    """Stages a day whose archive was taken, and records its episodes; ``workers`` processes share the pass.

    would_ko: also look every attack option ahead (:mod:`tcg_core.lookahead`), which makes it another build of the day.

    The directory is ``staging/DATE/<sha12>/`` (head of the SHA-256 of id and content). An intact build of the same archive by
    the same code is reused, promoted or not. Raises :class:`DayError`, :class:`UnknownId` for a day that was never
    taken, :class:`EpisodeConflict` for an id that another day holds with other content.
    """
    started = time.monotonic()
    parse_day(day)
    with catalog(home) as connection:
        row = day_row(connection, day)
    with open_taken(home, row) as archive:
        code = build_code()
        config: dict[str, Any] = {"day": day, "schema": SCHEMA.digest}
        if would_ko is not None:
            config["would_ko"] = described(would_ko)
        inputs = (Input(ARCHIVE, row.archive_sha256[:16], row.archive_sha256),)
        id = artifact_id(DAY, inputs, config, code)
        path = find_build(home, day, id) or proven_build(home, day, inputs, config, code)
        reused = path is not None
        if path is None:
            manifest = Manifest(DAY, id, inputs, config, code, versions_of("staged_day"), {})
            path = _write(home, archive, day, manifest, workers, would_ko)
        manifest = read_manifest(path)
        id = manifest.id
        records, decks = read_episodes(path)
        _record(home, day, path, manifest, records, decks)
        write_quarantine(home.quarantine / f"{day}.jsonl", records)
        checks = _recorded(home, id) if reused else ()
        checks = (
            (*checks, quarantine_fraction(records, max_quarantine_frac))
            if checks
            else staged_checks(path, day, records, max_quarantine_frac)
        )
        with catalog(home) as connection:
            checks += catalog_checks(connection, day, archive)
            failed = [check.name for check in checks if check.blocks]
            with transaction(connection):
                if failed and dataset(connection, day, id).state == "staged":
                    mark(connection, day, id, "failed", f"check {', '.join(failed)} failed")
    registry.record_checks(home, STAGED, id, checks)
    return Built(STAGED, id, path, reused, checks, _facts(path, manifest, time.monotonic() - started), {"shape": path / SHAPE})


def find_build(home: Home, day: str, id: str) -> Path | None:
    """The intact directory of this build, promoted or staged; a damaged one in staging is removed."""
    for root in (home.days, home.staging):
        for file in sorted((root / day).glob(f"*/{MANIFEST}")):
            if file.parent.name.startswith("."):
                continue
            try:
                if read_manifest(file.parent).id == id:
                    verify_files(file.parent)
                    return file.parent
            except IntegrityError:
                if root == home.staging:
                    discard(file.parent)
    return None


def proven_build(home: Home, day: str, inputs: tuple[Input, ...], config: dict[str, Any], code: str) -> Path | None:
    """The intact directory of a build that is proven equal under ``code``, made of the same inputs and configuration."""
    with catalog(home) as connection:
        other = of_other_code(connection, code)
        rows = [row for row in datasets_of(connection, day) if (day, row.dataset_id) not in other]
    for row in rows:
        directory = home.root / row.path
        try:
            manifest = read_manifest(directory)
            if (manifest.inputs, manifest.config) == (inputs, config):
                verify_files(directory)
                return directory
        except IntegrityError:
            continue
    return None


def _recorded(home: Home, id: str) -> tuple[Check, ...]:
    """The staged checks of a build that was just hashed whole, if all are recorded and passed; the fraction has a parameter."""
    names = set(STAGED_CHECKS) - {"quarantine_fraction"}
    checks = tuple(check for check in registry.checks_of(home, STAGED, id) if check.name in names and check.passed)
    return checks if {check.name for check in checks} == names else ()


def open_taken(home: Home, row: DayRow) -> Archive:
    """The day's recorded archive; raises :class:`IntegrityError` if its bytes are not those that were recorded."""
    archive = open_archive(home.root / row.archive_path)
    if archive.sha256 != row.archive_sha256:
        archive.close()
        raise IntegrityError(f"{archive.path} has SHA-256 {archive.sha256[:12]}, the catalog {row.archive_sha256[:12]}")
    return archive


def _write(home: Home, archive: Archive, day: str, manifest: Manifest, workers: int, would_ko: WouldKo | None) -> Path:
    workshop = temporary_beside(home.staging / day / manifest.id)
    make_directory(workshop)
    try:
        written = write_day(archive, day, workshop, workers)
        with catalog(home) as connection:
            check_conflicts(connection, day, written.records)
        facts = written.facts
        if would_ko is not None:
            _, decks = read_episodes(workshop)
            cache = home.root / "cache" / "would_ko"
            facts |= {"would_ko": compute_would_ko(archive, decks, would_ko, workshop, cache, workers)}
        manifest = replace(manifest, files=hash_files(workshop), facts=facts)
        write_manifest(workshop, manifest)
        # Named by build and content, which is known only now: other code that gives the same rows is another directory.
        path = home.staging / day / sha256_bytes(f"{manifest.id} {manifest.content}".encode())[:12]
        if not path.exists():
            publish(workshop, path)
    finally:
        shutil.rmtree(workshop, ignore_errors=True)
    return path


def _record(
    home: Home, day: str, path: Path, manifest: Manifest, records: Sequence[EpisodeRecord], decks: dict[str, list[int]]
) -> None:
    record = dataset_record(home, day, path, manifest)
    with catalog(home) as connection, transaction(connection):
        record_episodes(connection, day, records, decks)
        stage(connection, record)
        registry.register_in(connection, home, as_staged(manifest), path)


def _facts(path: Path, manifest: Manifest, seconds: float) -> dict[str, Any]:
    facts, size = manifest.facts, (path / ROWS).stat().st_size
    rows = max(facts["rows"], 1)
    return {
        **facts,
        "bytes": size,
        "bytes_per_row": round(size / rows, 1),
        "decoded_bytes_per_row": round(facts["decoded_bytes"] / rows, 1),
        "seconds": round(seconds, 2),
        "sha256": manifest.files[ROWS],
    }
