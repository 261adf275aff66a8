"""When a run ends before its end: its budget is used up, or somebody asked it to. It ends where a checkpoint can hold it."""

import math
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from tcg_core.base.errors import ConfigError

OUTSIDE_IDENTITY = "when a run ends early, it continues bit-equal"

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Stop:
    """Told to a run that it should end. ``budget_hours``: from now on, by a monotonic clock; 0 means no limit.

    ``signalled``: name of the signal that asked, "" so far. Raises :class:`ConfigError` for a budget that is negative.
    """

    def __init__(self, budget_hours: float = 0.0, clock: Callable[[], float] = time.monotonic) -> None:
        if not budget_hours >= 0:
            raise ConfigError(f"budget_hours is {budget_hours}, expected hours, or 0 for no limit")
        self._hours, self._clock = budget_hours, clock
        self._deadline = clock() + 3600 * budget_hours if budget_hours else math.inf
        self.signalled = ""

    @property
    def reason(self) -> str:
        """Why the run should end, "" if it should go on."""
        if self.signalled:
            return f"asked to by {self.signalled}"
        return f"its budget of {self._hours:.3g} h is used up" if self._clock() >= self._deadline else ""

    @contextmanager
    def on_signals(self) -> Iterator[None]:
        """The first SIGINT or SIGTERM asks the run to end; the second one acts as it would have without this.

        Only in the main thread of a process (:class:`ValueError` elsewhere).
        """
        before = {number: signal.getsignal(number) for number in _SIGNALS}

        def restore() -> None:
            for number, handler in before.items():
                signal.signal(number, handler)

        def asked(number: int, frame: FrameType | None) -> None:
            self.signalled = signal.Signals(number).name
            restore()

        for number in _SIGNALS:
            signal.signal(number, asked)
        try:
            yield
        finally:
            restore()
