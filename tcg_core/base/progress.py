"""Progress of long work: a bar on a terminal, rate-limited log lines elsewhere. The display follows the iterator."""

import logging
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TypeVar

OUTSIDE_IDENTITY = "it shows how far long work is"

T = TypeVar("T")
LOG = logging.getLogger("tcg")
_SECONDS_BETWEEN_LINES = 5.0

Advance = Callable[[int], None]


class PlannedMismatch(RuntimeError):
    """A phase that finished with another count than it announced."""


@contextmanager
def phase(title: str, total: int, unit: str = "steps") -> Iterator[Advance]:
    """A phase of ``total`` units; the yielded function advances it. Leaving with another count raises."""
    done = 0
    show, close = _bar(title, total) if sys.stderr.isatty() else _lines(title, total, unit)

    def advance(count: int = 1) -> None:
        nonlocal done
        done += count
        show(done)

    try:
        yield advance
    finally:
        close()
    if done != total:
        raise PlannedMismatch(f"{title}: planned {total} {unit}, processed {done}")


def track(items: Iterable[T], title: str, total: int, unit: str = "steps") -> Iterator[T]:
    """Iterates over ``items`` while showing progress."""
    with phase(title, total, unit) as advance:
        for item in items:
            yield item
            advance(1)


def _bar(title: str, total: int) -> tuple[Callable[[int], None], Callable[[], None]]:
    from rich.console import Console
    from rich.progress import Progress

    progress = Progress(console=Console(stderr=True), transient=False)
    task = progress.add_task(title, total=total)
    progress.start()
    return (lambda done: progress.update(task, completed=done)), progress.stop


def _lines(title: str, total: int, unit: str) -> tuple[Callable[[int], None], Callable[[], None]]:
    started = last = time.monotonic()
    latest = 0

    def show(done: int) -> None:
        nonlocal last, latest
        latest, now = done, time.monotonic()
        if now - last >= _SECONDS_BETWEEN_LINES:
            last = now
            LOG.info("%s: %d of %d %s, %.0f s", title, done, total, unit, now - started)

    return show, lambda: LOG.info("%s: %d of %d %s, %.1f s, ended", title, latest, total, unit, time.monotonic() - started)
