"""`tcg play`, `tcg tournament` and `tcg champion`."""

from typing import Annotated, Literal

import typer

from tcg_assets.cli.show import ChecksFailed, show, table
from tcg_core.base.home import Home

champion_app = typer.Typer(help="Who reigns, by which tournament, and what was decided before.")
_OPPONENT = "A baseline (`heuristic`, or `heuristic:DECK`), submission id, archive or folder; may be given several times."


def register(app: typer.Typer) -> None:
    """Adds the commands."""
    app.command()(play)
    app.command()(tournament)
    app.add_typer(champion_app, name="champion")


def play(
    first: Annotated[str, typer.Argument(help="Agent in seat 0: a baseline, a submission id, an archive or a folder.")],
    second: Annotated[str, typer.Argument(help="Agent in seat 1.")],
    seed: Annotated[int, typer.Option(help="Seed of the agents.")] = 13,
    generation: Annotated[str, typer.Option(help="Engine generation: v1 or v2.")] = "v1",
) -> None:
    """Plays one game and prints its result; the exit code is 1 if a seat had a fault or moved without its network."""
    from tcg_core.arena.play import play_one, spoiled

    found = play_one(Home.resolve().prepare(), first, second, seed=seed, generation=generation)
    for name, value in found.items():
        print(f"{name}: {value}")
    wrong = spoiled(found)
    if wrong:
        raise ChecksFailed(wrong)


def tournament(
    submission: Annotated[str, typer.Argument(help="Submission id; the latest whose checks passed if left out.")] = "",
    opponents: Annotated[list[str] | None, typer.Option("--opponent", help=_OPPONENT)] = None,
    games: Annotated[
        int, typer.Option(min=2, help="Games (matches with --best-of 3) against each opponent; even, so that seats balance.")
    ] = 100,
    best_of: Annotated[
        int, typer.Option("--best-of", min=1, help="Games of a match at most: 1, or an odd number on engine v2, as 3.")
    ] = 1,
    seed: Annotated[int, typer.Option(help="Seed of the schedule.")] = 13,
    workers: Annotated[int, typer.Option(min=1, help="Worker processes.")] = 2,
    generation: Annotated[
        Literal["", "v1", "v2"], typer.Option(help="Engine generation; the first that the submission declares if left out.")
    ] = "",
    opponent_deck: Annotated[str, typer.Option(help="Deck of baselines without one of their own.")] = "sample",
    nonce: Annotated[str, typer.Option(help="A different text plays a new tournament with the same settings.")] = "1",
    champion: Annotated[bool, typer.Option(help="The reigning champion plays too, named or not.")] = True,
) -> None:
    """Plays a seat-balanced tournament and writes its report; after a kill the same command continues it."""
    from tcg_core.arena.tournament import tournament as run
    from tcg_core.catalog.promotions import challenged
    from tcg_core.catalog.registry import latest_passed

    home = Home.resolve().prepare()
    chosen = submission or latest_passed(home, "submission")
    panel = tuple(opponents or ("random", "heuristic"))
    show(
        run(
            home,
            chosen,
            opponents=challenged(home, chosen, panel) if champion else panel,
            games=games,
            seed=seed,
            workers=workers,
            generation=generation or None,
            opponent_deck=opponent_deck,
            nonce=nonce,
            best_of=best_of,
        )
    )


@champion_app.callback(invoke_without_command=True)
def champion(context: typer.Context) -> None:
    """Shows the champion, whether its promotion still stands, and all decisions."""
    if context.invoked_subcommand:
        return
    from tcg_core.arena.champion import champion_checks, decisions_table
    from tcg_core.catalog.behind import catalog_behind
    from tcg_core.catalog.promotions import champion as reigning
    from tcg_core.catalog.promotions import history

    home = Home.resolve().prepare()
    if line := catalog_behind(home):
        raise ChecksFailed(line)
    print(f"champion: {reigning(home)}")
    checks = champion_checks(home)
    for check in checks:
        print(f"  {'pass' if check.passed else 'FAIL' if check.blocks else 'warn'} {check.name}: {check.message}")
    table("decisions", *decisions_table(history(home)))
    failed = [check for check in checks if check.blocks]
    if failed:
        raise ChecksFailed(f"champion: check {failed[0].name} failed: {failed[0].message}")


@champion_app.command()
def decide(
    tournament: Annotated[str, typer.Argument(help="Tournament id; the latest whose checks passed if left out.")] = "",
) -> None:
    """Decides by a finished tournament whether its candidate becomes champion, and says why."""
    from tcg_core.arena.champion import crown
    from tcg_core.catalog.registry import latest_passed

    home = Home.resolve().prepare()
    show(crown(home, tournament or latest_passed(home, "tournament")))
