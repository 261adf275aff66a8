"""`tcg service`: webserver and daemon as services of the user."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from tcg_core.base.home import Home

app = typer.Typer(no_args_is_help=True, help="Run webserver and daemon as services of your user.")


@app.command("print")
def print_service(
    kind: Annotated[Literal["systemd", "launchd"], typer.Argument(help="systemd on Linux, launchd on a Mac.")],
    port: Annotated[int, typer.Option(min=1, max=65535, help="Port of the UI on the loopback interface.")] = 3000,
    to: Annotated[Path | None, typer.Option(help="Write the files into this directory instead.")] = None,
) -> None:
    """Prints the service files of webserver and daemon, with this environment's and this data home's paths."""
    from tcg_core.ops.service import render

    files = render(kind, Home.resolve(), port)
    for name, text in files.items():
        if to is None:
            print(f"# {name}\n{text}" if kind == "systemd" else f"<!-- {name} -->\n{text}")
        else:
            from tcg_core.base.atomic import write_bytes

            write_bytes(to / name, text.encode())
            print(to / name)


@app.command()
def prepare() -> None:
    """Writes Dagster's home beside the data home and prints its path; the web service runs it before each start."""
    from tcg_assets.sync.instance import write_home

    print(write_home(Home.resolve().prepare()))
