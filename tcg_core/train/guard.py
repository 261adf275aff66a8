"""A trainer must not outlive what started it."""

import ctypes
import os
import signal
import sys
import threading
import time

_PR_SET_PDEATHSIG = 1
_SECONDS_BETWEEN_LOOKS = 1.0


def die_with_parent(parent: int | None = None) -> None:
    """Ends this process when its parent ends: by the kernel on Linux, by looking every second elsewhere.

    parent: its process id, given by a caller that knows it, so that one that died before this call is noticed too.
    Every published file is whole at any point, so SIGKILL is safe.
    """
    expected = parent if parent is not None else os.getppid()
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    else:
        threading.Thread(target=_watch, args=(expected,), daemon=True, name="parent-watch").start()
    if os.getppid() != expected:
        os.kill(os.getpid(), signal.SIGKILL)


def _watch(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(_SECONDS_BETWEEN_LOOKS)
    os.kill(os.getpid(), signal.SIGKILL)
