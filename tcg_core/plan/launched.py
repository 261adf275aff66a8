"""Curricula launched to run phase by phase: what each one is, which phase comes next, why it stopped.

A note per curriculum (``curricula/launched/KEY.json``) says what was launched. Which phases are finished is read from the
registry, so it holds after a restart, without Dagster's history, and for phases that the terminal trained.
"""

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from tcg_core.base.atomic import write_json
from tcg_core.base.digest import sha256_json
from tcg_core.base.errors import IntegrityError, TcgError, UnknownId
from tcg_core.base.home import Home
from tcg_core.base.settings import from_dict, to_dict
from tcg_core.catalog import registry
from tcg_core.catalog.connection import now
from tcg_core.catalog.errors import ChecksNotPassed
from tcg_core.plan.curriculum import Curriculum, run_of_phase, title
from tcg_core.recipe import Recipe


@dataclass(frozen=True)
class LaunchedCurriculum:
    """A curriculum that was launched.

    key: of its phases and card tables; cards_id: "" for those of each run; launch: id of its last launch; at: when, UTC;
    reason: why it stopped, "" while it is under way or after its end.
    """

    key: str
    curriculum: Curriculum
    device: str
    cards_id: str
    launch: str
    at: str
    state: Literal["under way", "stopped", "ended"] = "under way"
    reason: str = ""


@dataclass(frozen=True)
class Next:
    """The phase to run next. number: from 0; title: for people; done: runs of the finished phases before it, in order."""

    number: int
    title: str
    recipe: Recipe
    last: bool
    done: tuple[str, ...]


def launch(home: Home, curriculum: Curriculum, device: str, cards_id: str, by: str) -> tuple[LaunchedCurriculum, bool]:
    """Notes that the curriculum is under way, by launch ``by``; returns the note, and whether it was under way already.

    One that is under way keeps its launch: asking twice is asking once. Finished phases are kept in any case.
    """
    key = sha256_json({"curriculum": to_dict(curriculum), "cards_id": cards_id})[:16]
    old = _read(_path(home, key)) if _path(home, key).is_file() else None
    if old is not None and old.state == "under way":
        return old, True
    return _write(home, LaunchedCurriculum(key, curriculum, device, cards_id, by, now())), False


def launched_curricula(home: Home) -> list[LaunchedCurriculum]:
    """Every curriculum that was launched, the last launch at the end.

    Raises :class:`IntegrityError` naming a note that cannot be read.
    """
    found = [_read(path) for path in (home.curricula / "launched").glob("*.json")]
    return sorted(found, key=lambda item: (item.at, item.key))


def next_phase(home: Home, launched: LaunchedCurriculum) -> Next:
    """The first phase that has no finished run that passed its checks; the last one in any case, for a chain follows it."""
    curriculum = launched.curriculum
    done: list[str] = []
    for number in range(len(curriculum.phases)):
        recipe = curriculum.recipe(number, done[-1] if done else "")
        last, run = number + 1 == len(curriculum.phases), run_of_phase(home, recipe)
        if last or not run or not _passed(home, run):
            break
        done.append(run)
    return Next(number, title(curriculum, number), recipe, last, tuple(done))


def stop(home: Home, launched: LaunchedCurriculum, reason: str) -> LaunchedCurriculum:
    """Notes that the curriculum stopped; launched again it continues."""
    return _write(home, replace(launched, state="stopped", reason=reason))


def end(home: Home, launched: LaunchedCurriculum) -> LaunchedCurriculum:
    """Notes that the last phase and what follows it are done."""
    return _write(home, replace(launched, state="ended"))


def _passed(home: Home, run: str) -> bool:
    try:
        registry.require_passed(home, "checkpoint", run)
    except (UnknownId, ChecksNotPassed):
        return False
    return True


def _path(home: Home, key: str) -> Path:
    return home.curricula / "launched" / f"{key}.json"


def _write(home: Home, launched: LaunchedCurriculum) -> LaunchedCurriculum:
    write_json(_path(home, launched.key), to_dict(launched))
    return launched


def _read(path: Path) -> LaunchedCurriculum:
    try:
        return from_dict(LaunchedCurriculum, json.loads(path.read_text()))
    except (ValueError, TcgError) as error:
        raise IntegrityError(f"{path} is no note of a launched curriculum: {error}; remove it and launch it again") from None
