"""The content-addressed store of a backup: ``objects/ab/<sha256>``, each content once, never changed."""

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from tcg_core.base.atomic import TEMP_PREFIX, make_directory, publish, temporary_beside
from tcg_core.base.digest import sha256_file
from tcg_core.base.errors import IntegrityError
from tcg_core.ops.errors import BackupError


@dataclass(frozen=True)
class Stored:
    """A content in the store. ``copied``: false if it was there already."""

    sha256: str
    bytes: int
    copied: bool


class Store:
    """The objects below a directory."""

    def __init__(self, root: Path) -> None:
        self.root = root / "objects"

    def path_of(self, sha256: str) -> Path:
        """Where an object lies or would lie."""
        return self.root / sha256[:2] / sha256

    def put(self, source: Path, expected: str | None) -> Stored:
        """Stores a file; what was written is read again for its hash.

        ``expected``: its hash, if known; such an object that is there already is not read. Raises :class:`IntegrityError`
        naming a file whose content is not the expected one.
        """
        size = source.stat().st_size
        if expected and (known := self.path_of(expected)).is_file():
            if known.stat().st_size != size:
                raise IntegrityError(f"{source} has {size} bytes, expected {known.stat().st_size}")
            return Stored(expected, size, False)
        temporary = self._temporary()
        try:
            shutil.copyfile(source, temporary)
            found = sha256_file(temporary)
            if expected and found != expected:
                raise IntegrityError(f"{source}: expected SHA-256 {expected[:12]}, found {found[:12]}")
            return self._keep(temporary, found)
        finally:
            temporary.unlink(missing_ok=True)

    def put_database(self, source: Path) -> Stored:
        """Stores a consistent copy of an SQLite file that others write to; raises :class:`IntegrityError` for a damaged one."""
        # Beside the source: SQLite needs a local disk, the store may be on a network share.
        temporary = temporary_beside(source)
        try:
            copy_database(source, temporary)
            return self.put(temporary, None)
        finally:
            temporary.unlink(missing_ok=True)

    def get(self, sha256: str, target: Path) -> None:
        """Copies an object to ``target``; raises :class:`BackupError` if it is missing or not what its name says."""
        source = self.path_of(sha256)
        if not source.is_file():
            raise BackupError(f"{source} is missing from the backup")
        shutil.copyfile(source, target)
        found = sha256_file(target)
        if found != sha256:
            raise BackupError(f"{source} is damaged: its content has SHA-256 {found[:12]}, expected {sha256[:12]}")

    def names(self) -> Iterator[str]:
        """Hashes of all objects."""
        for path in sorted(self.root.glob("??/*")):
            if not path.name.startswith(TEMP_PREFIX):
                yield path.name

    def _temporary(self) -> Path:
        make_directory(self.root)
        return temporary_beside(self.root / "object")

    def _keep(self, temporary: Path, sha256: str) -> Stored:
        target, size = self.path_of(sha256), temporary.stat().st_size
        if target.is_file():
            return Stored(sha256, size, False)
        make_directory(target.parent)
        publish(temporary, target)
        return Stored(sha256, size, True)


def copy_database(source: Path, target: Path) -> None:
    """SQLite's own online copy, checked; the source stays usable by its writers."""
    try:
        with (
            closing(sqlite3.connect(f"{source.absolute().as_uri()}?mode=rw", uri=True, timeout=30.0)) as here,
            closing(sqlite3.connect(target)) as there,
        ):
            here.backup(there)
            there.execute("PRAGMA journal_mode = DELETE")
            told = there.execute("PRAGMA quick_check").fetchone()[0]
    except sqlite3.DatabaseError as error:
        raise IntegrityError(f"{source} cannot be copied: {error}") from None
    if told != "ok":
        raise IntegrityError(f"{source} is damaged: {told}")
