"""`tcg restore`: a backup into an empty data home, every file verified by hash. Killed anywhere, it continues."""

import json
import os
from dataclasses import dataclass
from pathlib import Path

from tcg_core.base.atomic import make_directory, replacing, sweep, write_json
from tcg_core.base.digest import sha256_file
from tcg_core.base.home import Home
from tcg_core.catalog.connection import catalog
from tcg_core.ops.errors import BackupError, HomeNotEmpty
from tcg_core.ops.listing import RESTORING, walk
from tcg_core.ops.lock import NAME, ops_lock
from tcg_core.ops.objects import Store
from tcg_core.ops.record import BackupEntry, BackupRecord, read_record


@dataclass(frozen=True)
class Restored:
    """What was restored. ``missing``: artifacts that the restored catalog names and the backup did not hold."""

    record: BackupRecord
    written: int
    missing: tuple[str, ...]


def restore_backup(home: Home, source: Path, name: str = "") -> Restored:
    """Fills the empty ``home`` from a backup, the last or by ``name``; the catalog comes last.

    Refuses (:class:`HomeNotEmpty`) a home that holds any file, except one that a killed restore of the same backup was
    filling. Raises :class:`BackupError` naming an object that is missing or damaged.
    """
    record = read_record(source, name)
    for entry in record.entries:
        _require_inside(home, entry)
    make_directory(home.root)
    with ops_lock(home.root, "restore"):
        _require_empty(home, record)
        write_json(home.root / RESTORING, {"backup": record.name})
        sweep(home.root)
        store, written = Store(source), 0
        for entry in sorted(record.entries, key=lambda entry: (entry.path == home.catalog.name, entry.path)):
            written += _write(home.root / entry.path, entry, store)
        (home.root / RESTORING).unlink()
    return Restored(record, written, _missing(home))


def _require_inside(home: Home, entry: BackupEntry) -> None:
    if not (home.root / entry.path).resolve().is_relative_to(home.root.resolve()):
        raise BackupError(f"the backup names {entry.path}, which lies outside the data home")


def _require_empty(home: Home, record: BackupRecord) -> None:
    marker = home.root / RESTORING
    if marker.is_file():
        begun = json.loads(marker.read_text())["backup"]
        if begun != record.name:
            raise HomeNotEmpty(f"{home.root} is half restored from backup {begun}: finish that one, or empty the directory")
        return
    held = sorted(path.relative_to(home.root).as_posix() for path in walk(home.root) if path.name != NAME)
    if held:
        raise HomeNotEmpty(f"{home.root} is not empty, it holds {held[0]} ({len(held)} files): name an empty one by TCG_DATA")


def _write(target: Path, entry: BackupEntry, store: Store) -> int:
    """Writes one file unless it is there as it should be; 1 if it was written."""
    if target.is_file() and target.stat().st_size == entry.bytes and sha256_file(target) == entry.sha256:
        return 0
    for side in ("-wal", "-shm"):
        # Of a file that something opened in the half restored home: it would be replayed into the restored one.
        target.with_name(target.name + side).unlink(missing_ok=True)
    with replacing(target) as temporary:
        store.get(entry.sha256, temporary)
        # The order in which artifacts were made is told by the times of their files.
        os.utime(temporary, ns=(entry.modified_ns, entry.modified_ns))
    return 1


def _missing(home: Home) -> tuple[str, ...]:
    if not home.catalog.is_file():
        return ()
    with catalog(home) as connection:
        rows = connection.execute("SELECT kind, id, path FROM artifacts ORDER BY sequence").fetchall()
    return tuple(f"{row['kind']} {row['id']}" for row in rows if not (home.root / row["path"]).exists())
