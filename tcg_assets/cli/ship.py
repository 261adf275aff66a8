"""`tcg deck check`, `tcg submit push` and `tcg ladder`: what leaves the house, and what came of it."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tcg_assets.cli.release import submit_app
from tcg_assets.cli.show import ChecksFailed, table
from tcg_core.base.errors import TcgError
from tcg_core.base.home import Home

if TYPE_CHECKING:
    from tcg_core.submission.push import Proposal

deck_app = typer.Typer(no_args_is_help=True, help="Decks: 60 card ids, one a line.")
ladder_app = typer.Typer(help="Scores on Kaggle's ladder, kept next to their submissions.")


class NobodyTypes(TcgError):
    """A sending without a person at a terminal."""


def register(app: typer.Typer) -> None:
    """Adds the commands."""
    app.add_typer(deck_app, name="deck")
    app.add_typer(ladder_app, name="ladder")


@deck_app.callback()
def deck() -> None:
    """Keeps `check` a command of its own while it is the only one."""


@deck_app.command()
def check(
    file: Annotated[Path, typer.Argument(help="A deck file: 60 card ids, one a line.")],
    generations: Annotated[list[str] | None, typer.Option("--generation", help="Engine generation; all if left out.")] = None,
) -> None:
    """Says whether the engine takes the deck, and if not which rule it breaks."""
    from tcg_core.engine.decks import deck_hash, read_deck, validate_deck
    from tcg_core.engine.errors import DeckError
    from tcg_core.engine.library import GENERATIONS

    cards = read_deck(file)
    broken = []
    for generation in generations or GENERATIONS:
        try:
            validate_deck(generation, cards)
        except DeckError as error:
            broken.append(f"{generation}: {error}")
            print(f"FAIL {generation}: {error}")
        else:
            print(f"pass {generation}: {len(cards)} cards, {len(set(cards))} different, SHA-256 {deck_hash(cards)[:16]}")
    if broken:
        raise ChecksFailed(f"deck {file} is not legal: {broken[0]}")


@submit_app.command()
def push(
    submission: Annotated[str, typer.Argument(help="Submission id; the champion if left out.")] = "",
) -> None:
    """Sends a submission to Kaggle after showing it, on a typed confirmation."""
    from tcg_core.catalog.promotions import BOOTSTRAP, champion
    from tcg_core.fetch.competition import KaggleCompetition
    from tcg_core.submission.push import PushRefused, confirm_and_push

    home = Home.resolve().prepare()
    if not sys.stdin.isatty():
        raise NobodyTypes("tcg submit push needs a person at a terminal: it is never run from a schedule or a pipe")
    chosen = submission or champion(home)
    if chosen == BOOTSTRAP:
        raise PushRefused(f"the champion is the baseline {BOOTSTRAP}, which is no submission: name one")
    record = confirm_and_push(home, chosen, KaggleCompetition(), _ask)
    print(f"sent as {record.pushes[-1].ref}; `tcg ladder fetch` keeps its score, `tcg ladder add` takes one by hand")


def _ask(proposal: "Proposal") -> str:
    print(f"submission {proposal.submission}")
    for name, value in proposal.facts.items():
        print(f"  {name}: {value}")
    print(f"  left today: {proposal.left} before this one")
    return input(f"Type {proposal.typed} to send it: ")


@ladder_app.callback(invoke_without_command=True)
def ladder(context: typer.Context) -> None:
    """Lists what was sent and how it scored."""
    if context.invoked_subcommand:
        return
    from tcg_core.submission.ladder import NOISE_TEXT, records

    rows: list[list[object]] = []
    for record in records(Home.resolve().prepare()):
        sent = ", ".join(f"{item.at} ({item.ref})" for item in record.pushes) or "not from here"
        rows.extend([record.submission, sent, score.date, score.score, score.source] for score in record.scores)
        if not record.scores:
            rows.append([record.submission, sent, "", "", ""])
    table("ladder", ["submission", "sent", "date", "score", "source"], rows)
    print(NOISE_TEXT)


@ladder_app.command()
def add(
    submission: Annotated[str, typer.Argument(help="Submission id.")],
    score: Annotated[float, typer.Argument(help="Score on the ladder.")],
    date: Annotated[str, typer.Option(help="The day it was read, YYYY-MM-DD; today (UTC) if left out.")] = "",
) -> None:
    """Keeps a score with its date next to the submission."""
    from tcg_core.catalog.connection import now
    from tcg_core.submission.ladder import NOISE_TEXT, add_score

    record = add_score(Home.resolve().prepare(), submission, score, date or now()[:10])
    print(f"submission {submission}: " + ", ".join(f"{item.score:g} ({item.date}, {item.source})" for item in record.scores))
    print(NOISE_TEXT)


@ladder_app.command()
def fetch() -> None:
    """Asks Kaggle for the scores of what was sent from here."""
    from tcg_core.fetch.competition import KaggleCompetition
    from tcg_core.submission.ladder import NOISE_TEXT, take_scores

    changed = take_scores(Home.resolve().prepare(), KaggleCompetition().recent())
    for record in changed:
        print(f"submission {record.submission}: {record.scores[-1].score:g} ({record.scores[-1].date})")
    print(f"{len(changed)} scores were new; {NOISE_TEXT}")
