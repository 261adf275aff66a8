"""`python -m tcg_assets.cli.serve`: the Dagster UI and its daemon on one data home, bound to the loopback interface."""

import argparse
import os
import sys
from collections.abc import Sequence
from typing import NoReturn

from tcg_assets.sync.instance import TEMPLATE, write_home
from tcg_core.base.errors import TcgError
from tcg_core.base.home import VARIABLE, Home


def command(port: int) -> list[str]:
    """The command line of the server, to be started in its DAGSTER_HOME."""
    dev = ["-m", "dagster", "dev", "-w", str(TEMPLATE.parent / "workspace.yaml"), "--host", "127.0.0.1", "--port", str(port)]
    # The subcommand's own notice that another spelling is coming says nothing to a user of this one.
    return [sys.executable, "-W", "ignore::FutureWarning", *dev]


def environment(home: Home) -> dict[str, str]:
    """The environment of the server: its data home and its DAGSTER_HOME, which is written if need be."""
    path = os.pathsep.join(filter(None, [str(TEMPLATE.parent), os.environ.get("PYTHONPATH")]))
    return {VARIABLE: str(home.root), "DAGSTER_HOME": str(write_home(home)), "PYTHONPATH": path}


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Becomes the server; exits with 2 when it refuses."""
    parser = argparse.ArgumentParser(prog="python -m tcg_assets.cli.serve", description="Serve the Dagster UI on the data home.")
    parser.add_argument("--port", type=int, default=3000)
    options = parser.parse_args(arguments)
    try:
        home = Home.resolve().prepare()
        os.environ.update(environment(home))
    except TcgError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)
    # In DAGSTER_HOME itself: in the project's root Dagster would warn about the template that lies there.
    os.chdir(os.environ["DAGSTER_HOME"])
    os.execv(sys.executable, command(options.port))


if __name__ == "__main__":
    main()
