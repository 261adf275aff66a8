# mypy: disable-error-code="untyped-decorator, type-arg"
"""From a checkpoint to something that can be uploaded."""

from typing import Literal

import dagster as dg
from pydantic import Field

from tcg_assets.assets.handover import hand_over
from tcg_assets.assets.resources import Workspace
from tcg_assets.assets.wiring import chain
from tcg_assets.pages.observe import submission_origin
from tcg_assets.pages.outcome import materialized, refusals, run_stage


class ArtifactConfig(dg.Config):
    """Which checkpoint is converted."""

    run: str = Field(default="", description="Training run, that is plan id; empty: of this run, else the latest that passed")
    which: Literal["best", "latest"] = Field(default="best", description="Pointer of the run that is converted")


class SubmissionConfig(dg.Config):
    """What is packed."""

    artifact_id: str = Field(default="", description="torch_artifact; empty: of this run, else the latest that passed")
    deck: str = Field(default="sample", description="Name in the deck registry: `sample`, or NAME of decks/NAME.csv")


@dg.asset(**chain("torch_artifact", "release", ("pytorch",), "artifacts", ("mlx_checkpoint",)))
def torch_artifact(context: dg.AssetExecutionContext, config: ArtifactConfig, workspace: Workspace) -> dg.MaterializeResult:
    """The policy as PyTorch FP32 weights and contract, proven equal to the MLX one and reloaded in a fresh process."""
    from tcg_core.convert.artifact import convert

    home = workspace.home()
    with refusals():
        run = hand_over(context, home, "mlx_checkpoint", "checkpoint", config.run)
    ran = run_stage(context, lambda: convert(home, run.id, which=config.which))
    return materialized(context, "torch_artifact", ran, extra={"checkpoint": f"{run.id} {config.which} ({run.rule})"})


@dg.asset(**chain("submission", "release", ("pytorch", "python"), "submissions", ("torch_artifact",)))
def submission(context: dg.AssetExecutionContext, config: SubmissionConfig, workspace: Workspace) -> dg.MaterializeResult:
    """`submission.tar.gz`: weights, deck and the very encoder that training used, imported and played as Kaggle does."""
    from tcg_core.submission.pack import pack

    home = workspace.home()
    with refusals():
        artifact = hand_over(context, home, "torch_artifact", "torch_artifact", config.artifact_id)
    ran = run_stage(context, lambda: pack(home, artifact.id, deck=config.deck))
    with refusals():
        made_from = submission_origin(home, ran.built.id)
    told = {"torch_artifact": f"{artifact.id} ({artifact.rule})"}
    return materialized(context, "submission", ran, extra=told | made_from)
