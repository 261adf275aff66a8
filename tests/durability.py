"""Watches the calls that make a write durable: write, fsync of the file, rename, fsync of the directory, in this order.

It models what a loss of power may take: what was written to a file or a directory after its last fsync. A rename before
its content is on the disk, or anything that relies on a name that is not, raises :class:`NotDurable`.
"""

import fcntl
import hashlib
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest


class NotDurable(AssertionError):
    """A loss of power here would leave a name without its content, or lose a name that is relied on."""


class Recorder:
    """What the process asked of the disk below ``root``. events: (call, path); renames: (source, target)."""

    def __init__(self, root: Path) -> None:
        self.root = root.resolve()
        self.renames: list[tuple[str, str]] = []
        self.flushed: dict[int, Any] = {}
        self.pending: dict[Path, str] = {}
        self.aside: list[Path] = []

    def fsync(self, path: Path) -> None:
        """The content of ``path`` as it is at this moment is on the disk."""
        self.flushed[path.stat().st_ino] = _content(path)
        self.pending.pop(path, None)

    def rename(self, source: Path, target: Path) -> None:
        """Called before a rename, with resolved paths."""
        self.rely(f"{target.name} gets its name")
        if self._hidden(target):
            self.aside.append(target)
        else:
            for path in (source, *(source.rglob("*") if source.is_dir() else ())):
                if self.flushed.get(path.stat().st_ino) != _content(path):
                    raise NotDurable(f"{source.name} is renamed to {target.name} before {path.name} is on the disk")
        self.renames.append((str(source.relative_to(self.root)), str(target.relative_to(self.root))))
        self.pending[target.parent] = f"the new name {target.name}"
        if not self._hidden(source):
            self.pending[source.parent] = f"that {source.name} has gone"

    def made(self, directory: Path) -> None:
        """Called after a mkdir."""
        if not self._hidden(directory):
            self.pending[directory.parent] = f"the new directory {directory.name}"

    def removed(self, path: Path) -> None:
        """Called before an unlink or rmdir. A temporary may go at any time, unless it was a published name."""
        if not self._hidden(path) or any(path.is_relative_to(aside) for aside in self.aside):
            self.rely(f"{path.name} is removed")

    def rely(self, why: str) -> None:
        """Raises :class:`NotDurable` if a name is not on the disk yet."""
        for directory, what in self.pending.items():
            if directory.is_dir():
                raise NotDurable(f"{what} in {directory.name} is not on the disk when {why}")

    def _hidden(self, path: Path) -> bool:
        """Temporaries and workshops, which no reader sees."""
        return any(part.startswith(".") for part in path.relative_to(self.root).parts)


def _content(path: Path) -> Any:
    return sorted(entry.name for entry in path.iterdir()) if path.is_dir() else hashlib.sha256(path.read_bytes()).hexdigest()


def _path_of(handle: int) -> Path:
    if sys.platform == "darwin":
        return Path(os.fsdecode(fcntl.fcntl(handle, fcntl.F_GETPATH, bytes(1024)).rstrip(b"\0")))
    return Path(f"/proc/self/fd/{handle}").readlink()


@contextmanager
def watched(root: Path) -> Iterator[Recorder]:
    """Records the calls of this process below ``root``; raises :class:`NotDurable` at the first that comes too early, and at
    the end if a name is not on the disk."""
    recorder = Recorder(root)

    def ours(path: Any, folder: int | None = None) -> Path | None:
        """The path of a name, which may be given with the descriptor of its folder."""
        given = Path(os.fsdecode(path))
        found = (_path_of(folder) if folder is not None else given.parent.resolve()) / given.name
        return found if found.is_relative_to(recorder.root) else None

    def renaming(real: Any) -> Any:
        def call(source: Any, target: Any, **more: Any) -> None:
            before, after = ours(source), ours(target)
            if before is not None and after is not None:
                recorder.rename(before, after)
            real(source, target, **more)

        return call

    def fsync(handle: int, real: Any = os.fsync) -> None:
        real(handle)
        path = _path_of(handle)
        if path.is_relative_to(recorder.root):
            recorder.fsync(path)

    def mkdir(path: Any, *arguments: Any, real: Any = os.mkdir, **more: Any) -> None:
        real(path, *arguments, **more)
        if (made := ours(path)) is not None:
            recorder.made(made)

    def removing(real: Any) -> Any:
        def call(path: Any, **more: Any) -> None:
            if (found := ours(path, more.get("dir_fd"))) is not None:
                recorder.removed(found)
            real(path, **more)

        return call

    with pytest.MonkeyPatch.context() as patch:
        for name in ("rename", "replace"):
            patch.setattr(os, name, renaming(getattr(os, name)))
        for name in ("unlink", "rmdir", "remove"):
            patch.setattr(os, name, removing(getattr(os, name)))
        patch.setattr(os, "fsync", fsync)
        patch.setattr(os, "mkdir", mkdir)
        yield recorder
    recorder.rely("the call returns")


@contextmanager
def without_fsync(directories: bool) -> Iterator[None]:
    """Calls of os.fsync do nothing: those for directories, or those for files."""

    def fsync(handle: int, real: Any = os.fsync) -> None:
        if _path_of(handle).is_dir() is not directories:
            real(handle)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", fsync)
        yield
