"""What an agent and all its descendants use together: memory, processor time, processes, bytes on disk."""

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import psutil  # type: ignore[import-untyped]  # no type information is published with it

GIBIBYTE = 1 << 30
Broken = Literal["memory", "processes", "cpu", "disk"]


@dataclass(frozen=True)
class Limits:
    """What an agent may use. memory: bytes resident of all its processes (and private data of each, where the system limits
    it); file: bytes of one file; disk: bytes of all its files; output: bytes printed; load: seconds to load; processes: how
    many at once; cpu: processor seconds of all its processes that still run. The time of a decision is given with each
    request."""

    memory: int = 6 * GIBIBYTE
    file: int = 256 << 20
    disk: int = 4 * GIBIBYTE
    output: int = 64 << 20
    load: float = 120.0
    processes: int = 64
    cpu: float = 7200.0


class Tree:
    """Samples the tree below one process; ``folders`` are what it can write to."""

    EVERY, DISK_EVERY = 0.25, 2.0

    def __init__(self, root: int, folders: Sequence[Path], limits: Limits) -> None:
        self._root = root
        self._folders = tuple(folders)
        self._limits = limits
        self._next = self._next_disk = time.monotonic()

    def broken(self) -> tuple[Broken, str] | None:
        """The limit that is broken, as (reason, line); at most every :data:`EVERY` seconds, None in between."""
        now = time.monotonic()
        if now < self._next:
            return None
        self._next = now + self.EVERY
        memory, seconds, count = used(self._root)
        if memory > self._limits.memory:
            return "memory", f"{memory >> 20} MiB in use, {self._limits.memory >> 20} MiB allowed"
        if count > self._limits.processes:
            return "processes", f"{count} processes, {self._limits.processes} allowed"
        if seconds > self._limits.cpu:
            return "cpu", f"{seconds:.0f} processor seconds used, {self._limits.cpu:.0f} allowed"
        if now >= self._next_disk:
            self._next_disk = now + self.DISK_EVERY
            size = sum(on_disk(folder, self._limits.disk) for folder in self._folders)
            if size > self._limits.disk:
                return "disk", f"{size >> 20} MiB on disk, {self._limits.disk >> 20} MiB allowed"
        return None


def used(root: int) -> tuple[int, float, int]:
    """(bytes resident, processor seconds, processes) of a process and all its descendants, the root's own included."""
    try:
        first = psutil.Process(root)
        tree = [first, *first.children(recursive=True)]
    except psutil.Error:
        return 0, 0.0, 0
    memory, seconds, count = 0, 0.0, 0
    for process in tree:
        try:
            with process.oneshot():
                memory += process.memory_info().rss
                spent = process.cpu_times()
                seconds += spent.user + spent.system
                count += 1
        except psutil.Error:
            continue
    return memory, seconds, count


def on_disk(folder: Path, enough: int) -> int:
    """Bytes that the files below ``folder`` take up; the count stops above ``enough``."""
    total = 0
    for place, _, names in os.walk(folder):
        for name in names:
            try:
                total += (Path(place) / name).lstat().st_blocks * 512
            except OSError:
                continue
        if total > enough:
            break
    return total


def remove(folder: Path) -> None:
    """Removes a folder whatever lies in it: without rights to itself, or nested deeper than a path or the interpreter allows.

    Directories are moved up one after the other and then emptied, so that no path grows. Raises OSError for what stays.
    """
    if not folder.is_dir():
        return
    waiting = [folder]
    count = 0
    while waiting:
        place = waiting.pop()
        place.chmod(0o700)
        for entry in list(place.iterdir()):
            if entry.is_symlink() or not entry.is_dir():
                entry.unlink()
                continue
            entry.chmod(0o700)
            count += 1
            waiting.append(entry.rename(folder.with_name(f"{folder.name}-{count}")))
        place.rmdir()
