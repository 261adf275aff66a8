"""Reads what the trainer's process says, by whole lines.

Dagster's own file reader parses what it gets: a line that it meets half written (a long one crosses a page of the file) ends
its thread, and with it a training run whose checkpoint is on disk.
"""

import json
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread
from typing import Any

import dagster as dg
from dagster_pipes import PipesDefaultMessageWriter

_SECONDS_BETWEEN_LOOKS = 0.05


def whole_lines(path: Path, ended: Callable[[], bool]) -> Iterator[str]:
    """Lines of a growing file, each once its newline is there; ends when ``ended`` and no whole line is left."""
    held = ""
    with path.open(encoding="utf-8") as stream:
        while True:
            last = ended()
            held += stream.read()
            *lines, held = held.split("\n")
            yield from lines
            if last:
                return
            time.sleep(_SECONDS_BETWEEN_LOOKS)


class WholeLineReader(dg.PipesMessageReader):
    """Messages through a temporary file; its path is what the child is told."""

    @contextmanager
    def read_messages(self, handler: Any) -> Iterator[dict[str, Any]]:
        """Reads in a thread until the session is over; raises nothing, a broken message is told to ``handler``."""
        with tempfile.TemporaryDirectory() as directory:
            path, over = Path(directory, "messages"), Event()
            path.touch()
            thread = Thread(target=_read, args=(path, handler, over), daemon=True)
            thread.start()
            try:
                yield {PipesDefaultMessageWriter.FILE_PATH_KEY: str(path)}
            finally:
                over.set()
                thread.join()

    def no_messages_debug_text(self) -> str:
        """For Dagster's hint when the child said nothing."""
        return "Attempted to read messages from a local temporary file, line by line."


def _read(path: Path, handler: Any, over: Event) -> None:
    try:
        for line in whole_lines(path, over.is_set):
            handler.handle_message(json.loads(line))
    except Exception:
        handler.report_pipes_framework_exception(WholeLineReader.__name__, sys.exc_info())
        raise
