"""Which recipe a launch of the chain means: the launchpad's own, or one of the night's; and the rule that says so."""

from dataclasses import dataclass
from typing import Any, Literal

from tcg_assets.assets.launchpad import recipe_of
from tcg_core.base.errors import ConfigError
from tcg_core.base.home import Home
from tcg_core.recipe import Recipe

Preset = Literal["all", "nightly", "finetune", "weekly"]
PRESETS = (
    "all: the recipe below, over every validated day if it selects none. nightly: what tonight would be by nightly.json. "
    "finetune: from the champion's run, on the days it has not seen and a sample of older ones. weekly: fresh weights over all "
    "validated days"
)
#: Keys of the launchpad that a preset of the night takes from elsewhere, so that giving them beside it would say two things.
_OF_ALL = ("recipe", "night_budget_hours", "over_budget", "device", "because")


@dataclass(frozen=True)
class Asked:
    """The recipe, why it is this one, and the budget that it must fit into (hours, 0: no limit) on a device."""

    recipe: Recipe
    rule: str
    budget_hours: float
    over_budget: str
    device: str


def require_one_meaning(preset: str, values: dict[str, Any], defaults: dict[str, Any]) -> None:
    """Raises :class:`ConfigError` for a key that ``preset`` would ignore."""
    for key in () if preset == "all" else _OF_ALL:
        if values[key] != defaults[key]:
            raise ConfigError(
                f"work_plan.{key} is given, but preset {preset} takes none: leave it as it is, or choose preset all"
            )


def asked(home: Home, preset: str, values: dict[str, Any]) -> Asked:
    """What a launch means.

    Raises :class:`ConfigError` naming a key, and :class:`~tcg_core.plan.errors.ChampionRefused` where the recipe should go on
    from the champion and cannot.
    """
    from tcg_core.nightly.settings import load_nightly
    from tcg_core.nightly.tonight import of_mode, tonight

    if preset == "all":
        rule = values["because"] or "the launchpad's recipe"
        return Asked(recipe_of(values["recipe"]), rule, values["night_budget_hours"], values["over_budget"], values["device"])
    nightly = load_nightly(home)
    if preset == "nightly":
        found = tonight(home, nightly, nightly.when.today())
    else:
        found = of_mode(home, nightly, "full" if preset == "weekly" else "finetune")
    return Asked(found.recipe, found.line, nightly.night_budget_hours, nightly.over_budget, nightly.device)
