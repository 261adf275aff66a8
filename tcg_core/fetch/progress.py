"""Progress of a download, read from the growing file: the client tells nothing while it is at work."""

import json
import logging
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

LOG = logging.getLogger("tcg")
SECONDS_BETWEEN_LINES = 5.0
_MB = 1e6


@contextmanager
def watching(what: str, file: Path, marker: Path) -> Iterator[None]:
    """Logs the size of ``file`` every few seconds; the total is that of the client's ``marker`` while it has one."""
    stop = threading.Event()
    started = time.monotonic()
    first = _size(file)
    if first:
        LOG.info("%s: continuing after %.1f MB", what, first / _MB)

    def watch() -> None:
        while not stop.wait(SECONDS_BETWEEN_LINES):
            size, seconds = _size(file), time.monotonic() - started
            rate = (size - first) / _MB / seconds
            LOG.info("%s: %.1f of %s MB, %.1f MB/s, %.0f s", what, size / _MB, _total(marker), rate, seconds)

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
    LOG.info("%s: %.1f MB in %.1f s", what, _size(file) / _MB, time.monotonic() - started)


def _size(file: Path) -> int:
    try:
        return file.stat().st_size
    except OSError:
        return 0


def _total(marker: Path) -> str:
    try:
        return f"{json.loads(marker.read_text())['size'] / _MB:.1f}"
    except (OSError, ValueError, KeyError, TypeError):
        return "?"
