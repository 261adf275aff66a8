"""`tcg day`: record, fetch, add, build and list days."""

from pathlib import Path
from typing import Annotated

import typer

from tcg_assets.cli.show import ChecksFailed, show, table
from tcg_core.base.home import Home, parse_day

app = typer.Typer(no_args_is_help=True, help="Days: record real games, fetch or add an archive, build and promote, list.")


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
    from tcg_core.days.take import add_archive

    print(add_archive(Home.resolve().prepare(), archive))


@app.command()
def fetch(
    date: Annotated[list[str] | None, typer.Option(help="A day, YYYY-MM-DD; may be given more than once.")] = None,
    between: Annotated[tuple[str, str] | None, typer.Option("--range", help="First and last day, both included.")] = None,
    missing: Annotated[bool, typer.Option("--missing", help="Every published day that is not here yet.")] = False,
    listing: Annotated[bool, typer.Option("--list", help="Only list the published days.")] = False,
    again: Annotated[bool, typer.Option("--again", help="Also days whose archive was taken before.")] = False,
) -> None:
    """Downloads day archives from Kaggle into the inbox; an interrupted download is continued by the same command."""
    from tcg_core.fetch.days import fetch_days, held_days, in_range, named, published_days
    from tcg_core.fetch.errors import FetchError
    from tcg_core.fetch.remote import KaggleRemote

    if sum((bool(date), between is not None, missing, listing)) != 1:
        raise FetchError("say what to fetch: exactly one of --date, --range, --missing, --list")
    asked = [parse_day(day) for day in (*(date or ()), *(between or ()))]
    home, remote = Home.resolve().prepare(), KaggleRemote()
    index, held = published_days(home, remote), held_days(home)
    if listing:
        rows = [[item.day, item.episodes, item.bytes, held.get(item.day, "")] for item in index]
        table("published days", ["day", "episodes", "json bytes", "here"], rows)
        return
    wanted = named(index, asked) if date else in_range(index, *between) if between else [d for d in index if d.day not in held]
    done = fetch_days(home, remote, wanted, again)
    rows = [[item.day, "fetched", item.bytes, item.members] for item in done.fetched]
    rows += [[day, f"here already, in {held.get(day, 'inbox')}", None, None] for day in done.held]
    rows += [[day, why, None, None] for day, why in done.failed]
    table("days", ["day", "result", "bytes", "episodes"], rows)
    if done.failed:
        raise FetchError(f"{len(done.failed)} of {len(wanted)} days could not be fetched; the first: {': '.join(done.failed[0])}")


@app.command()
def build(
    day: Annotated[str, typer.Argument(help="The day, YYYY-MM-DD.")],
    workers: Annotated[int, typer.Option(min=1, help="Worker processes.")] = 2,
    would_ko: Annotated[
        bool,
        typer.Option("--would-ko", help="Also add look-ahead results of every attack, for analysis and model.would_ko."),
    ] = False,
) -> None:
    """Takes the day's archive from the inbox, builds its Parquet, checks it and promotes it."""
    from tcg_core.days.build import build_day
    from tcg_core.days.promote import promote_day
    from tcg_core.days.take import take_archive
    from tcg_core.lookahead.settings import WouldKo

    home, day = Home.resolve().prepare(), parse_day(day)
    show(take_archive(home, day))
    show(build_day(home, day, workers=workers, would_ko=WouldKo() if would_ko else None))
    show(promote_day(home, day))


@app.command("ls")
def list_days() -> None:
    """Lists the inbox and the days of the catalog with their states, and which of them are stale."""
    from tcg_core.days.states import listed_days

    home = Home.resolve().prepare()
    table("inbox", ["archive", "bytes"], [[path.name, path.stat().st_size] for path in sorted(home.inbox.glob("*.zip"))])
    found = listed_days(home)
    table("days", list(found[0]) if found else [], [list(row.values()) for row in found])


@app.command()
def verify(
    days: Annotated[list[str] | None, typer.Argument(help="Days, YYYY-MM-DD; every validated day if left out.")] = None,
) -> None:
    """Reads validated days and their archives again, whole; a damaged day is left out of training until it is built again."""
    from tcg_core.base.progress import track
    from tcg_core.catalog.connection import catalog
    from tcg_core.catalog.datasets import datasets_of
    from tcg_core.days.promote import verify_day

    asked = [parse_day(day) for day in days or ()]
    home = Home.resolve().prepare()
    with catalog(home) as connection:
        chosen = asked or [row.day for row in datasets_of(connection, state="validated")]
    checks = {day: verify_day(home, day) for day in track(chosen, "verify", len(chosen), "days")}
    rows = [
        [day, c.name, "pass" if c.passed else "FAIL" if c.blocks else "warn", c.message] for day in chosen for c in checks[day]
    ]
    table("verified days", ["day", "check", "result", "message"], rows)
    damaged = [day for day in chosen if any(check.blocks for check in checks[day])]
    if damaged:
        raise ChecksFailed(f"{len(damaged)} of {len(chosen)} days are damaged and out of selection: {', '.join(damaged)}")
