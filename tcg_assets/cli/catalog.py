"""`tcg catalog`: what is registered, whether disk and catalog agree, how agents are rated."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from tcg_assets.cli.show import ChecksFailed, show, table
from tcg_core.base.home import Home, parse_day

if TYPE_CHECKING:
    from tcg_core.ratings.leaderboards import Leaderboard

app = typer.Typer(no_args_is_help=True, help="The SQLite day catalog.")
ratings_app = typer.Typer(help="Ratings of agents by day: computed from games, or from leaderboard snapshots.")
app.add_typer(ratings_app, name="ratings")


@app.command("ls")
def list_artifacts() -> None:
    """Lists the registered artifacts, newest last, and whether their checks passed."""
    from tcg_core.catalog.registry import list_artifacts as rows

    found = rows(Home.resolve().prepare())
    table("artifacts", list(found[0]) if found else [], [list(row.values()) for row in found])


@app.command()
def verify() -> None:
    """Compares disk with catalog, both ways, day by day."""
    from tcg_core.catalog.verify import verify as run

    checks = run(Home.resolve().prepare())
    table("checks", ["check", "result", "message"], [[c.name, "pass" if c.passed else "FAIL", c.message] for c in checks])
    failed = [check for check in checks if check.blocks]
    if failed:
        raise ChecksFailed(f"catalog and disk differ: {failed[0].name}: {failed[0].message}")


@app.command()
def rebuild() -> None:
    """Makes a lost or damaged catalog anew from what lies in the data home, and says what it could not restore.

    A damaged one is moved aside, never deleted; a healthy one is refused. Stop `tcg ui` and the services before.
    """
    from tcg_core.ops.rebuild import UNKNOWN
    from tcg_core.ops.rebuild import rebuild as run

    found = run(Home.resolve())
    table("restored", ["table", "rows"], [[name, count] for name, count in found.counts.items() if count])
    for path in found.aside:
        print(f"moved aside: {path}")
    table("could not be used", ["what"], [[line] for line in found.problems])
    table("named, but not here", ["what"], [[line] for line in found.missing])
    table("not known from files", ["what"], [[line] for line in UNKNOWN])
    print("first: `tcg catalog ratings`, then `tcg catalog verify` and `tcg day verify`, which read what was not read here")


@ratings_app.callback(invoke_without_command=True)
def ratings(
    context: typer.Context,
    day: Annotated[str, typer.Option(help="Also list the best agents at the start of this day.")] = "",
    source: Annotated[Literal["replay", "remote"], typer.Option(help="Whose ratings to list.")] = "replay",
    top: Annotated[int, typer.Option(min=1, help="How many.")] = 20,
) -> None:
    """Updates the ratings from the first day that changed, and shows what they cover."""
    if context.invoked_subcommand:
        return
    from tcg_core.ratings.stage import days_of, rate_agents, table_of

    asked = parse_day(day) if day else ""
    home = Home.resolve().prepare()
    show(rate_agents(home))
    lists = {"rated days": days_of(home)} | (
        {f"best of {asked} by {source}": table_of(home, asked, source, top)} if asked else {}
    )
    for title, found in lists.items():
        table(title, list(found[0]) if found else [], [list(row.values()) for row in found])


@ratings_app.command("import")
def import_ratings(
    file: Annotated[Path, typer.Argument(help="A leaderboard CSV with TeamName and Score, or Kaggle's zip of it.")],
    as_of: Annotated[str, typer.Option(help="The day at whose start it was valid: the day after the download.")],
    replace: Annotated[bool, typer.Option("--replace", help="Put it in the place of another snapshot of that date.")] = False,
) -> None:
    """Keeps a leaderboard snapshot as leaderboards/DATE.csv; `tcg catalog ratings` uses it from that day on."""
    from tcg_core.ratings.leaderboards import import_leaderboard

    _tell(import_leaderboard(Home.resolve().prepare(), file, as_of, replace))


@ratings_app.command("fetch")
def fetch_ratings(
    replace: Annotated[bool, typer.Option("--replace", help="Put it in the place of another snapshot of that date.")] = False,
) -> None:
    """Downloads Kaggle's present leaderboard and keeps it as the snapshot of tomorrow (UTC), as it shows today's games."""
    from tcg_core.fetch.leaderboard import KaggleLeaderboard, fetch_leaderboard

    home = Home.resolve().prepare()
    _tell(fetch_leaderboard(home, KaggleLeaderboard(), replace))


def _tell(board: "Leaderboard") -> None:
    print(f"leaderboard as of {board.as_of}: {len(board.scores)} teams, {board.unscored} without a score ({board.sha256[:12]})")
