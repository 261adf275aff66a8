"""`tcg day`: record, add, build and list days."""

from pathlib import Path
from typing import Annotated

import typer

from tcg_core.commands.show import show, table
from tcg_core.home import Home, parse_day

app = typer.Typer(no_args_is_help=True, help="Days: record real games, add an archive, build and promote, list.")


@app.command()
def record(
    date: Annotated[str, typer.Option(help="The day, YYYY-MM-DD.")],
    episodes: Annotated[int, typer.Option(min=1, help="How many episodes.")] = 40,
    agents: Annotated[tuple[str, str], typer.Option(help="Two baseline agents; they swap seats by episode.")] = (
        "heuristic",
        "heuristic",
    ),
    generation: Annotated[str, typer.Option(help="Engine generation: v1 or v2.")] = "v1",
    best_of: Annotated[int, typer.Option(help="Games of an episode; v1 plays best of one.")] = 1,
    seed: Annotated[int, typer.Option(help="Seed of agents and decks; the engine itself cannot be seeded.")] = 13,
) -> None:
    """Plays games on the real engine and writes inbox/DATE.zip in Kaggle's replay format."""
    from tcg_core.replay.record_day import record_day

    path = record_day(
        Home.resolve().prepare(), parse_day(date), episodes, agents, generation=generation, best_of=best_of, seed=seed
    )
    print(path)


@app.command()
def add(archive: Annotated[Path, typer.Argument(help="A day archive named YYYY-MM-DD.zip.")]) -> None:
    """Checks an archive and puts a copy into the inbox; the sensor or `tcg day build` takes it from there."""
    from tcg_core.dataset.take import add_archive

    print(add_archive(Home.resolve().prepare(), archive))


@app.command()
def build(
    day: Annotated[str, typer.Argument(help="The day, YYYY-MM-DD.")],
    workers: Annotated[int, typer.Option(min=1, help="Worker processes.")] = 2,
) -> None:
    """Takes the day's archive from the inbox, builds its Parquet, checks it and promotes it."""
    from tcg_core.dataset.build import build_day
    from tcg_core.dataset.promote import promote_day
    from tcg_core.dataset.take import take_archive

    home, day = Home.resolve().prepare(), parse_day(day)
    show(take_archive(home, day))
    show(build_day(home, day, workers=workers))
    show(promote_day(home, day))


@app.command("ls")
def list_days() -> None:
    """Lists the inbox and the days of the catalog with their states."""
    from tcg_core.catalog.days import list_days as rows

    home = Home.resolve().prepare()
    table("inbox", ["archive", "bytes"], [[path.name, path.stat().st_size] for path in sorted(home.inbox.glob("*.zip"))])
    found = rows(home)
    table("days", list(found[0]) if found else [], [list(row.values()) for row in found])
