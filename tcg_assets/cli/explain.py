"""`tcg explain`: one recorded decision as a person reads it."""

from typing import Annotated

import typer

from tcg_core.base.home import Home, parse_day

#: Head -> what it says, with its number.
_AUX = {
    "ko": "takes a prize this turn {:.0%}",
    "prize": "prizes this turn {:+.2f}",
    "terminal": "game ends this turn {:.0%}",
    "value": "return {:+.2f}",
}


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command()(explain)


def explain(
    day: Annotated[str, typer.Argument(help="The day, YYYY-MM-DD.")],
    episode: Annotated[int, typer.Argument(help="EpisodeId: the stem of the archive's member.")],
    side: Annotated[int, typer.Argument(help="The seat, 0 or 1.")],
    step: Annotated[int, typer.Argument(help="t of steps[t].")],
    checkpoint: Annotated[str, typer.Option(help="A training run or a converted artifact to be asked as well.")] = "",
) -> None:
    """Shows one decision: the table, the legal options, the recorded answer, and what a policy thinks of them."""
    from tcg_core.explain.decision import explain as run

    found = run(Home.resolve().prepare(), parse_day(day), episode, side, step, checkpoint or None)
    print(found.title)
    for line in found.table:
        print(f"  {line}")
    print(f"asked: {found.question}")
    if not found.picks:
        print("  nothing to pick")
    for number, pick in enumerate(found.picks, 1):
        if len(found.picks) > 1:
            print(f"pick {number} of {len(found.picks)}")
        for position, allowed in enumerate(pick.legal):
            if not allowed:
                continue
            mark = "->" if position == pick.picked else "  "
            chance = f"{pick.opinion.probabilities[position]:7.1%}  " if pick.opinion else ""
            print(f" {mark} {chance}{position if position < len(found.options) else '':>3} {found.answer(position)}")
        print(f"  recorded: {found.answer(pick.picked)}")
    if found.targets:
        print(f"what came: {_aux(found.targets)}")
    if found.source and found.picks and found.picks[0].opinion:
        print(f"{found.source} expects: {_aux(found.picks[0].opinion.aux)}")


def _aux(values: dict[str, float]) -> str:
    return ", ".join(text.format(values[name]) for name, text in _AUX.items() if name in values)
