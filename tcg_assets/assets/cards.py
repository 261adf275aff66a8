# mypy: disable-error-code="untyped-decorator, type-arg"
"""Static tables of cards and attacks, read from the engine itself."""

import dagster as dg
from pydantic import Field

from tcg_assets.assets.resources import Workspace
from tcg_assets.assets.wiring import described
from tcg_assets.checks import specs
from tcg_assets.pages.outcome import materialized, run_stage


class CardsConfig(dg.Config):
    """Which engine generations the tables cover."""

    generations: list[str] = Field(default=["v1", "v2"], description="Engine generations whose cards and attacks are tabled")


@dg.asset(
    check_specs=specs("card_features"),
    **described("card_features", "training", ("python",), "cards"),
)
def card_features(context: dg.AssetExecutionContext, config: CardsConfig, workspace: Workspace) -> dg.MaterializeResult:
    """Features of every card and attack by (engine generation, id), and the canonical vocabulary over generations."""
    from tcg_core.cards.features import card_features as build
    from tcg_core.catalog.registry import HomeRegistrar
    from tcg_core.engine.cards import load_attacks, load_cards

    home = workspace.home()
    ran = run_stage(
        context,
        lambda: build(
            home,
            HomeRegistrar(home),
            {generation: load_cards(generation) for generation in config.generations},
            {generation: load_attacks(generation) for generation in config.generations},
        ),
    )
    return materialized(context, "card_features", ran)
