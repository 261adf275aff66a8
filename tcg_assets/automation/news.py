"""Whether there is anything new to train on: one digest over validated days, code and configuration."""

from dataclasses import dataclass

from tcg_assets.assets.jobs import CHAIN_ASSETS
from tcg_core.base.code import code_version
from tcg_core.base.digest import sha256_json
from tcg_core.base.home import Home
from tcg_core.base.settings import to_dict
from tcg_core.recipe import Recipe, Selection


@dataclass(frozen=True)
class News:
    """The validated days and the digest that a run over them would carry."""

    days: tuple[str, ...]
    digest: str


def news(home: Home, recipe: Recipe | None = None) -> News:
    """What a run of ``recipe`` (the launchpad's defaults if None) would be made from now.

    Raises what the selection raises when no day is validated, and :class:`~tcg_core.rows.errors.DaysOfOtherCode`.
    """
    from tcg_core.catalog.connection import catalog
    from tcg_core.catalog.selection import select_days
    from tcg_core.days.code import require_present_code

    recipe = recipe or Recipe(selection=Selection(all_days=True))
    with catalog(home) as connection:
        selected = select_days(connection, recipe.selection, recipe.generations)
        require_present_code(connection, selected)
    digest = sha256_json(
        {
            "days": [[day.day, day.rows_digest or day.sha256] for day in selected],
            "code": {asset: code_version(asset) for asset in CHAIN_ASSETS},
            "recipe": to_dict(recipe),
        }
    )
    return News(tuple(day.day for day in selected), digest[:16])
