"""Are the bytes on disk still those that were recorded? Hashes are remembered by size, time and inode."""

import sqlite3
from pathlib import Path

from tcg_core.atomic import sha256_file
from tcg_core.catalog.errors import DatasetChanged

_HASHED_HERE: dict[tuple[str, int, int, int], str] = {}


def remember(connection: sqlite3.Connection, path: Path, relative: str, sha256: str) -> None:
    """Records that the file at ``path`` was read whole and has this hash."""
    stat = path.stat()
    connection.execute(
        "INSERT OR REPLACE INTO verified_files VALUES (?, ?, ?, ?, ?)",
        (relative, stat.st_size, stat.st_mtime_ns, stat.st_ino, sha256),
    )


def require_file(
    connection: sqlite3.Connection, path: Path, relative: str, sha256: str, size: int, what: str, full: bool = False
) -> None:
    """Raises :class:`DatasetChanged` naming ``what`` and the file if it is missing or has another size or hash.

    The file is hashed if its size, time or inode are not those of the last verification, and with ``full`` at least
    once in this process.
    """
    try:
        stat = path.stat()
    except FileNotFoundError:
        raise DatasetChanged(f"{what}: {path} is missing") from None
    if stat.st_size != size:
        raise DatasetChanged(f"{what}: {path} has {stat.st_size} bytes, expected {size}")
    key = (str(path), stat.st_size, stat.st_mtime_ns, stat.st_ino)
    row = connection.execute("SELECT * FROM verified_files WHERE path = ?", (relative,)).fetchone()
    known = row and (row["bytes"], row["mtime_ns"], row["inode"]) == key[1:] and row["sha256"] == sha256
    if known and (not full or _HASHED_HERE.get(key) == sha256):
        return
    found = sha256_file(path)
    if found != sha256:
        raise DatasetChanged(f"{what}: {path} has SHA-256 {found[:12]}, expected {sha256[:12]}")
    _HASHED_HERE[key] = found
    if not known:
        remember(connection, path, relative, found)
