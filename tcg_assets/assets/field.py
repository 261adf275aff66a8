# mypy: disable-error-code="untyped-decorator, type-arg"
"""Who played and how well: ratings over all days, and how a day's field differs from the days before it."""

import dagster as dg

from tcg_assets.assets.partitions import days
from tcg_assets.assets.resources import Workspace
from tcg_assets.assets.wiring import chain, described
from tcg_assets.checks import specs
from tcg_assets.pages.outcome import materialized, run_stage


@dg.asset(**chain("ratings", "days", ("sqlite", "parquet"), "ratings", ("parquet_day",)))
def ratings(context: dg.AssetExecutionContext, workspace: Workspace) -> dg.MaterializeResult:
    """Ratings of every agent at the start of every validated day, recomputed in order of time from the first changed day."""
    from tcg_core.ratings.stage import rate_agents

    ran = run_stage(context, lambda: rate_agents(workspace.home()))
    return materialized(context, "ratings", ran)


@dg.asset(
    partitions_def=days,
    deps=["parquet_day"],
    check_specs=specs("field_drift"),
    **described("field_drift", "days", ("python",), "drift"),
)
def field_drift(context: dg.AssetExecutionContext, workspace: Workspace) -> dg.MaterializeResult:
    """The day's decks, teams, engine versions, game length and first-player win rate against the days before it."""
    from tcg_core.days.drift import field_drift as compare

    ran = run_stage(context, lambda: compare(workspace.home(), context.partition_key))
    return materialized(context, "field_drift", ran)
