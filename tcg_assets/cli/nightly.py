"""`tcg nightly`: when the nightly training starts, what it may take, and its switch."""

import json
import sys
from datetime import UTC, date, datetime
from typing import Annotated, Any

import typer

from tcg_core.base.home import Home, parse_day

app = typer.Typer(no_args_is_help=True, help="The nightly training: switch it, set it, see what tonight would train.")


@app.command()
def enable(
    at: Annotated[str | None, typer.Option(help="Time of day, HH:MM.")] = None,
    zone: Annotated[str | None, typer.Option(help="Time zone, as in Europe/Berlin.")] = None,
    budget_hours: Annotated[float | None, typer.Option(help="Hours that training may take; 0: no limit.")] = None,
    over_budget: Annotated[str | None, typer.Option(help="cut or refuse a plan that is over the budget.")] = None,
    full_weekday: Annotated[str | None, typer.Option(help="Night of the full retrain: mon ... sun, or never.")] = None,
    mode: Annotated[str | None, typer.Option(help="Of the other nights: finetune, fresh or full.")] = None,
) -> None:
    """Writes nightly.json (what is not given stays as it is) and switches the schedule on."""
    from tcg_core.base.settings import from_dict, to_dict
    from tcg_core.nightly.settings import Nightly, load_nightly, save_nightly

    home = Home.resolve().prepare()
    given = {
        "at": at,
        "zone": zone,
        "night_budget_hours": budget_hours,
        "over_budget": over_budget,
        "full_weekday": full_weekday,
        "mode": mode,
    }
    values: dict[str, Any] = to_dict(load_nightly(home)) | {name: value for name, value in given.items() if value is not None}
    nightly = from_dict(Nightly, values)
    print(save_nightly(home, nightly))
    _switch(home, True)
    print(f"every night at {nightly.when}; a UI that is open takes a new time after `Reload definitions`")


@app.command()
def disable() -> None:
    """Switches the schedule off; a run that has begun continues."""
    _switch(Home.resolve().prepare(), False)


@app.command("set")
def set_nightly(
    key: Annotated[
        str, typer.Argument(help="Key of nightly.json, nested with dots: mode, finetune.replay, recipe.model.d_model.")
    ],
    value: Annotated[str, typer.Argument(help="As JSON, or text.")],
) -> None:
    """Writes one key of nightly.json; the switch stays as it is."""
    from tcg_core.base.settings import from_dict, to_dict
    from tcg_core.nightly.settings import Nightly, load_nightly, save_nightly
    from tcg_core.plan.curriculum import merged

    home = Home.resolve().prepare()
    try:
        given: Any = json.loads(value)
    except ValueError:
        given = value
    for name in reversed(key.split(".")):
        given = {name: given}
    print(save_nightly(home, from_dict(Nightly, merged(to_dict(load_nightly(home)), given))))


@app.command("tonight")
def show_tonight(
    day: Annotated[str | None, typer.Option("--date", help="The night that begins on this day; today if left out.")] = None,
) -> None:
    """Prints what a night would train, by which rule, and whether it fits; nothing is started."""
    from tcg_core.base.settings import to_dict
    from tcg_core.catalog.errors import SelectionEmpty
    from tcg_core.nightly.budget import fit
    from tcg_core.nightly.settings import load_nightly
    from tcg_core.nightly.tonight import tonight
    from tcg_core.nightly.unfinished import lines_of

    home = Home.resolve()
    nightly = load_nightly(home)
    night = date.fromisoformat(parse_day(day)) if day else nightly.when.today()
    for line in lines_of(home):
        print(line)
    chosen = tonight(home, nightly, night)
    print(chosen.line)
    try:
        fitted = fit(home, chosen.recipe, nightly.night_budget_hours, nightly.over_budget, nightly.device)
    except SelectionEmpty as error:
        print(f"nothing to train on: {error}")
        return
    print(fitted.line)
    print(json.dumps(to_dict(fitted.recipe), indent=2))


@app.command("show")
def show_nightly() -> None:
    """Prints the configuration in use, and on stderr the next night and the runs that nights began and did not finish."""
    from tcg_core.base.settings import to_dict
    from tcg_core.nightly.settings import load_nightly
    from tcg_core.nightly.unfinished import lines_of

    home = Home.resolve()
    nightly = load_nightly(home)
    print(json.dumps(to_dict(nightly), indent=2))
    print(f"the next night begins {nightly.when.next_after(datetime.now(UTC)):%Y-%m-%d %H:%M %Z}", file=sys.stderr)
    for line in lines_of(home):
        print(line, file=sys.stderr)


@app.command()
def abandon(
    run: Annotated[str, typer.Argument(help="A run that a night began and did not finish, as `tcg status` names it.")],
    reason: Annotated[str, typer.Option(help="Why; it is recorded.")] = "abandoned by hand",
) -> None:
    """Marks RUN as abandoned: later nights do not continue it, the next one makes a plan of its own. The run's files stay."""
    from tcg_core.nightly.unfinished import abandon as mark

    mark(Home.resolve().prepare(), run, reason)
    print(f"run {run} is abandoned: {reason}")


def _switch(home: Home, on: bool) -> None:
    from tcg_assets.definitions import defs
    from tcg_assets.sync.instance import open_instance
    from tcg_assets.sync.switches import NIGHTLY, switch_nightly

    with open_instance(home) as instance:
        switch_nightly(instance, defs, on)
    print(f"{'Started' if on else 'Stopped'} schedule {NIGHTLY}")
