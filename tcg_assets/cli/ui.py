"""`tcg demo`, `tcg ui` and `tcg validate`: they start Dagster, which tcg_core never imports, in a process of its own."""

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from tcg_core.base.home import VARIABLE, Home


def register(app: typer.Typer) -> None:
    """Adds the commands."""
    app.command()(demo)
    app.command()(ui)
    app.command()(validate)


def demo() -> None:
    """Records 3 days of real games and materializes the whole graph on them; safe to run twice and to interrupt."""
    _become(["-m", "tcg_assets.cli.demo"])


def ui(
    port: Annotated[int, typer.Option(help="Port on the loopback interface.")] = 3000,
) -> None:
    """Serves the Dagster UI, with its daemon, on what is in the data home."""
    _become(["-m", "tcg_assets.cli.serve", "--port", str(port)])


def validate() -> None:
    """Loads the Dagster definitions and says whether they are clean."""
    workspace = Path(__file__).resolve().parents[2] / "workspace.yaml"
    _become(["-m", "dagster", "definitions", "validate", "-w", str(workspace)])


def _become(arguments: list[str]) -> None:
    home = Home.resolve().prepare()
    os.environ[VARIABLE] = str(home.root)
    os.execv(sys.executable, [sys.executable, *arguments])
