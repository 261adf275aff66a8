"""`tcg day prove`: days of other code are carried over where a sample shows that their rows are the same."""

from typing import Annotated

import typer

from tcg_assets.cli.show import ChecksFailed, table
from tcg_core.base.errors import ConfigError
from tcg_core.base.home import Home, parse_day


def register(app: typer.Typer) -> None:
    """Adds the command to `tcg day`."""
    app.command()(prove)


def prove(
    days: Annotated[list[str] | None, typer.Argument(help="Days, YYYY-MM-DD.")] = None,
    every: Annotated[bool, typer.Option("--all", help="Every validated day that other code built.")] = False,
    workers: Annotated[int, typer.Option(min=1, help="Worker processes that share the sample of a day.")] = 2,
    register_runs: Annotated[bool, typer.Option("--sync/--no-sync", help="Report the days to Dagster at the end.")] = True,
) -> None:
    """Encodes a sample of each day again and compares it with the disk; an equal day counts as built by this code."""
    from tcg_assets.cli.backfill import report_days
    from tcg_core.days.prove import prove_days
    from tcg_core.days.states import stale_days

    asked = [parse_day(day) for day in days or ()]
    if bool(asked) == every:
        raise ConfigError("say what to prove: days, or --all")
    home = Home.resolve().prepare()
    results = list(prove_days(home, asked or [day.day for day in stale_days(home)], workers))
    rows = [[r.day, r.state, f"{r.compared} of {r.of}" if r.of else "", round(r.seconds, 1), r.line] for r in results]
    table("proven days", ["day", "result", "episodes", "seconds", "why"], rows)
    carried = [result.day for result in results if result.carried]
    if register_runs and carried:
        report_days(home, carried)
    stale = [result for result in results if not result.carried]
    if stale:
        raise ChecksFailed(f"{len(stale)} of {len(results)} days are stale: {stale[0].day}: {stale[0].line}")
