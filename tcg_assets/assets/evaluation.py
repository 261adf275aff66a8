# mypy: disable-error-code="untyped-decorator, type-arg"
"""How good a submission is, and how sure that is."""

import dagster as dg
from pydantic import Field

from tcg_assets.assets.wiring import chain
from tcg_assets.handover import hand_over
from tcg_assets.outcome import materialized, refusals, run_stage
from tcg_assets.resources import Workspace
from tcg_assets.typed import plain


class TournamentConfig(dg.Config):
    """What is played."""

    submission_id: str = Field(default="", description="submission; empty: of this run, else the latest that passed")
    opponents: list[str] = Field(
        default=["random", "heuristic"], description="Baseline names, submission ids or paths, folders with a main.py"
    )
    games: int = Field(default=100, ge=2, description="Games against each opponent, half from each seat")
    seed: int = Field(default=13, description="Seed of the schedule and the agents; the engine itself cannot be seeded")
    nonce: str = Field(default="1", description="Another one plays a new tournament of equal settings")
    opponent_deck: str = Field(default="sample", description="Deck of baselines that bring none of their own")
    workers: int = Field(default=2, ge=1, description="Match processes")


@dg.asset(**chain("tournament", "evaluation", ("python",), "tournaments", ("submission",)))
def tournament(context: dg.AssetExecutionContext, config: TournamentConfig, workspace: Workspace) -> dg.MaterializeResult:
    """Seat-balanced games of the packed submission on the real engine: scores with their 95 % intervals and a report."""
    from tcg_core.arena.tournament import tournament as play

    home = workspace.home()
    with refusals():
        packed = hand_over(context, home, "submission", "submission", config.submission_id)
    options = plain(config) | {"opponents": tuple(config.opponents)}
    options.pop("submission_id")
    ran = run_stage(context, lambda: play(home, packed.id, **options))
    return materialized(context, "tournament", ran, table="games.parquet", extra={"submission": f"{packed.id} ({packed.rule})"})
