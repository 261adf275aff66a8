"""Everything that is written is written here: temporary name, flush, rename, flush of the directory.

A reader therefore sees the old file, the new file or none, never half of one; a killed writer leaves only a
temporary name (``TEMP_PREFIX``), which goes when its place is written again, or by :func:`sweep`. When a call returns, its
result outlives a loss of power.
"""

import errno
import json
import os
import shutil
import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tcg_core.base.errors import TcgError

OUTSIDE_IDENTITY = "how bytes come to lie on a disk changes none of them"

TEMP_PREFIX = ".tmp-"
#: A damaged directory that was set aside: nothing reads it, a clean-up removes it after a while.
ASIDE_PREFIX = ".damaged-"
#: Directories in which this process removed what dead writers left.
_SWEPT: set[Path] = set()
#: The system says these of a write, and never which file it was.
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


class NotWritten(TcgError):
    """A file that could not be written whole, as on a full disk; nothing of it was published."""


def temporary_beside(path: Path) -> Path:
    """A fresh temporary name in the directory of ``path``; it carries our process id, so that a sweep can spare the living."""
    return path.with_name(f"{TEMP_PREFIX}{os.getpid()}-{uuid.uuid4().hex[:8]}-{path.name}")


def _flush_directory(path: Path) -> None:
    """A name in a directory (a rename, a new file) is durable only after this."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _flush_file(path: Path) -> None:
    with path.open("rb") as file:
        os.fsync(file.fileno())


def _flush(path: Path) -> None:
    """A file, or a directory with all that is in it."""
    if not path.is_dir():
        _flush_file(path)
        return
    for entry in path.iterdir():
        _flush(entry)
    _flush_directory(path)


def make_directory(path: Path) -> None:
    """Makes ``path`` and the parents that are missing, each durable; nothing happens if it is there."""
    if not path.is_dir():
        make_directory(path.parent)
        path.mkdir(exist_ok=True)
        _flush_directory(path.parent)


@contextmanager
def naming(path: Path, *kinds: type[Exception]) -> Iterator[None]:
    """Raises :class:`NotWritten` with the name of ``path`` for a write that found no room: a full disk, a quota, a size limit.

    kinds: what a library raises instead of OSError when it cannot write.
    """
    try:
        yield
    except OSError as error:
        if error.errno not in _NO_ROOM:
            raise
        raise NotWritten(f"{path} could not be written: {os.strerror(error.errno)}") from error
    except kinds as error:
        raise NotWritten(f"{path} could not be written: {error}") from error


def publish(temporary: Path, path: Path) -> None:
    """Renames a file or directory that is complete to ``path``, on the same disk: flushed, renamed, the new name flushed."""
    with naming(path):
        _flush(temporary)
        temporary.replace(path)
        _flush_directory(path.parent)


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yields a temporary path to write; on success it is flushed and renamed to ``path``, on error it is removed."""
    make_directory(path.parent)
    temporary = temporary_beside(path)
    try:
        with naming(path):
            yield temporary
            publish(temporary, path)
        _sweep_beside(path)
    finally:
        temporary.unlink(missing_ok=True)


def write_bytes(path: Path, data: bytes) -> None:
    """Writes a whole file atomically."""
    with replacing(path) as temporary:
        temporary.write_bytes(data)


def write_json(path: Path, value: Any) -> None:
    """Writes readable JSON atomically (two blanks, sorted keys, a newline at the end)."""
    write_bytes(path, (json.dumps(value, sort_keys=True, indent=2, ensure_ascii=False, allow_nan=False) + "\n").encode())


@contextmanager
def publishing(directory: Path, place: Callable[[Path], Path] | None = None) -> Iterator[Path]:
    """Yields a temporary directory; on success all its files are flushed and it is renamed to ``directory``.

    An existing ``directory`` is left as it is (published artifacts are immutable and named by content) and the new
    one is dropped. place: says of what was written where it goes, beside ``directory``, if its name follows from its content.
    """
    make_directory(directory.parent)
    temporary = temporary_beside(directory)
    temporary.mkdir()
    try:
        with naming(directory):
            yield temporary
            target = place(temporary) if place else directory
            if not target.exists():
                publish(temporary, target)
        _sweep_beside(target)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def move(source: Path, target: Path) -> None:
    """Moves a file or directory to ``target``, whose missing parents are made; a file also from another disk, by a copy.

    After a loss of power it is at one of the two places, whole, or at both.
    """
    make_directory(target.parent)
    try:
        publish(source, target)
    except OSError as error:
        if error.errno != errno.EXDEV or source.is_dir():
            raise
        with replacing(target) as temporary:
            shutil.copyfile(source, temporary)
        source.unlink()
    _flush_directory(source.parent)


def discard(directory: Path) -> None:
    """Removes a published directory at once for every reader: renamed first, then deleted. Nothing happens if it is not there.

    The rename is durable before the first file goes, so that no half of it comes back.
    """
    if directory.is_dir():
        aside = temporary_beside(directory)
        directory.rename(aside)
        _flush_directory(directory.parent)
        shutil.rmtree(aside)


def set_aside(directory: Path) -> Path:
    """Moves a damaged directory out of every reader's way, beside its place and with all that is in it; returns where it is."""
    aside = directory.with_name(f"{ASIDE_PREFIX}{uuid.uuid4().hex[:8]}-{directory.name}")
    directory.rename(aside)
    _flush_directory(directory.parent)
    return aside


def is_hidden(name: str) -> bool:
    """True for what no reader takes for an artifact or a file of one: a writer's temporary, or what was set aside."""
    return name.startswith((TEMP_PREFIX, ASIDE_PREFIX))


def _sweep_beside(path: Path) -> None:
    """Removes what killed writers left beside ``path``, once a process and directory: the command that succeeds leaves none."""
    if path.parent not in _SWEPT:
        _SWEPT.add(path.parent)
        _remove_dead(path.parent.glob(f"{TEMP_PREFIX}*"))


def sweep(root: Path) -> list[Path]:
    """Removes the temporaries of processes that no longer live, below ``root``; returns what went."""
    return _remove_dead(root.rglob(f"{TEMP_PREFIX}*"))


def _remove_dead(found: Iterable[Path]) -> list[Path]:
    removed = []
    for path in sorted(found):
        if not path.exists() or _owner_lives(path.name):
            continue
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)
        removed.append(path)
    return removed


def _owner_lives(name: str) -> bool:
    owner = name.removeprefix(TEMP_PREFIX).split("-", 1)[0]
    if not owner.isdigit():
        return False
    try:
        os.kill(int(owner), 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
