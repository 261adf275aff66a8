"""The one lock: a file that one process at a time holds. The kernel frees it when its holder ends, however it ends."""

import fcntl
import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from tcg_core.base.atomic import make_directory
from tcg_core.base.digest import canonical_json
from tcg_core.base.errors import TcgError

#: Seconds between two tries of one who waits.
_PAUSE = 0.05
_LONGEST = 4096


class Busy(TcgError):
    """Another process holds a lock; the message names lock and holder."""


@dataclass(frozen=True)
class Holder:
    """Who holds a lock: process id, what it does, and since when (UTC, ISO 8601)."""

    pid: int
    what: str
    since: str

    def __str__(self) -> str:
        return f"process {self.pid} ({self.what}, since {self.since})"


@contextmanager
def hold(path: Path, what: str, *, wait: float = 0.0, refused: type[TcgError] = Busy, rule: str = "") -> Iterator[None]:
    """Holds the lock file ``path``; a second holder is refused, another thread or block of this process included.

    what: what the holder does, for whom it refuses. wait: seconds to wait for the present holder. Raises ``refused`` with
    one line: the file, who holds it, and ``rule``. The holder is written in place, because a lock belongs to the file itself
    and a renamed one would be another file.
    """
    handle = _taken(path, time.monotonic() + wait)
    if isinstance(handle, str):
        raise refused(f"{path} is held by {handle}" + (f": {rule}" if rule else ""))
    try:
        holder = Holder(os.getpid(), what, datetime.now(UTC).isoformat(timespec="seconds"))
        os.ftruncate(handle, 0)
        os.pwrite(handle, canonical_json(asdict(holder)).encode(), 0)
        yield
    finally:
        # Emptied while it is still ours: whoever is refused next never reads the name of one who left.
        os.ftruncate(handle, 0)
        os.close(handle)


def is_held(path: Path) -> bool:
    """True if a living process holds the lock file."""
    if not path.is_file():
        return False
    handle = os.open(path, os.O_RDWR)
    try:
        return not _locked(handle)
    finally:
        os.close(handle)


def _taken(path: Path, deadline: float) -> int | str:
    """The open, locked file; else who holds it, in words."""
    while True:
        make_directory(path.parent)
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        if _locked(handle):
            if _is_at(path, handle):
                return handle
            # Its last holder removed the file between our opening and locking: the lock is a new file now.
            os.close(handle)
            continue
        holder = _named(os.pread(handle, _LONGEST, 0))
        os.close(handle)
        if time.monotonic() >= deadline:
            return holder
        time.sleep(_PAUSE)


def _locked(handle: int) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _is_at(path: Path, handle: int) -> bool:
    try:
        return os.path.samestat(path.stat(), os.fstat(handle))
    except FileNotFoundError:
        return False


def _named(text: bytes) -> str:
    try:
        return str(Holder(**json.loads(text)))
    except (ValueError, TypeError):
        # It has the lock and has not written its name yet.
        return "another process"
