# mypy: disable-error-code="untyped-decorator, type-arg"
"""From an archive in the inbox to a promoted day.

A day is ``parquet_day`` only once its staged form has passed; training selects days by the catalog's ``validated``
state, never by Dagster's partition list.
"""

from collections.abc import Iterator

import dagster as dg

from tcg_assets.assets.deadlines import WHEN, deadline
from tcg_assets.assets.partitions import days
from tcg_assets.assets.resources import Workspace
from tcg_assets.assets.wiring import DAY_POOL, day_spec, described
from tcg_assets.checks import specs
from tcg_assets.pages.observe import day_page, tell_lineage
from tcg_assets.pages.outcome import materialized, run_stage
from tcg_core.base.checks import Check

_OF_CATALOG = "catalog_"


@dg.asset(
    partitions_def=days,
    check_specs=specs("day_archive"),
    **described("day_archive", "days", ("python", "zip"), "archives"),
)
def day_archive(context: dg.AssetExecutionContext, workspace: Workspace) -> dg.MaterializeResult:
    """The day's zip, moved from the inbox to `archives/DATE/SHA256.zip`, with the members of its central directory."""
    from tcg_core.days.take import take_archive

    ran = run_stage(context, lambda: take_archive(workspace.home(), context.partition_key))
    return materialized(context, "day_archive", ran)


@dg.multi_asset(
    name="build_day",
    pool=DAY_POOL,
    partitions_def=days,
    specs=[
        day_spec(
            "day_catalog",
            ("sqlite",),
            "catalog.sqlite",
            ("day_archive",),
            "Rows of the day in the SQLite catalog: the day itself, its episodes, games, participants and decks.",
        ),
        day_spec(
            "staged_day",
            ("parquet",),
            "staging",
            ("day_archive",),
            "The day's training rows as Parquet, with their manifest, in the staging area: not yet training data.",
        ),
    ],
    check_specs=specs("day_catalog", "staged_day"),
)
def build_day(context: dg.AssetExecutionContext, workspace: Workspace) -> Iterator[dg.MaterializeResult]:
    """One pass over the day's archive feeds the catalog and the staged Parquet alike."""
    from tcg_core.days.build import build_day as build
    from tcg_core.lookahead.kept import kept_settings

    home, day = workspace.home(), context.partition_key
    ran = run_stage(context, lambda: build(home, day, would_ko=kept_settings(home, day)))
    of_catalog: list[Check] = [check for check in ran.built.checks if check.name.startswith(_OF_CATALOG)]
    of_rows = [check for check in ran.built.checks if not check.name.startswith(_OF_CATALOG)]
    yield materialized(context, "day_catalog", ran, checks=of_catalog)
    place = f"days/{context.partition_key}/{ran.built.path.name}"
    yield materialized(context, "staged_day", ran, checks=of_rows, extra={"becomes": f"{place}, by promotion"})


@dg.asset(
    partitions_def=days,
    deps=["day_catalog", "staged_day"],
    check_specs=specs("parquet_day"),
    # Kaggle publishes every night: a day and a half without a promoted day is a fault somewhere.
    freshness_policy=deadline(WHEN.day_hours),
    **described("parquet_day", "days", ("parquet",), "days"),
)
def parquet_day(context: dg.AssetExecutionContext, workspace: Workspace) -> dg.MaterializeResult:
    """Promotion: the staged day renamed to `days/DATE/SHA12/` and marked `validated` in the catalog, as one commit."""
    from tcg_core.days.absent import ROWLESS, gap_before, named
    from tcg_core.days.promote import promote_day

    home = workspace.home()
    ran = run_stage(context, lambda: promote_day(home, context.partition_key))
    gap = gap_before(home, context.partition_key)
    told = {"state": "validated" if ran.built.facts.get("rows") else ROWLESS}
    told |= {"gap_before": f"no archive of {named(gap)}"} if gap else {}
    # A day that was published again marks what was built from the one before.
    tell_lineage(context.instance, home, ())
    return materialized(context, "parquet_day", ran, extra=told | day_page(home, context.partition_key))
