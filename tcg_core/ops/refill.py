"""Fills an empty catalog from the files of a home: days, builds, episodes, proofs, artifacts, checks, promotions.

Manifests, records of checks and the archives' directories are read; rows and archives are not hashed, that is `tcg day verify`.
"""

import json
import logging
import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from tcg_core.base.atomic import is_hidden
from tcg_core.base.digest import sha256_file
from tcg_core.base.errors import IntegrityError, TcgError
from tcg_core.base.home import Home, parse_day
from tcg_core.base.manifest import MANIFEST, RECORDED, Key, Manifest, read_manifest
from tcg_core.catalog.connection import as_time, transaction
from tcg_core.catalog.datasets import put
from tcg_core.catalog.days import record_archive, record_episodes, record_names
from tcg_core.catalog.kinds import DAY, STAGED, archive_manifest, as_staged
from tcg_core.catalog.promotions import restore_promotions
from tcg_core.catalog.records import EpisodeRecord
from tcg_core.catalog.registry import RecordedChecks, checks_on_disk, insert_checks, register_in, relative
from tcg_core.days.evidence import restore_proofs
from tcg_core.days.history import Build, decision_about, states_of
from tcg_core.days.layout import EPISODES, dataset_record, read_episodes
from tcg_core.lineage.graph import registered
from tcg_core.lineage.imported import recorded_elsewhere
from tcg_core.ops.orphans import places
from tcg_core.replay.archive import open_archive

LOG = logging.getLogger("tcg")
#: Of a day's builds the first in this order says which episodes the day has; all builds of one archive agree on them.
_SPEAKS = ("validated", "excluded", "damaged", "superseded", "staged", "failed")


@dataclass(frozen=True)
class _Found:
    """An artifact on disk, as the registry is told of it. at: when its checks were recorded, or else when it was made (UTC)."""

    manifest: Manifest
    path: Path
    content: str
    recorded: RecordedChecks | None
    at: str


@dataclass
class Refill:
    """One filling. problems: what lies there and could not be used, and why; missing: what something names and is not there."""

    home: Home
    connection: sqlite3.Connection
    problems: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    _found: list[_Found] = field(default_factory=list)
    _builds: list[Build] = field(default_factory=list)
    _speakers: list[tuple[str, list[Build]]] = field(default_factory=list)

    def run(self) -> None:
        """Fills the catalog. Raises :class:`TcgError` for promotions that cannot be read: who is champion is never guessed."""
        builds: dict[str, list[Path]] = {path.parent.name: [] for path in self.home.archives.glob("*/[!.]*.zip")}
        for path, day in places(self.home):
            if is_hidden(path.name) or path.suffix == ".running":
                continue
            if day:
                builds.setdefault(day, []).append(path)
            else:
                self._artifact(path)
        for day, paths in sorted(builds.items()):
            try:
                self._day(parse_day(day), paths)
            except (TcgError, OSError, sqlite3.IntegrityError) as error:
                self.problems.append(f"day {day} is not brought back: {error}")
        # Agents are numbered as they come: in the order in which all builds were made, those that were superseded too.
        for build in sorted(self._builds, key=lambda item: (item.staged.at if item.staged else item.made_at, item.record.day)):
            self._names(build)
        for day, speakers in self._speakers:
            self._episodes(day, speakers)
        with transaction(self.connection):
            self.problems += restore_proofs(self.connection, self.home)[1]
        self._register()
        self._name_missing()

    def _artifact(self, path: Path) -> None:
        if not (path / MANIFEST).is_file():
            if path.parent != self.home.checkpoints:  # a run without a manifest has not ended
                self.problems.append(f"{path} has no {MANIFEST}")
            return
        try:
            manifest = read_manifest(path)
        except IntegrityError as error:
            self.problems.append(str(error))
        else:
            self._find(manifest, path, manifest.content, made_at(path))

    def _find(self, manifest: Manifest, path: Path, content: str, made: str) -> RecordedChecks | None:
        """Notes an artifact for the registry; returns its recorded checks, if they are of this content."""
        recorded = self._checks(*manifest.key, content)
        self._found.append(_Found(manifest, path, content, recorded, recorded.at if recorded else made))
        return recorded

    def _checks(self, kind: str, id: str, content: str) -> RecordedChecks | None:
        try:
            recorded = checks_on_disk(self.home, kind, id)
        except IntegrityError as error:
            self.problems.append(str(error))
            return None
        return recorded if recorded and recorded.content == content else None

    def _day(self, day: str, paths: Iterable[Path]) -> None:
        # A build that lies in both places was found damaged below days/ and made again: staging, which comes first, has it now.
        unique: dict[str, Build] = {}
        for found in (self._build(day, path) for path in paths):
            if found:
                unique.setdefault(found.record.dataset_id, found)
        builds = list(unique.values())
        path, taken_at = self._archive(day)
        with open_archive(path) as archive, transaction(self.connection):
            place, size = relative(self.home, path), path.stat().st_size
            record_archive(self.connection, day, path.stem, place, size, len(archive.members), archive.directory_digest)
            self.connection.execute("UPDATE days SET taken_at = ? WHERE day = ?", (taken_at, day))
            states = states_of(builds, path.stem, decision_about(self.home, day))
            for build in builds:
                state = states[build.record.dataset_id]
                put(self.connection, build.record, state.state, state.reason, build.made_at, state.at)
        self._builds += builds
        speakers = sorted(builds, key=lambda build: build.made_at, reverse=True)
        speakers = [build for build in speakers if build.record.archive_sha256 == path.stem]
        if speakers:
            self._speakers.append((day, sorted(speakers, key=lambda b: _SPEAKS.index(states[b.record.dataset_id].state))))

    def _archive(self, day: str) -> tuple[Path, str]:
        """The archive of the day that was taken last, and when; all are noted."""
        taken = []
        for path in sorted((self.home.archives / day).glob("[!.]*.zip")):
            recorded = self._find(archive_manifest(path.stem, path.name), path, path.stem, as_time(path.stat().st_mtime))
            taken.append((recorded.at if recorded else as_time(path.stat().st_mtime), path))
        if not taken:
            raise IntegrityError(f"its archive is not in {self.home.archives / day}; put {day}.zip into {self.home.inbox}")
        at, path = max(taken)
        if len(taken) > 1:
            self.problems.append(f"day {day} has {len(taken)} archives: {path.name} is taken for the present one, by its time")
        return path, at

    def _build(self, day: str, path: Path) -> Build | None:
        try:
            manifest = read_manifest(path)
            record = dataset_record(self.home, day, path, manifest)
        except IntegrityError as error:
            self.problems.append(str(error))
            return None
        below_days, made = path.is_relative_to(self.home.days), made_at(path)
        staged, promoted = (self._checks(kind, manifest.id, manifest.content) for kind in (STAGED, DAY))
        if staged or not below_days:
            self._find(as_staged(manifest), path, manifest.content, made)
        if below_days and promoted:
            self._find(manifest, path, manifest.content, made)
        elif below_days:
            self.problems.append(f"day {day}: {path} was never promoted whole, it is staged: `tcg day build {day}` finishes it")
        return Build(record, below_days, staged, promoted, made)

    def _names(self, build: Build) -> None:
        try:
            records, decks = self._read(build)
            with transaction(self.connection):
                record_names(self.connection, records, decks)
        except (IntegrityError, OSError, LookupError) as error:
            self.problems.append(f"day {build.record.day}: {build.record.path} does not say which episodes it has: {error}")

    def _episodes(self, day: str, speakers: Iterable[Build]) -> None:
        """The day's episodes from the first build that says them."""
        for build in speakers:
            try:
                records, decks = self._read(build)
                with transaction(self.connection):
                    record_episodes(self.connection, day, records, decks)
                    self.connection.execute("UPDATE days SET cataloged_at = ? WHERE day = ?", (build.made_at, day))
                return
            except (TcgError, OSError, LookupError, sqlite3.IntegrityError) as error:
                LOG.info("%s: %s", build.record.path, error)
        self.problems.append(f"day {day}: its episodes are not brought back: no build says them; `tcg day build {day}` does")

    def _read(self, build: Build) -> tuple[list[EpisodeRecord], dict[str, list[int]]]:
        path = self.home.root / build.record.path
        if sha256_file(path / EPISODES) != read_manifest(path).files.get(EPISODES):
            raise IntegrityError(f"{path / EPISODES} is not what its manifest lists")
        return read_episodes(path)

    def _register(self) -> None:
        with transaction(self.connection):
            for item in sorted(self._found, key=lambda item: (item.at, str(item.path), item.manifest.kind)):
                register_in(self.connection, self.home, item.manifest, item.path, item.content, item.at)
                if item.recorded:
                    insert_checks(self.connection, *item.manifest.key, item.recorded.checks, item.recorded.at)
            restore_promotions(self.connection, self.home)

    def _name_missing(self) -> None:
        known: set[Key] = {(row["kind"], row["id"]) for row in self.connection.execute("SELECT kind, id FROM artifacts")}
        elsewhere = recorded_elsewhere(self.home)
        users: dict[Key, list[str]] = {}
        for key, items in registered(self.connection).inputs.items():
            for item in items:
                if item.key not in known and item.key not in elsewhere:
                    users.setdefault(item.key, []).append(" ".join(key))
        for (kind, id), made in sorted(users.items()):
            more = f" and {len(made) - 1} more" if len(made) > 1 else ""
            self.missing.append(f"{kind} {id} is not on disk; {made[0]}{more} was made from it")
        for path in sorted((self.home.root / "checks").glob("*/[!.]*.json")):
            if (path.parent.name, path.stem) not in known and (path.parent.name, path.stem) not in users:
                self.missing.append(f"{path.parent.name} {path.stem} is not on disk; its checks are on record")


def made_at(path: Path) -> str:
    """When an artifact was made (UTC): by its ``recorded.json``, else by the time of its manifest's file."""
    try:
        return as_time(datetime.fromisoformat(json.loads((path / RECORDED).read_text())["at"]).timestamp())
    except (OSError, ValueError, KeyError, TypeError):
        return as_time((path / MANIFEST).stat().st_mtime)
