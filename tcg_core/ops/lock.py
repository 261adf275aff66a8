"""Backup and clean-up exclude each other: what one copies the other must not remove. The kernel frees a dead holder's lock."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tcg_core.ops.errors import OpsBusy

NAME = "ops.lock"


@contextmanager
def ops_lock(root: Path) -> Iterator[None]:
    """Holds ``root/ops.lock``; raises :class:`OpsBusy` naming the process that holds it already."""
    handle = os.open(root / NAME, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.read(handle, 32).decode().strip() or "unknown"
            raise OpsBusy(f"{root / NAME} is held by process {holder}: one backup, restore or clean-up at a time") from None
        os.ftruncate(handle, 0)
        os.pwrite(handle, f"{os.getpid()}\n".encode(), 0)
        yield
    finally:
        os.close(handle)
