# mypy: disable-error-code="untyped-decorator, type-arg"
"""From validated days to a trained policy: the plan is data that is made first, then executed.

One recipe is given once, to `work_plan`; `mlx_checkpoint` reads it from the plan and has no key that could contradict it.
"""

import os
import sys
from pathlib import Path
from typing import Any, Literal

import dagster as dg
from pydantic import Field

from tcg_assets.assets.wiring import chain
from tcg_assets.handover import hand_over
from tcg_assets.outcome import Ran, materialized, refusals, run_stage
from tcg_assets.resources import Workspace
from tcg_assets.typed import RecipeConfig, plain, recipe_of
from tcg_assets.wire import Refused, ran_of
from tcg_core.night import NIGHTLY_DAYS, fit

_ROOT = Path(__file__).resolve().parents[2]


class WorkPlanConfig(dg.Config):
    """The recipe of a training run."""

    recipe: RecipeConfig = Field(  # type: ignore[valid-type]
        default_factory=RecipeConfig, description="Selection, split, work, model, optimizer, schedule, epochs, seed"
    )
    preset: Literal["all", "nightly"] = Field(
        default="all",
        description=f"Days of a recipe that selects none: all validated ones, or as every night the last {NIGHTLY_DAYS}",
    )
    night_budget_hours: float = Field(default=0.0, ge=0.0, description="Hours that training may take; 0: no limit")
    over_budget: Literal["cut", "refuse"] = Field(
        default="cut", description="A plan over the budget is cut by max_rows, or refused"
    )
    cards_id: str = Field(default="", description="card_features to use; empty: of this run, else the latest that passed")


class CheckpointConfig(dg.Config):
    """Where and how the plan is executed; what is trained stands in the plan."""

    plan_id: str = Field(default="", description="work_plan to train; empty: of this run, else the latest that passed")
    device: Literal["auto", "gpu", "cpu"] = Field(default="auto", description="auto takes a GPU where there is one")
    allow_inexact: bool = Field(default=False, description="Recover under another BLAS, MLX version or device")


@dg.asset(**chain("work_plan", "training", ("parquet",), "plans", ("parquet_day", "ratings", "card_features")))
def work_plan(context: dg.AssetExecutionContext, config: WorkPlanConfig, workspace: Workspace) -> dg.MaterializeResult:
    """The TBPTT plan of one training run over the catalog's validated days: lanes, chunks, microbatches of every epoch."""
    from tcg_core.plan.build import build_plan

    home = workspace.home()
    with refusals():
        chosen = recipe_of(plain(config.recipe), last_n_days=NIGHTLY_DAYS if config.preset == "nightly" else 0)
        fitted = fit(home, chosen, config.night_budget_hours, config.over_budget)
        cards = hand_over(context, home, "card_features", "card_features", config.cards_id)
    context.log.info(f"night: {fitted.line}")
    ran = run_stage(context, lambda: build_plan(home, fitted.recipe, cards.id))
    told = {"card_features": f"{cards.id} ({cards.rule})", "night": fitted.line}
    return materialized(context, "work_plan", ran, table="chunks.parquet", extra=told)


@dg.asset(**chain("mlx_checkpoint", "training", ("mlx",), "checkpoints", ("work_plan",)))
def mlx_checkpoint(
    context: dg.AssetExecutionContext, config: CheckpointConfig, workspace: Workspace, trainer: dg.PipesSubprocessClient
) -> dg.MaterializeResult:
    """The policy, trained by MLX in a process of its own; a killed run goes on from its latest checkpoint."""
    home = workspace.home()
    with refusals():
        plan = hand_over(context, home, "work_plan", "work_plan", config.plan_id)
    command = [sys.executable, "-m", "tcg_assets.trainer", "--home", str(home.root), "--plan", plan.id]
    command += ["--device", config.device, "--parent", str(os.getpid())] + ["--allow-inexact"] * config.allow_inexact
    said = trainer.run(context=context, command=command, cwd=str(_ROOT)).get_custom_messages()
    ran = _outcome(said)
    return materialized(context, "mlx_checkpoint", ran, extra={"work_plan": f"{plan.id} ({plan.rule})"})


def _outcome(said: Any) -> Ran:
    if not said:
        raise dg.Failure(description="the trainer ended without saying what it built", allow_retries=False)
    try:
        built, seconds = ran_of(said[-1])
    except Refused as refused:
        raise dg.Failure(description=str(refused), allow_retries=False) from None
    return Ran(built, seconds)
