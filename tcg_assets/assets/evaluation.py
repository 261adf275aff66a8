# mypy: disable-error-code="untyped-decorator, type-arg"
"""How good a submission is, and how sure that is."""

import dagster as dg
from pydantic import Field

from tcg_assets.assets.deadlines import WHEN, deadline
from tcg_assets.assets.handover import hand_over
from tcg_assets.assets.launchpad import plain
from tcg_assets.assets.resources import Workspace
from tcg_assets.assets.wiring import chain
from tcg_assets.pages.metadata import inputs_table
from tcg_assets.pages.observe import tell_lineage
from tcg_assets.pages.outcome import materialized, refusals, run_stage


class TournamentConfig(dg.Config):
    """What is played."""

    submission_id: str = Field(default="", description="submission; empty: of this run, else the latest that passed")
    opponents: list[str] = Field(
        default=["random", "heuristic"], description="Baseline names, submission ids or paths, folders with a main.py"
    )
    games: int = Field(default=100, ge=2, description="Games (matches if best_of > 1) against each opponent, half from each seat")
    seed: int = Field(default=13, description="Seed of the schedule and the agents; the engine itself cannot be seeded")
    nonce: str = Field(default="1", description="Another one plays a new tournament of equal settings")
    opponent_deck: str = Field(default="sample", description="Deck of baselines that bring none of their own")
    workers: int = Field(default=2, ge=1, description="Match processes")
    champion: bool = Field(default=True, description="The reigning champion plays too, named or not")
    best_of: int = Field(default=1, ge=1, description="Games of a match at most: 1, or an odd number on engine v2, as 3")
    generation: str = Field(default="", description="Engine generation, v1 or v2; empty: the first that the submission declares")


class ChampionConfig(dg.Config):
    """By what the champion is decided."""

    tournament_id: str = Field(default="", description="tournament; empty: of this run, else the latest that passed")


@dg.asset(
    # A run of it fails unless its games were clean, so its age is that of the last clean tournament.
    freshness_policy=deadline(WHEN.evaluation_hours),
    **chain("tournament", "evaluation", ("python",), "tournaments", ("submission",)),
)
def tournament(context: dg.AssetExecutionContext, config: TournamentConfig, workspace: Workspace) -> dg.MaterializeResult:
    """Seat-balanced games of the packed submission on the real engine: scores with their 95 % intervals and a report."""
    from tcg_core.arena.tournament import tournament as play
    from tcg_core.catalog.promotions import challenged

    home = workspace.home()
    with refusals():
        packed = hand_over(context, home, "submission", "submission", config.submission_id)
    opponents = tuple(config.opponents)
    options = plain(config) | {"opponents": challenged(home, packed.id, opponents) if config.champion else opponents}
    for name in ("submission_id", "champion"):
        options.pop(name)
    ran = run_stage(context, lambda: play(home, packed.id, **options))
    return materialized(context, "tournament", ran, extra={"submission": f"{packed.id} ({packed.rule})"})


@dg.asset(
    freshness_policy=deadline(WHEN.evaluation_hours),
    **chain("champion", "evaluation", ("sqlite",), "promotions", ("tournament",)),
)
def champion(context: dg.AssetExecutionContext, config: ChampionConfig, workspace: Workspace) -> dg.MaterializeResult:
    """The submission that reigns: it changes only when a tournament says that another is stronger. Its version is its id."""
    from tcg_core.arena.champion import crown
    from tcg_core.base.manifest import read_manifest
    from tcg_core.catalog.registry import find

    home = workspace.home()
    with refusals():
        played = hand_over(context, home, "tournament", "tournament", config.tournament_id)
    ran = run_stage(context, lambda: crown(home, played.id))
    tell_lineage(context.instance, home)
    judged_by = inputs_table([read_manifest(find(home, "tournament", played.id)).as_input()])
    return materialized(context, "champion", ran, extra={"tournament": f"{played.id} ({played.rule})", "inputs": judged_by})
