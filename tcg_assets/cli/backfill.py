"""`tcg backfill` and `tcg sync`: history without a Dagster run for each day, reported to Dagster afterwards."""

from collections.abc import Collection
from typing import Annotated

import typer

from tcg_assets.cli.show import ChecksFailed, table
from tcg_core.base.errors import TcgError
from tcg_core.base.home import Home, parse_day


def register(app: typer.Typer) -> None:
    """Adds the commands."""
    app.command()(backfill)
    app.command()(sync)


def backfill(
    first: Annotated[str, typer.Argument(help="First day, YYYY-MM-DD; the first known if left out.")] = "",
    last: Annotated[str, typer.Argument(help="Last day, included; the last known if left out.")] = "",
    workers: Annotated[int, typer.Option(min=1, help="Worker processes that share the pass over a day.")] = 2,
    newest_first: Annotated[bool, typer.Option("--newest-first", help="From the last day to the first.")] = False,
    missing: Annotated[bool, typer.Option("--missing", help="Only days without a validated dataset.")] = False,
    register_runs: Annotated[bool, typer.Option("--sync/--no-sync", help="Report the days to Dagster at the end.")] = True,
) -> None:
    """Takes, builds and promotes a range of days; one that fails stops no other, and the same command continues."""
    from tcg_core.days.backfill import backfill as run

    home = Home.resolve().prepare()
    results = list(run(home, first, last, workers=workers, newest_first=newest_first, missing=missing))
    table("days", ["day", "result", "why"], [[result.day, result.state, result.line] for result in results])
    touched = [result.day for result in results if result.state != "no archive"]
    if register_runs:
        report_days(home, touched)
    failed = [result for result in results if result.state == "failed"]
    if failed:
        raise ChecksFailed(f"{len(failed)} of {len(touched)} days failed; the first: {failed[0].day}: {failed[0].line}")


def sync(
    days: Annotated[list[str] | None, typer.Argument(help="Only these days, YYYY-MM-DD; everything if left out.")] = None,
) -> None:
    """Fills Dagster's history from the catalog and the manifests on disk; what Dagster knows is not reported again."""
    named = [parse_day(day) for day in days] if days else None
    _report(Home.resolve().prepare(), named)


def report_days(home: Home, days: Collection[str]) -> None:
    """Reports days to Dagster that were worked on without it. Raises :class:`ChecksFailed` with the remedy if that fails."""
    try:
        _report(home, days)
    except TcgError as error:
        raise ChecksFailed(f"Dagster does not know of the days: {error}; `tcg sync` reports them") from None


def _report(home: Home, days: Collection[str] | None) -> None:
    """Reports to Dagster and prints what; ``days``: only those, None: everything."""
    from tcg_assets.sync.fill import sync
    from tcg_assets.sync.instance import open_instance

    with open_instance(home) as instance:
        found = sync(instance, home, days)
    for line in found.absent:
        print(f"not on disk: {line}")
    print(found.line)
