"""``resume PATH``: which run and checkpoint a path means, and the recipe of the run that resumes it."""

import json
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tcg_core.base.errors import ConfigError, UnknownId
from tcg_core.base.home import Home
from tcg_core.base.manifest import MANIFEST
from tcg_core.base.settings import from_dict, to_dict
from tcg_core.catalog import registry
from tcg_core.plan.errors import ResumeRefused
from tcg_core.recipe import Recipe
from tcg_core.train.runs.bring_in import ImportedRun, bring_in

_STEP = re.compile(r"step_\d{8,}(_open)?")
_POINTER = re.compile(r"latest|best|epoch_\d{4,}")


@dataclass(frozen=True)
class Located:
    """What a path means: the home it lies in, a run of it, and which checkpoint (a pointer's name or ``step_NNNNNNNN``)."""

    home: Home
    run: str
    checkpoint: str

    @property
    def directory(self) -> Path:
        """The run's directory."""
        return self.home.checkpoints / self.run


@dataclass(frozen=True)
class Resumed:
    """The recipe of the new run, the card tables that its plan must use, and what was imported: None for a path in this home."""

    recipe: Recipe
    cards: str
    brought: ImportedRun | None


def locate(path: Path) -> Located:
    """The run and checkpoint behind a run directory, a ``step_N`` of it or one of its pointer files.

    Raises :class:`UnknownId` for a path that is none of these, :class:`ResumeRefused` for one that cannot be resumed.
    """
    full = path.expanduser().resolve()
    if full.is_dir() and _STEP.fullmatch(full.name):
        run, checkpoint = full.parent, full.name
    elif full.is_dir():
        run, checkpoint = full, "latest"
    elif full.is_file() and full.suffix == ".json" and _POINTER.fullmatch(full.stem):
        run, checkpoint = full.parent, full.stem
    else:
        raise UnknownId(f"{path} is no checkpoint: expected checkpoints/RUN, a step_N in it, or one of its pointer files")
    if not (run / "latest.json").is_file():
        raise UnknownId(f"{path} is no checkpoint: {run} has no latest.json, so it is no training run")
    if run.parent.name != "checkpoints":
        raise ResumeRefused(
            f"{run} does not lie in a data home (HOME/checkpoints/RUN): its plan, its card tables and the record of its checks "
            "are not beside it"
        )
    if not (run / MANIFEST).is_file():
        raise ResumeRefused(f"run {run.name} is not finished: recover it (tcg train {run.name}) before another run resumes it")
    if checkpoint.endswith("_open"):
        raise ResumeRefused(f"{full} was written before its epoch was validated: resume from the end of an epoch")
    return Located(Home(run.parent.parent), run.name, checkpoint)


def take(home: Home, path: Path) -> tuple[Located, ImportedRun | None]:
    """:func:`locate`, and imports the run if it lies in another home."""
    located = locate(path)
    if located.home.root == home.root.resolve():
        return located, None
    return located, bring_in(home, located.home, located.run)


def resumed(home: Home, path: Path, recipe: Recipe | None = None, changes: dict[str, Any] | None = None) -> Resumed:
    """The recipe of a run that resumes ``path``: ``recipe``, else the parent's own, with ``resume`` set to the path.

    changes: ``epochs``, and ``optimizer_state`` and ``scheduler_state`` of ``resume``, where they are not None. Raises
    what :func:`locate` and :func:`~tcg_core.train.runs.bring_in.bring_in` raise, :class:`ChecksNotPassed` for a run that did
    not pass, and :class:`ConfigError` for a recipe that resumes a different run.
    """
    located, brought = take(home, path)
    registry.require_passed(home, "checkpoint", located.run)
    summary = json.loads((registry.find(home, "work_plan", located.run) / "summary.json").read_text())
    chosen = recipe or replace(from_dict(Recipe, summary["recipe"] | {"resume": {}}), phase_id="")
    if chosen.resume.run not in ("", located.run):
        raise ConfigError(f"recipe: resume.run is {chosen.resume.run}, but {path} is run {located.run}: give one of the two")
    given = {name: value for name, value in (changes or {}).items() if value is not None}
    epochs = given.pop("epochs", chosen.epochs)
    values = to_dict(chosen.resume) | {"run": located.run, "checkpoint": located.checkpoint} | given
    values = to_dict(chosen) | {"epochs": epochs, "resume": values}
    return Resumed(from_dict(Recipe, values), str(summary["cards"]), brought)
