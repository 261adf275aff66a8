"""Curriculum: phases planned in order, each a resume of the one before it. Finished phases are skipped, begun ones continue.

Which plan a phase is executing is written down when it is made, under a key of its whole recipe (the run before it
included). So a curriculum that was stopped finds its plans again even if days were added since, and a changed phase
changes exactly itself and what follows. Training itself is the caller's: a command trains here, Dagster in a run per phase.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tcg_core.base.atomic import write_json
from tcg_core.base.built import Built
from tcg_core.base.digest import sha256_json
from tcg_core.base.errors import ConfigError
from tcg_core.base.home import Home
from tcg_core.base.settings import from_dict, to_dict, told
from tcg_core.plan.errors import CurriculumStopped
from tcg_core.recipe import Recipe, Selection


def merged(base: dict[str, Any], over: dict[str, Any]) -> dict[str, Any]:
    """``base`` with ``over`` laid over it, tables key by key."""
    found = dict(base)
    for key, value in over.items():
        both = isinstance(value, dict) and isinstance(found.get(key), dict)
        found[key] = merged(found[key], value) if both else value
    return found


@dataclass(frozen=True)
class Phase:
    """One phase: its name, its days, and what it sets otherwise than ``base`` (keys of a recipe, nested as there)."""

    phase_id: str = field(metadata=told("Name, unique among the phases"))
    selection: Selection
    settings: dict[str, Any] = field(default_factory=dict, metadata=told("Keys of a recipe, laid over base"))


@dataclass(frozen=True)
class Curriculum:
    """Phases in order over a common recipe; ``base`` has no selection, phase_id or resume.run, each phase has its own.

    Raises :class:`ConfigError` naming the phase and the key.
    """

    phases: tuple[Phase, ...] = field(metadata=told("In order; each resumes the one before"))
    base: dict[str, Any] = field(default_factory=dict, metadata=told("Keys of a recipe that all phases share"))

    def __post_init__(self) -> None:
        if not self.phases:
            raise ConfigError("curriculum: no phases")
        names = [phase.phase_id for phase in self.phases]
        for number, name in enumerate(names):
            if not name or name in names[:number]:
                raise ConfigError(f"phases[{number}].phase_id is {name!r}, expected a name no earlier phase has")
        for where, values in (("base", self.base), *((f"phases[{i}].settings", p.settings) for i, p in enumerate(self.phases))):
            if not isinstance(values, dict):
                raise ConfigError(f"{where}: expected a table of keys, found {type(values).__name__}")
            for key in ("selection", "phase_id"):
                if key in values:
                    raise ConfigError(f"{where}.{key}: each phase says its own, beside settings")
            if "run" in values.get("resume", {}) and where != "phases[0].settings":
                raise ConfigError(f"{where}.resume.run: a phase resumes the one before it")
        for number in range(len(self.phases)):
            self.recipe(number, "" if number == 0 else "0" * 16)

    def recipe(self, number: int, previous: str) -> Recipe:
        """The recipe of a phase that resumes run ``previous`` (none if empty, unless the first phase names one)."""
        phase = self.phases[number]
        values = merged(self.base, phase.settings)
        values |= {"selection": to_dict(phase.selection), "phase_id": phase.phase_id}
        if previous:
            values["resume"] = values.get("resume", {}) | {"run": previous}
        elif "run" not in values.get("resume", {}):
            # What base says of resuming is meant for the later phases.
            values["resume"] = phase.settings.get("resume", {})
        try:
            return from_dict(Recipe, values)
        except (ConfigError, ValueError) as error:
            raise ConfigError(f"phases[{number}] ({phase.phase_id}): {error}") from None


#: Breadth first, then the field as it is now: runs on any home, for it asks for no ratings.
DEFAULT = Curriculum(
    (
        Phase("broad", Selection(all_days=True), {"epochs": 2}),
        Phase("recent", Selection(last_n_days=7), {"epochs": 1, "optimizer": {"lr": 1e-4}}),
    )
)


@dataclass(frozen=True)
class Planned:
    """A phase with its plan, whose id is the id of its run. title: for people."""

    title: str
    plan: Built


def over(recipe: Recipe, values: dict[str, Any]) -> Curriculum:
    """The curriculum of ``values`` (as in a file) with its ``base`` laid over ``recipe``, whose days and parent are left out.

    Raises :class:`ConfigError` naming phase and key.
    """
    shared = {key: value for key, value in to_dict(recipe).items() if key not in ("selection", "phase_id", "resume")}
    return from_dict(Curriculum, values | {"base": merged(shared, values.get("base", {}))}, "curriculum")


def title(curriculum: Curriculum, number: int) -> str:
    """A phase for people."""
    return f"curriculum phase {number + 1} of {len(curriculum.phases)}, {curriculum.phases[number].phase_id}"


def planned_phases(home: Home, curriculum: Curriculum, cards_id: str | None = None, again: bool = False) -> Iterator[Planned]:
    """The phases in order, each planned when it is asked for: by then the caller has trained the one before.

    again: make the plans anew instead of those begun before. Raises :class:`CurriculumStopped` naming the phase whose plan does
    not pass its checks, and what planning raises, as of a phase before that was not trained.
    """
    previous = ""
    for number in range(len(curriculum.phases)):
        named = title(curriculum, number)
        plan = plan_phase(home, curriculum.recipe(number, previous), cards_id, again)
        require_phase(plan, named)
        yield Planned(named, plan)
        previous = plan.id


def require_phase(built: Built, title: str) -> None:
    """Raises :class:`CurriculumStopped` if the plan or run of a phase did not pass its blocking checks."""
    failed = [check for check in built.checks if check.blocks]
    if failed:
        raise CurriculumStopped(f"{title}: {built.kind} {built.id}: check {failed[0].name} failed: {failed[0].message}")


def plan_phase(home: Home, recipe: Recipe, cards_id: str | None = None, again: bool = False) -> Built:
    """The plan that the phase of this recipe is executing, made and noted if it has none; again: made anew in any case.

    Raises what planning raises.
    """
    from tcg_core.plan.build import build_plan, stored_plan

    begun = "" if again else run_of_phase(home, recipe)
    if begun:
        return stored_plan(home, begun)
    built = build_plan(home, recipe, cards_id)
    if built.passed:
        write_json(_note(home, recipe), {"phase_id": recipe.phase_id, "run": built.id, "resume": to_dict(recipe.resume)})
    return built


def run_of_phase(home: Home, recipe: Recipe) -> str:
    """The run that the phase of this recipe is executing, "" if it has no plan yet or its plan is not on disk."""
    note = _note(home, recipe)
    begun = str(json.loads(note.read_text())["run"]) if note.is_file() else ""
    return begun if begun and (home.plans / begun).is_dir() else ""


def _note(home: Home, recipe: Recipe) -> Path:
    return home.curricula / f"{sha256_json(to_dict(recipe))[:16]}.json"
