"""`tcg ui` and `tcg validate`: Dagster's own commands, in the place of this process."""

import os
import sys
from typing import Annotated

import typer

from tcg_core.base.home import VARIABLE, Home


def register(app: typer.Typer) -> None:
    """Adds the commands."""
    app.command()(ui)
    app.command()(validate)


def ui(
    port: Annotated[int, typer.Option(help="Port on the loopback interface.")] = 3000,
) -> None:
    """Serves the Dagster UI, with its daemon, on what is in the data home."""
    from tcg_assets.sync.server import environment, serve_command

    os.environ.update(environment(Home.resolve().prepare()))
    # In DAGSTER_HOME itself: in the project's root Dagster would warn about the template that lies there.
    os.chdir(os.environ["DAGSTER_HOME"])
    os.execv(sys.executable, serve_command(port))


def validate() -> None:
    """Loads the Dagster definitions and says whether they are clean."""
    from tcg_assets.sync.server import validate_command

    os.environ[VARIABLE] = str(Home.resolve().prepare().root)
    os.execv(sys.executable, validate_command())
