"""The members of an archive through child processes that may die: a decision that killed one is skipped, named and counted."""

import multiprocessing
import queue
import threading
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path

from tcg_core.base.same_code import VARIABLE, for_child
from tcg_core.lookahead.episode import Key, Looked
from tcg_core.lookahead.errors import LookaheadError
from tcg_core.lookahead.settings import WouldKo
from tcg_core.lookahead.worker import serve

#: An episode whose blobs kill so many processes is given up: all its other decisions count as crashed.
MOST_CRASHES = 20


class _Child:
    """One worker process, started when it is needed and again after it died."""

    def __init__(self, path: Path, known_decks: tuple[tuple[int, ...], ...], settings: WouldKo) -> None:
        self._arguments = (path, known_decks, settings)
        self._process: BaseProcess | None = None
        self._pipe: Connection | None = None

    def look(self, position: int, skip: frozenset[Key]) -> tuple[list[Looked], Key | None, bool]:
        """What was found of a member, the decision it died at, and whether it came to its end. Raises :class:`LookaheadError`."""
        pipe = self._started()
        found: list[Looked] = []
        at: Key | None = None
        try:
            pipe.send((position, skip))
            while True:
                kind, value = pipe.recv()
                if kind == "end":
                    return found, None, True
                if kind == "refused":
                    raise LookaheadError(f"would-KO: {value}")
                if isinstance(value, Key):
                    at = value
                elif isinstance(value, Looked):
                    found.append(value)
                    at = None
        except (EOFError, OSError):
            self.close()
            return found, at, False

    def close(self) -> None:
        """Ends the process."""
        if self._pipe is not None:
            self._pipe.close()
        if self._process is not None:
            self._process.join(timeout=5)
            if self._process.is_alive():
                self._process.kill()
                self._process.join()
        self._process = self._pipe = None

    def _started(self) -> Connection:
        if self._pipe is None:
            context = multiprocessing.get_context("spawn")
            ours, theirs = context.Pipe()
            process = context.Process(target=serve, args=(theirs, *self._arguments, for_child("would_ko")[VARIABLE]), daemon=True)
            process.start()
            theirs.close()
            self._process, self._pipe = process, ours
        return self._pipe


def look_at_members(
    path: Path,
    positions: Sequence[int],
    known_decks: tuple[tuple[int, ...], ...],
    settings: WouldKo,
    workers: int,
    done: Callable[[int, list[Looked]], None],
) -> None:
    """Calls ``done`` with each member's position and decisions, in any order, from several threads but one at a time.

    Raises :class:`LookaheadError` if the engine is not to be had, or what ``done`` raises.
    """
    waiting: queue.SimpleQueue[int] = queue.SimpleQueue()
    for position in positions:
        waiting.put(position)
    lock, errors = threading.Lock(), list[BaseException]()

    def work() -> None:
        child = _Child(path, known_decks, settings)
        try:
            while not errors:
                try:
                    position = waiting.get_nowait()
                except queue.Empty:
                    return
                found = _whole(child, position)
                with lock:
                    done(position, found)
        except BaseException as error:
            errors.append(error)
        finally:
            child.close()

    threads = [threading.Thread(target=work, daemon=True) for _ in range(max(1, min(workers, len(positions))))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


def _whole(child: _Child, position: int) -> list[Looked]:
    skip: set[Key] = set()
    for _ in range(MOST_CRASHES + 1):
        found, at, ended = child.look(position, frozenset(skip))
        if ended:
            return found
        if at is None:
            raise LookaheadError(f"would-KO: a worker process died at member {position} before the engine was given anything")
        skip.add(at)
    return [looked for looked in found if not looked.why] + [Looked(key, (), "crashed") for key in sorted(skip)]
