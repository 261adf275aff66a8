"""`tcg nightly`: when the nightly training starts, what it may take, and its switch."""

import json
import os
import subprocess
import sys
from typing import Annotated, Any

import typer

from tcg_core.commands.show import ChecksFailed
from tcg_core.home import VARIABLE, Home

app = typer.Typer(no_args_is_help=True, help="The nightly training: switch it, set its time, zone and budget.")


@app.command()
def enable(
    at: Annotated[str | None, typer.Option(help="Time of day, HH:MM.")] = None,
    zone: Annotated[str | None, typer.Option(help="Time zone, as in Europe/Berlin.")] = None,
    budget_hours: Annotated[float | None, typer.Option(help="Hours that training may take; 0: no limit.")] = None,
    over_budget: Annotated[str | None, typer.Option(help="cut or refuse a plan that is over the budget.")] = None,
    full_weekday: Annotated[str | None, typer.Option(help="Night of the full retrain: mon ... sun, or never.")] = None,
) -> None:
    """Writes nightly.json (what is not given stays as it is) and switches the schedule on."""
    from tcg_core.night import Nightly, load_nightly, save_nightly
    from tcg_core.settings import from_dict, to_dict

    home = Home.resolve().prepare()
    given = {
        "at": at,
        "zone": zone,
        "night_budget_hours": budget_hours,
        "over_budget": over_budget,
        "full_weekday": full_weekday,
    }
    values: dict[str, Any] = to_dict(load_nightly(home)) | {name: value for name, value in given.items() if value is not None}
    nightly = from_dict(Nightly, values)
    print(save_nightly(home, nightly))
    _switch(home, "on")
    print(f"every night at {nightly.at} {nightly.zone}; a UI that is open takes a new time after `Reload definitions`")


@app.command()
def disable() -> None:
    """Switches the schedule off; a run that has begun goes on."""
    _switch(Home.resolve().prepare(), "off")


@app.command("show")
def show_nightly() -> None:
    """Prints the configuration in use."""
    from tcg_core.night import load_nightly
    from tcg_core.settings import to_dict

    print(json.dumps(to_dict(load_nightly(Home.resolve())), indent=2))


def _switch(home: Home, to: str) -> None:
    # In a process of its own: the core never imports Dagster.
    command = [sys.executable, "-m", "tcg_assets.switch", to]
    if subprocess.run(command, env=os.environ | {VARIABLE: str(home.root)}, check=False).returncode:
        raise ChecksFailed(f"the schedule was not switched {to}")
