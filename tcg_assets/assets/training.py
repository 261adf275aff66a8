# mypy: disable-error-code="untyped-decorator, type-arg"
"""From validated days to a trained policy: the plan is data that is made first, then executed.

One recipe is given once, to `work_plan`; `mlx_checkpoint` reads it from the plan and has no key that could contradict it.
"""

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import dagster as dg
from pydantic import Field

from tcg_assets.assets.handover import hand_over
from tcg_assets.assets.jobs import CURRICULUM_TAG
from tcg_assets.assets.launchpad import RecipeConfig, plain
from tcg_assets.assets.recipes import PRESETS, Preset, asked, require_one_meaning
from tcg_assets.assets.resources import Workspace
from tcg_assets.assets.unfinished import noted
from tcg_assets.assets.wiring import chain
from tcg_assets.pages.outcome import Ran, materialized, refusals, run_stage
from tcg_assets.trainer.wire import ran_of
from tcg_core.base.built import Built
from tcg_core.base.home import Home
from tcg_core.base.same_code import for_child
from tcg_core.nightly.budget import fit
from tcg_core.recipe import Recipe

_ROOT = Path(__file__).resolve().parents[2]


class WorkPlanConfig(dg.Config):
    """The recipe of a training run, or a plan that is there already."""

    plan_id: str = Field(
        default="", description="Go on with this plan as it is, instead of building one; its recipe and cards are in it"
    )
    recipe: RecipeConfig = Field(  # type: ignore[valid-type]
        default_factory=RecipeConfig, description="Selection, split, work, model, optimizer, schedule, epochs, seed"
    )
    preset: Preset = Field(default="all", description=PRESETS)
    night_budget_hours: float = Field(default=0.0, ge=0.0, description="Hours that training may take; 0: no limit")
    over_budget: Literal["cut", "refuse"] = Field(
        default="cut", description="A plan over the budget is cut by max_rows, or refused"
    )
    device: Literal["auto", "gpu", "cpu"] = Field(
        default="auto", description="Of preset all: where it will be trained, so that the budget is compared with the rate there"
    )
    because: str = Field(default="", description="Of preset all: why this recipe, as the schedule says; shown and stored")
    cards_id: str = Field(default="", description="card_features to use; empty: of this run, else the latest that passed")


class CheckpointConfig(dg.Config):
    """Where, how and how long the plan is executed; what is trained stands in the plan."""

    plan_id: str = Field(default="", description="work_plan to train; empty: of this run, else the latest that passed")
    device: Literal["auto", "gpu", "cpu"] = Field(default="auto", description="auto takes a GPU where there is one")
    budget_hours: float = Field(
        default=0.0, ge=0.0, description="Hours after which training ends with `latest` and is told as unfinished; 0: no limit"
    )
    allow_inexact: bool = Field(default=False, description="Recover under another BLAS, MLX version or device")


@dg.asset(**chain("work_plan", "training", ("parquet",), "plans", ("parquet_day", "ratings", "card_features")))
def work_plan(context: dg.AssetExecutionContext, config: WorkPlanConfig, workspace: Workspace) -> dg.MaterializeResult:
    """The TBPTT plan of one training run over the catalog's validated days: lanes, chunks, microbatches of every epoch."""
    home = workspace.home()
    if config.plan_id:
        return _go_on(context, home, config)
    with refusals():
        require_one_meaning(config.preset, plain(config), plain(WorkPlanConfig()))
        cards = hand_over(context, home, "card_features", "card_features", config.cards_id)
        wanted = asked(home, config.preset, plain(config))
        context.log.info(f"recipe: {wanted.rule}")
        fitted = fit(home, wanted.recipe, wanted.budget_hours, wanted.over_budget, wanted.device)
    context.log.info(f"night: {fitted.line}")
    ran = run_stage(context, lambda: _builder(context)(home, fitted.recipe, cards.id))
    extra = {"card_features": f"{cards.id} ({cards.rule})", "rule": wanted.rule, "night": fitted.line}
    return materialized(context, "work_plan", ran, extra=extra)


def _builder(context: dg.AssetExecutionContext) -> Callable[[Home, Recipe, str], Built]:
    """What makes the plan: a phase of a curriculum that has its plan keeps it, even if days were added since."""
    from tcg_core.plan.build import build_plan
    from tcg_core.plan.curriculum import plan_phase

    return plan_phase if CURRICULUM_TAG in context.run.tags else build_plan


def _go_on(context: dg.AssetExecutionContext, home: Home, config: WorkPlanConfig) -> dg.MaterializeResult:
    from tcg_core.plan.again import plan_again

    if config != WorkPlanConfig(plan_id=config.plan_id):
        line = f"work_plan.plan_id is {config.plan_id}, a plan that has its recipe, days and cards: leave the other keys out"
        raise dg.Failure(description=line, allow_retries=False)
    ran = run_stage(context, lambda: plan_again(home, config.plan_id))
    return materialized(context, "work_plan", ran, extra={"goes_on": "this plan was begun before"})


@dg.asset(**chain("mlx_checkpoint", "training", ("mlx",), "checkpoints", ("work_plan",)))
def mlx_checkpoint(
    context: dg.AssetExecutionContext, config: CheckpointConfig, workspace: Workspace, trainer: dg.PipesSubprocessClient
) -> dg.MaterializeResult:
    """The policy, trained by MLX in a process of its own; a killed run goes on from its latest checkpoint."""
    home = workspace.home()
    with refusals():
        plan = hand_over(context, home, "work_plan", "work_plan", config.plan_id)
    ran = _trained(context, trainer, home, plan.id, config.device, config.allow_inexact, config.budget_hours)
    return materialized(context, "mlx_checkpoint", ran, extra={"work_plan": f"{plan.id} ({plan.rule})"})


def _trained(
    context: dg.AssetExecutionContext,
    trainer: dg.PipesSubprocessClient,
    home: Home,
    plan: str,
    device: str,
    allow_inexact: bool = False,
    budget_hours: float = 0.0,
) -> Ran:
    command = [sys.executable, "-m", "tcg_assets.trainer", "--home", str(home.root), "--plan", plan]
    command += ["--device", device, "--parent", str(os.getpid())] + ["--allow-inexact"] * allow_inexact
    command += ["--budget-hours", str(budget_hours)]
    with noted(context, home, plan):
        env = for_child("mlx_checkpoint")
        return _outcome(trainer.run(context=context, command=command, cwd=str(_ROOT), env=env).get_custom_messages())


def _outcome(said: Any) -> Ran:
    if not said:
        raise dg.Failure(description="the trainer ended without saying what it built", allow_retries=False)
    built, seconds = ran_of(said[-1])
    return Ran(built, seconds)
