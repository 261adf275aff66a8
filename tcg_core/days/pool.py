"""The members of an archive through one or several processes, always in the archive's order.

Workers are spawned, open the archive themselves, know neither catalog nor data home, and end when their parent does.
"""

import multiprocessing
import os
import threading
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from multiprocessing.process import BaseProcess
from pathlib import Path

from tcg_core.base.same_code import VARIABLE, for_child, require_same
from tcg_core.days.errors import DayError
from tcg_core.days.members import Processed, process
from tcg_core.replay.archive import Archive, Member, open_archive

OUTSIDE_IDENTITY = "which process encodes a member changes no row"

#: A chunk is what a worker does in one go: it ends at so many members or bytes of JSON.
CHUNK_MEMBERS, CHUNK_BYTES = 16, 32 * 2**20


@dataclass(frozen=True)
class Task:
    """A run of members, with for each whether to count its rows from plain json too."""

    members: tuple[Member, ...]
    plain: tuple[bool, ...]


def chunks(members: Sequence[Member], plain: frozenset[int]) -> list[Task]:
    """Members (in order) cut into tasks; ``plain`` holds the episode ids of the sample."""
    tasks: list[Task] = []
    waiting: list[Member] = []
    size = 0
    for position, member in enumerate(members):
        waiting.append(member)
        size += member.size
        if len(waiting) >= CHUNK_MEMBERS or size >= CHUNK_BYTES or position + 1 == len(members):
            tasks.append(Task(tuple(waiting), tuple(m.episode_id in plain for m in waiting)))
            waiting, size = [], 0
    return tasks


def processed(
    archive: Archive, day: str, plain: frozenset[int], workers: int, members: Sequence[Member] | None = None
) -> Iterator[Processed]:
    """Every member of the archive (or those of ``members``) in order; with more than one worker as many spawned processes share
    the work.

    Raises :class:`DayError` naming the members at hand when a worker dies.
    """
    if workers < 1:
        raise DayError(f"workers {workers}: expected at least 1")
    if workers == 1:
        for member in archive.members if members is None else members:
            yield process(archive, member, day, member.episode_id in plain)
        return
    context = multiprocessing.get_context("spawn")
    waiting: deque[tuple[Task, Future[list[Processed]]]] = deque()
    tasks = iter(chunks(archive.members if members is None else members, plain))
    with ProcessPoolExecutor(workers, context, _open, (archive.path, day, for_child("staged_day")[VARIABLE])) as pool:
        try:
            # So many chunks are in memory at most, whatever the archive's size.
            for task in tasks:
                waiting.append((task, pool.submit(_work, task)))
                if len(waiting) > workers + 2:
                    yield from _result(*waiting.popleft())
            while waiting:
                yield from _result(*waiting.popleft())
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _result(task: Task, future: Future[list[Processed]]) -> list[Processed]:
    try:
        return future.result()
    except BrokenProcessPool:
        names = f"{task.members[0].name} to {task.members[-1].name}"
        raise DayError(f"a worker process died at or after members {names}; nothing was published") from None


_STATE: dict[str, tuple[Archive, str, str]] = {}


def _open(path: Path, day: str, code: str) -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
    _STATE["open"] = open_archive(path), day, code


def _end_with(parent: BaseProcess) -> None:
    # A queue's pipe stays open in the worker itself, so the death of the parent does not end a wait for work.
    parent.join()
    os._exit(1)


def _work(task: Task) -> list[Processed]:
    archive, day, code = _STATE["open"]
    require_same("staged_day", given=code)
    return [process(archive, member, day, plain) for member, plain in zip(task.members, task.plain, strict=True)]
