"""`tcg backfill` and `tcg sync`: history without one Dagster run a day, told to Dagster afterwards."""

import os
import subprocess
import sys
from typing import Annotated

import typer

from tcg_assets.cli.show import ChecksFailed, table
from tcg_core.base.home import VARIABLE, Home


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
    register_runs: Annotated[bool, typer.Option("--sync/--no-sync", help="Tell Dagster of the days at the end.")] = True,
) -> None:
    """Takes, builds and promotes a range of days; one that fails stops no other, and the same command continues."""
    from tcg_core.days.backfill import backfill as run

    home = Home.resolve().prepare()
    results = list(run(home, first, last, workers=workers, newest_first=newest_first, missing=missing))
    table("days", ["day", "result", "why"], [[result.day, result.state, result.line] for result in results])
    touched = [result.day for result in results if result.state != "no archive"]
    if register_runs:
        _tell_dagster(home, ["--days", *touched])
    failed = [result for result in results if result.state == "failed"]
    if failed:
        raise ChecksFailed(f"{len(failed)} of {len(touched)} days failed; the first: {failed[0].day}: {failed[0].line}")


def sync() -> None:
    """Fills Dagster's history from the catalog and the manifests on disk; tells it only what it does not know."""
    _tell_dagster(Home.resolve().prepare(), [])


def _tell_dagster(home: Home, arguments: list[str]) -> None:
    # In a process of its own: the core never imports Dagster.
    told = subprocess.run(
        [sys.executable, "-m", "tcg_assets.sync.fill", *arguments], env=os.environ | {VARIABLE: str(home.root)}, check=False
    )
    if told.returncode:
        raise ChecksFailed(f"Dagster was not told (exit {told.returncode}); `tcg sync` does it again")
