"""`tcg backup`: a consistent copy of a data home, each content once, verified by hash. Killed anywhere, it continues.

The catalog is copied first and artifacts are published before they are registered, so whatever the copied catalog names is
there to be copied after it. Nothing needs to be stopped.
"""

import json
import logging
import shutil
from dataclasses import dataclass
from pathlib import Path

from tcg_core.base.atomic import make_directory, sweep
from tcg_core.base.digest import sha256_file
from tcg_core.base.errors import IntegrityError
from tcg_core.base.home import Home
from tcg_core.ops.errors import BackupError
from tcg_core.ops.listing import is_database, known_hashes, list_home, walk, wanted
from tcg_core.ops.lock import ops_lock
from tcg_core.ops.objects import Store, Stored
from tcg_core.ops.record import RECORDS, BackupEntry, BackupRecord, names_of, read_record, stamp, write_record

LOG = logging.getLogger("tcg")
#: A training run that goes on while it is copied is read again this often until its pointers name what was copied.
_TRIES = 5
_SPARE_BYTES = 64 << 20


@dataclass(frozen=True)
class BackedUp:
    """A finished backup: its record, and how much of it was new."""

    record: BackupRecord
    path: Path
    copied: int
    copied_bytes: int


def backup(home: Home, destination: Path) -> BackedUp:
    """Copies the home to ``destination``, which may hold earlier backups; what it holds already is not copied again.

    A damaged file of the home is left out unless the store has its true content, and is named in the record. Raises
    :class:`BackupError` for a destination that cannot serve, :class:`OpsBusy` beside another backup or clean-up.
    """
    _require_apart(home, destination)
    make_directory(destination)
    with ops_lock(home.root, "backup"), ops_lock(destination, "backup"):
        sweep(destination)
        return _Copying(home, destination).run()


def check_backup(destination: Path, name: str = "") -> BackupRecord:
    """Reads every object of a backup again; raises :class:`BackupError` naming the first that is missing or damaged."""
    record, store = read_record(destination, name), Store(destination)
    for sha256 in sorted({entry.sha256 for entry in record.entries}):
        path = store.path_of(sha256)
        found = sha256_file(path) if path.is_file() else "absent"
        if found != sha256:
            raise BackupError(f"{path} is damaged: expected SHA-256 {sha256[:12]}, found {found[:12]}")
    return record


def prune(destination: Path, keep: int) -> tuple[list[str], int]:
    """Forgets all but the last ``keep`` backups and removes what only they held. Returns their names and the bytes freed.

    Raises :class:`BackupError` for fewer than one.
    """
    if keep < 1:
        raise BackupError(f"keep {keep}: at least one backup stays")
    with ops_lock(destination, "prune"):
        gone = names_of(destination)[:-keep]
        for name in gone:
            (destination / RECORDS / f"{name}.json").unlink()
        needed = {entry.sha256 for name in names_of(destination) for entry in read_record(destination, name).entries}
        store, freed = Store(destination), 0
        for sha256 in store.names():
            if sha256 not in needed:
                path = store.path_of(sha256)
                freed += path.stat().st_size
                path.unlink()
        return gone, freed


def _require_apart(home: Home, destination: Path) -> None:
    here, there = home.root.resolve(), destination.resolve()
    if there.is_relative_to(here) or here.is_relative_to(there):
        raise BackupError(f"backup {destination} and data home {home.root} lie within each other: choose another directory")
    if destination.is_dir():
        strangers = sorted(p.name for p in destination.iterdir() if p.name not in ("objects", RECORDS, "ops.lock"))
        if strangers and not names_of(destination):
            raise BackupError(f"{destination} holds {strangers[0]}, which is no backup: choose an empty directory")


class _Copying:
    """One backup under way."""

    def __init__(self, home: Home, destination: Path) -> None:
        self.home, self.destination = home, destination
        self.store = Store(destination)
        self.entries: dict[str, BackupEntry] = {}
        self.damaged: list[str] = []
        self.copied = self.copied_bytes = 0

    def run(self) -> BackedUp:
        made_at = stamp()
        if self.home.catalog.is_file():
            # The one file without which the rest is a heap: if it is damaged there is no backup.
            self._note(self.home.catalog, self.store.put_database(self.home.catalog))
        listing, known = list_home(self.home), known_hashes(self.home.root)
        self._require_space(listing.files, known)
        for name in (*listing.databases, *listing.files):
            if name != self.home.catalog.name:
                self._take(name, known.get(name))
        for run in listing.runs:
            self._take_run(run)
        record = BackupRecord(made_at, tuple(self.entries[name] for name in sorted(self.entries)), tuple(self.damaged))
        path = write_record(self.destination, record)
        return BackedUp(record, path, self.copied, self.copied_bytes)

    def _take(self, name: str, expected: str | None) -> bool:
        """Stores one file; False if it is gone."""
        path = self.home.root / name
        try:
            stored = self.store.put_database(path) if is_database(path) else self.store.put(path, expected)
            self._note(path, stored)
        except FileNotFoundError:
            LOG.info("%s went while it was backed up", name)
            return False
        except IntegrityError as error:
            if expected and self.store.path_of(expected).is_file():
                size = self.store.path_of(expected).stat().st_size
                self.entries[name] = BackupEntry(name, expected, size, path.stat().st_mtime_ns)
                self.damaged.append(f"{error} (the backup has it as it was)")
            else:
                self.damaged.append(str(error))
        return True

    def _take_run(self, run: str) -> None:
        for _ in range(_TRIES):
            for name in [name for name in self.entries if name.startswith(f"{run}/")]:
                del self.entries[name]
            files = sorted(walk(self.home.root / run), key=lambda p: (p.parent == self.home.root / run, str(p)))
            names = [path.relative_to(self.home.root).as_posix() for path in files]
            known = {f"{run}/{name}": sha256 for name, sha256 in known_hashes(self.home.root / run).items()}
            taken = [self._take(name, known.get(name)) for name in names if wanted(name)]
            if all(taken) and self._pointers_hold(run):
                return
        self.damaged.append(f"{run} changed {_TRIES} times while it was copied: back it up again when it pauses")

    def _pointers_hold(self, run: str) -> bool:
        """True if each copied pointer names a directory that was copied whole."""
        for name, entry in self.entries.items():
            if name.rsplit("/", 1)[0] == run and name.endswith(".json"):
                values = json.loads(self.store.path_of(entry.sha256).read_text())
                if isinstance(values, dict) and "path" in values and f"{run}/{values['path']}/manifest.json" not in self.entries:
                    return False
        return True

    def _note(self, path: Path, stored: Stored) -> None:
        name = path.relative_to(self.home.root).as_posix()
        self.entries[name] = BackupEntry(name, stored.sha256, stored.bytes, path.stat().st_mtime_ns)
        if stored.copied:
            self.copied += 1
            self.copied_bytes += stored.bytes

    def _require_space(self, files: tuple[str, ...], known: dict[str, str]) -> None:
        needed = _SPARE_BYTES
        for name in files:
            if name not in known or not self.store.path_of(known[name]).is_file():
                path = self.home.root / name
                needed += path.stat().st_size if path.is_file() else 0
        free = shutil.disk_usage(self.destination).free
        if free < needed:
            raise BackupError(f"{self.destination} has {free >> 20} MiB free, the backup needs up to {needed >> 20} MiB")
