"""`tcg curriculum`: phases of training in order, each a resume of the one before."""

from pathlib import Path
from typing import Annotated

import typer

from tcg_assets.cli.show import show
from tcg_core.base.home import Home


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command()(curriculum)


def curriculum(
    file: Annotated[
        Path,
        typer.Argument(help='JSON: {"base": recipe keys, "phases": [{"phase_id", "selection", "settings": recipe keys}, ...]}.'),
    ],
    device: Annotated[str, typer.Option(help="auto, gpu or cpu.")] = "auto",
    budget_hours: Annotated[float, typer.Option(help="Hours after which it ends with `latest` written; 0: no limit.")] = 0.0,
    allow_inexact: Annotated[bool, typer.Option(help="Recover under another BLAS, thread count, MLX or device.")] = False,
    again: Annotated[bool, typer.Option("--again", help="Plan every phase anew, over the days there are now.")] = False,
) -> None:
    """Trains the phases of FILE in order; finished ones are skipped, an unfinished one is continued."""
    from tcg_assets.cli.ending import may_end_early
    from tcg_core.base.settings import read_config
    from tcg_core.plan.curriculum import Curriculum
    from tcg_core.train.curriculum import run_curriculum

    home, phases = Home.resolve().prepare(), read_config(file, Curriculum)
    with may_end_early(budget_hours) as stop:
        for built in run_curriculum(home, phases, device, allow_inexact, again, stop):
            show(built)
