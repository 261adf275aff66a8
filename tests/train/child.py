"""Trains in a process of its own, which can be made to die: ``child.py HOME PLAN WHERE N``.

WHERE: ``update`` dies before the N-th update of this process is applied, ``point`` before its N-th pointer is written,
``validate`` before its N-th validation, ``clock`` N milliseconds after its first update begins, ``never``.
"""

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tcg_core.base.home import Home
from tcg_core.train import loop
from tcg_core.train.run import train
from tcg_core.train.runs import pointers
from tcg_core.train.step import Stepper


def dying(function: Callable[..., Any], number: int) -> Callable[..., Any]:
    """``function``, but its ``number``-th call kills the process."""
    calls = 0

    def wrapped(*arguments: Any, **named: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == number:
            os.kill(os.getpid(), signal.SIGKILL)
        return function(*arguments, **named)

    return wrapped


def alarmed(function: Callable[..., Any], milliseconds: int) -> Callable[..., Any]:
    """``function``, whose first call sets the alarm; nothing handles it, so the kernel ends the process on the spot."""
    calls = 0

    def wrapped(*arguments: Any, **named: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == 1:
            signal.setitimer(signal.ITIMER_REAL, milliseconds / 1000)
        return function(*arguments, **named)

    return wrapped


if __name__ == "__main__":
    root, plan, where, number = sys.argv[1:]
    if where == "update":
        Stepper.apply = dying(Stepper.apply, int(number))  # type: ignore[method-assign]
    if where == "point":
        pointers.point = dying(pointers.point, int(number))  # type: ignore[assignment]
    if where == "validate":
        loop.validate = dying(loop.validate, int(number))  # type: ignore[assignment]
    if where == "clock":
        Stepper.apply = alarmed(Stepper.apply, int(number))  # type: ignore[method-assign]
    train(Home(Path(root)), plan, device="cpu")
