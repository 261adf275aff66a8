"""`tcg play` and `tcg tournament`."""

from typing import Annotated

import typer

from tcg_core.commands.show import show
from tcg_core.home import Home


def register(app: typer.Typer) -> None:
    """Adds the commands."""
    app.command()(play)
    app.command()(tournament)


def play(
    first: Annotated[str, typer.Argument(help="Agent in seat 0: a baseline, a submission id, an archive or a folder.")],
    second: Annotated[str, typer.Argument(help="Agent in seat 1.")],
    seed: Annotated[int, typer.Option(help="Seed of the agents.")] = 13,
    generation: Annotated[str, typer.Option(help="Engine generation: v1 or v2.")] = "v1",
) -> None:
    """Plays one game and prints its result."""
    from tcg_core.arena.play import play_one

    for name, value in play_one(Home.resolve().prepare(), first, second, seed=seed, generation=generation).items():
        print(f"{name}: {value}")


def tournament(
    submission: Annotated[str, typer.Argument(help="Submission id; the latest whose checks passed if left out.")] = "",
    opponents: Annotated[list[str] | None, typer.Option("--opponent", help="May be given several times.")] = None,
    games: Annotated[int, typer.Option(min=2, help="Games against each opponent; even, so that seats balance.")] = 100,
    seed: Annotated[int, typer.Option(help="Seed of the schedule.")] = 13,
    workers: Annotated[int, typer.Option(min=1, help="Worker processes.")] = 2,
) -> None:
    """Plays a seat-balanced tournament and writes its report; started again after a kill it goes on."""
    from tcg_core.arena.tournament import tournament as run
    from tcg_core.catalog.registry import latest_passed

    home = Home.resolve().prepare()
    chosen = submission or latest_passed(home, "submission")
    show(run(home, chosen, opponents=tuple(opponents or ("random", "heuristic")), games=games, seed=seed, workers=workers))
