"""Whether a night's training fits into its time: rows times epochs over the known rate, and the cut if it does not."""

from dataclasses import dataclass, replace

from tcg_core.base.errors import TcgError
from tcg_core.base.home import Home
from tcg_core.catalog.connection import catalog
from tcg_core.catalog.selection import select_days
from tcg_core.recipe import Recipe
from tcg_core.train.rate import known_rate

#: A cut is rounded down to a multiple of this many rows, so that an almost equal rate gives the same plan.
_CUT_ROWS = 1000


class NightTooShort(TcgError):
    """A plan that does not fit into the night and may not be cut."""


@dataclass(frozen=True)
class Fitted:
    """A recipe that fits into the night, and one line on what was found and done."""

    recipe: Recipe
    line: str


def fit(home: Home, recipe: Recipe, budget_hours: float, over_budget: str, device: str = "auto") -> Fitted:
    """Compares the expected hours with the budget: rows times epochs, over the rate of the last similar run on this device.

    Raises :class:`NightTooShort` if the plan does not fit and may not, or cannot, be cut, and what the selection raises.
    """
    if not budget_hours:
        return Fitted(recipe, "no limit is set")
    known = known_rate(home, recipe, device)
    if known is None:
        return Fitted(recipe, f"no run of this network was measured yet, so the limit of {budget_hours:g} h is not applied")
    rows = _rows(home, recipe)
    hours = rows * recipe.epochs / known.rows / 3600
    line = f"{rows} rows in {recipe.epochs} epochs at {known.rows:.0f} rows/s are {hours:.2g} h of {budget_hours:g} h"
    if hours <= budget_hours:
        return Fitted(recipe, line)
    allowed = int(budget_hours * 3600 * known.rows / recipe.epochs) // _CUT_ROWS * _CUT_ROWS
    if over_budget == "refuse" or not allowed:
        raise NightTooShort(f"the plan does not fit into the night: {line}; raise night_budget_hours or set over_budget to cut")
    mix = (
        ", of which the newest unseen days come first; whole days that do not fit stay unseen"
        if recipe.selection.unseen_by
        else ""
    )
    return Fitted(replace(recipe, selection=replace(recipe.selection, max_rows=allowed)), f"{line}: cut to {allowed} rows{mix}")


def _rows(home: Home, recipe: Recipe) -> int:
    with catalog(home) as connection:
        return sum(day.rows for day in select_days(connection, recipe.selection, recipe.generations))
