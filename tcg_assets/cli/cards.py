"""`tcg cards`: the static card and attack tables, built from the engine's own."""

import typer

from tcg_assets.cli.show import show
from tcg_core.base.home import Home

app = typer.Typer(no_args_is_help=True, help="Static card and attack tables.")


@app.callback()
def _group() -> None:
    """Static card and attack tables."""


@app.command()
def build() -> None:
    """Reads the tables of both engine generations and joins them into one vocabulary."""
    from tcg_core.cards.features import card_features
    from tcg_core.catalog.registry import HomeRegistrar
    from tcg_core.engine.cards import load_attacks, load_cards
    from tcg_core.engine.library import GENERATIONS

    cards = {generation: load_cards(generation) for generation in GENERATIONS}
    attacks = {generation: load_attacks(generation) for generation in GENERATIONS}
    home = Home.resolve().prepare()
    show(card_features(home, HomeRegistrar(home), cards, attacks))
