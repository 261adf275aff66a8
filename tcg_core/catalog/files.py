"""Are the bytes on disk still those that were recorded? Hashes are remembered by size, time and inode."""

import sqlite3
from collections.abc import Mapping
from pathlib import Path

from tcg_core.base.digest import sha256_file
from tcg_core.catalog.errors import DatasetChanged

#: (bytes, mtime_ns, inode, SHA-256) of a file as it was last verified.
Verified = tuple[int, int, int, str]
_HASHED_HERE: dict[tuple[str, int, int, int], str] = {}


def remember(connection: sqlite3.Connection, path: Path, relative: str, sha256: str) -> None:
    """Records that the file at ``path`` was read whole and has this hash."""
    stat = path.stat()
    connection.execute(
        "INSERT OR REPLACE INTO verified_files VALUES (?, ?, ?, ?, ?)",
        (relative, stat.st_size, stat.st_mtime_ns, stat.st_ino, sha256),
    )


def verified(connection: sqlite3.Connection) -> dict[str, Verified]:
    """Every file that was verified, by relative path: for those who require many."""
    query = "SELECT path, bytes, mtime_ns, inode, sha256 FROM verified_files"
    return {path: (size, mtime, inode, sha256) for path, size, mtime, inode, sha256 in connection.execute(query)}


def require_file(
    connection: sqlite3.Connection,
    path: Path,
    relative: str,
    sha256: str,
    size: int,
    what: str,
    full: bool = False,
    known: Mapping[str, Verified] | None = None,
) -> None:
    """Raises :class:`DatasetChanged` naming ``what`` and the file if it is missing or has another size or hash.

    The file is hashed if its size, time or inode are not those of the last verification, and with ``full`` at least
    once in this process. ``known``: :func:`verified`, where the caller has it.
    """
    try:
        stat = path.stat()
    except FileNotFoundError:
        raise DatasetChanged(f"{what}: {path} is missing") from None
    if stat.st_size != size:
        raise DatasetChanged(f"{what}: {path} has {stat.st_size} bytes, expected {size}")
    key = (str(path), stat.st_size, stat.st_mtime_ns, stat.st_ino)
    if known is None:
        query = "SELECT bytes, mtime_ns, inode, sha256 FROM verified_files WHERE path = ?"
        row = connection.execute(query, (relative,)).fetchone()
        last: Verified | None = tuple(row) if row else None
    else:
        last = known.get(relative)
    unchanged = last == (*key[1:], sha256)
    if unchanged and (not full or _HASHED_HERE.get(key) == sha256):
        return
    found = sha256_file(path)
    if found != sha256:
        raise DatasetChanged(f"{what}: {path} has SHA-256 {found[:12]}, expected {sha256[:12]}")
    _HASHED_HERE[key] = found
    if not unchanged:
        remember(connection, path, relative, found)
