"""Builds a day: one pass over its archive fills the staging area and the catalog; then what lies on disk is checked."""

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from tcg_core.base.atomic import discard
from tcg_core.base.built import Built
from tcg_core.base.checks import Check
from tcg_core.base.digest import sha256_bytes
from tcg_core.base.errors import IntegrityError
from tcg_core.base.home import Home, parse_day
from tcg_core.base.manifest import MANIFEST, Input, Manifest, read_manifest, verify_files
from tcg_core.base.stage import Made, Stage, finish, make, standing
from tcg_core.catalog import registry
from tcg_core.catalog.connection import catalog, transaction
from tcg_core.catalog.datasets import dataset, datasets_of, mark, stage
from tcg_core.catalog.days import DayRow, check_conflicts, day_row, record_episodes
from tcg_core.catalog.kinds import ARCHIVE, DAY, as_staged
from tcg_core.catalog.proofs import of_other_code
from tcg_core.catalog.records import EpisodeRecord
from tcg_core.days.checks.quarantine import MAX_QUARANTINE_FRAC, quarantine_fraction
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
        config: dict[str, Any] = {"day": day, "schema": SCHEMA.digest}
        if would_ko is not None:
            config["would_ko"] = described(would_ko)
        inputs = (Input(ARCHIVE, row.archive_sha256[:16], row.archive_sha256),)
        stage = Stage.of("staged_day", DAY, home.staging / day, inputs, config)
        made = find_build(home, day, stage.id) or proven_build(home, day, stage)
        if made is None:
            made = make(stage, lambda directory: _write(home, archive, day, directory, workers, would_ko), _place(stage))
        id, path, registrar = made.manifest.id, made.path, registry.HomeRegistrar(home)
        staged = replace(made, manifest=as_staged(made.manifest))
        records, decks = read_episodes(path)
        _record(home, day, path, made.manifest, records, decks)
        write_quarantine(home.quarantine / f"{day}.jsonl", records)

        def checks() -> tuple[Check, ...]:
            known = standing(registrar, staged, set(STAGED_CHECKS) - {"quarantine_fraction"})
            found = (
                (*known, quarantine_fraction(records, max_quarantine_frac))
                if known
                else staged_checks(path, day, records, max_quarantine_frac)
            )
            with catalog(home) as connection:
                found += catalog_checks(connection, day, archive)
                failed = [check.name for check in found if check.blocks]
                with transaction(connection):
                    if failed and dataset(connection, day, id).state == "staged":
                        mark(connection, day, id, "failed", f"check {', '.join(failed)} failed")
            return found

        plots = {"shape": path / SHAPE}
        built = finish(registrar, staged, checks, {}, plots)
    return replace(built, facts=_facts(path, made.manifest, time.monotonic() - started))


def find_build(home: Home, day: str, id: str) -> Made | None:
    """The intact build, promoted or staged, looked for by its manifest as its directory is named by content too.

    A damaged one in staging is removed; one in ``days/`` stays, as runs may be reading it, and is made again in staging.
    """
    for root in (home.days, home.staging):
        for file in sorted((root / day).glob(f"*/{MANIFEST}")):
            if file.parent.name.startswith("."):
                continue
            try:
                if read_manifest(file.parent).id == id:
                    return Made(verify_files(file.parent), file.parent, True)
            except IntegrityError:
                if root == home.staging:
                    discard(file.parent)
    return None


def proven_build(home: Home, day: str, stage: Stage) -> Made | None:
    """The intact build that is proven equal under the stage's code, made of the same inputs and configuration."""
    with catalog(home) as connection:
        other = of_other_code(connection, stage.code)
        rows = [row for row in datasets_of(connection, day) if (day, row.dataset_id) not in other]
    for row in rows:
        directory = home.root / row.path
        try:
            manifest = read_manifest(directory)
            if (manifest.inputs, manifest.config) == (stage.inputs, stage.config):
                return Made(verify_files(directory), directory, True)
        except IntegrityError:
            continue
    return None


def _place(stage: Stage) -> Callable[[Manifest], Path]:
    """A day's directory is named by build and content: other code that gives the same rows is another directory."""
    return lambda manifest: stage.path.with_name(sha256_bytes(f"{manifest.id} {manifest.content}".encode())[:12])


def open_taken(home: Home, row: DayRow) -> Archive:
    """The day's recorded archive; raises :class:`IntegrityError` if its bytes are not those that were recorded."""
    archive = open_archive(home.root / row.archive_path)
    if archive.sha256 != row.archive_sha256:
        archive.close()
        raise IntegrityError(f"{archive.path} has SHA-256 {archive.sha256[:12]}, the catalog {row.archive_sha256[:12]}")
    return archive


def _write(home: Home, archive: Archive, day: str, directory: Path, workers: int, would_ko: WouldKo | None) -> dict[str, Any]:
    """All files of the day; returns its facts. Nothing is published if another day holds one of its episodes."""
    written = write_day(archive, day, directory, workers)
    with catalog(home) as connection:
        check_conflicts(connection, day, written.records)
    if would_ko is None:
        return written.facts
    records, decks = read_episodes(directory)
    used = {record.episode_id for record in records if record.status == "rows" and record.episode_id is not None}
    cache = home.root / "cache" / "would_ko"
    return written.facts | {"would_ko": compute_would_ko(archive, decks, would_ko, directory, cache, workers, used)}


def _record(
    home: Home, day: str, path: Path, manifest: Manifest, records: Sequence[EpisodeRecord], decks: dict[str, list[int]]
) -> None:
    record = dataset_record(home, day, path, manifest)
    with catalog(home) as connection, transaction(connection):
        record_episodes(connection, day, records, decks)
        stage(connection, record)


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
