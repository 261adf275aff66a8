# mypy: disable-error-code="untyped-decorator"
"""What a person does about a bad day from the UI's launchpad: leave it out with a reason, or take it back."""

import dagster as dg
from pydantic import Field

from tcg_assets.assets.resources import Workspace
from tcg_assets.pages.observe import tell_lineage
from tcg_assets.pages.outcome import refusals
from tcg_core.catalog.datasets import DatasetRow


class ExcludeConfig(dg.Config):
    """A day and why it is left out."""

    day: str = Field(description="The validated day, YYYY-MM-DD")
    reason: str = Field(description="Why it is left out of training; it is recorded and shown")


class RestoreConfig(dg.Config):
    """A day, and which of its datasets."""

    day: str = Field(description="The day, YYYY-MM-DD")
    dataset: str = Field(default="", description="Its dataset; the excluded or superseded one changed last if left out")


@dg.op
def exclude(context: dg.OpExecutionContext, config: ExcludeConfig, workspace: Workspace) -> None:
    """Takes a validated day out of selection, with a reason."""
    from tcg_core.days.states import exclude_day

    with refusals():
        home = workspace.home()
        _tell(context, exclude_day(home, config.day, config.reason))
    tell_lineage(context.instance, home, [config.day])


@dg.op
def restore(context: dg.OpExecutionContext, config: RestoreConfig, workspace: Workspace) -> None:
    """Makes an excluded or superseded dataset of the day the validated one again, if its files are what they were."""
    from tcg_core.days.states import restorable, restore_day

    with refusals():
        home = workspace.home()
        _tell(context, restore_day(home, config.day, config.dataset or restorable(home, config.day)))
    tell_lineage(context.instance, home, [config.day])


def _tell(context: dg.OpExecutionContext, row: DatasetRow) -> None:
    """The day's page says it too: an observation lies beside the day's materialization."""
    state = f"{row.state}: {row.reason}" if row.reason else row.state
    context.log.info(f"day {row.day}: dataset {row.dataset_id} is {state}")
    metadata = {"state": state, "dataset": row.dataset_id}
    context.log_event(dg.AssetObservation("parquet_day", partition=row.day, metadata=metadata, description=state))


@dg.job(description="Leave a bad day out of training, with a recorded reason.")
def exclude_day() -> None:
    """One op."""
    exclude()


@dg.job(description="Take an excluded or superseded day back into training.")
def restore_day() -> None:
    """One op."""
    restore()
