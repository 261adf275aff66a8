"""One trainer a home: an advisory lock that the kernel releases when its holder dies, however it dies."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager

from tcg_core.base.home import Home
from tcg_core.train.errors import TrainerBusy


@contextmanager
def trainer_lock(home: Home) -> Iterator[None]:
    """Holds ``home.trainer_lock``; raises :class:`TrainerBusy` naming the process that holds it already."""
    home.trainer_lock.parent.mkdir(parents=True, exist_ok=True)
    handle = os.open(home.trainer_lock, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.read(handle, 32).decode().strip() or "unknown"
            raise TrainerBusy(
                f"{home.trainer_lock} is held by process {holder}: one trainer a home; wait for it or end it"
            ) from None
        os.ftruncate(handle, 0)
        os.pwrite(handle, f"{os.getpid()}\n".encode(), 0)
        yield
    finally:
        os.close(handle)
