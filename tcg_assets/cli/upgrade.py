"""`tcg upgrade`: what a newer code means for this home, before anything is done about it, and then doing it."""

from typing import Annotated

import typer

from tcg_assets.cli.show import ChecksFailed, table
from tcg_core.base.errors import ConfigError
from tcg_core.base.home import Home


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command()(upgrade)


def upgrade(
    apply: Annotated[bool, typer.Option("--apply", help="Prove the days that a proof can carry over.")] = False,
    rebuild: Annotated[bool, typer.Option("--rebuild", help="With --apply: build again what no proof carries over.")] = False,
    workers: Annotated[int, typer.Option(min=1, help="Worker processes that share a day.")] = 2,
    register_runs: Annotated[bool, typer.Option("--sync/--no-sync", help="Report the days to Dagster at the end.")] = True,
) -> None:
    """Says what becomes stale under this code, what a proof carries over, and the hours of both ways."""
    from tcg_assets.cli.backfill import report_days
    from tcg_core.days.states import stale_days
    from tcg_core.ops.upgrade import carry_over
    from tcg_core.ops.upgrade import upgrade as compare

    if rebuild and not apply:
        raise ConfigError("--rebuild is of use with --apply only")
    home = Home.resolve().prepare()
    found = compare(home)
    print(found.verdict)
    lines = [[line.what, line.count, line.result, line.which, line.remedy] for line in found.lines if line.count]
    table("under this code", ["what", "count", "result", "which", "what to do"], lines)
    if not apply:
        return
    done = list(carry_over(home, found, workers, rebuild))
    table("days", ["day", "result", "why"], [list(item) for item in done])
    if register_runs and done:
        report_days(home, [day for day, _, _ in done])
    stale = [day.day for day in stale_days(home)]
    if stale:
        why = {day: line for day, _, line in done}
        raise ChecksFailed(f"{len(stale)} days are still stale: {stale[0]}: {why.get(stale[0], 'it must be built again')}")
