"""Dagster's own commands on a data home: the command lines, and the environment that they need."""

import os
import sys

from tcg_assets.sync.instance import TEMPLATE, write_home
from tcg_core.base.home import VARIABLE, Home

#: The code location, for commands that are given `-w`.
WORKSPACE = str(TEMPLATE.parent / "workspace.yaml")
#: Dagster's notices of spellings that it will change concern whoever types its commands; here nobody does.
_DAGSTER = [sys.executable, "-W", "ignore::FutureWarning", "-m", "dagster"]


def serve_command(port: int) -> list[str]:
    """`dagster dev`: UI and daemon on the loopback interface, to be started in its DAGSTER_HOME."""
    return [*_DAGSTER, "dev", "-w", WORKSPACE, "--host", "127.0.0.1", "--port", str(port)]


def validate_command() -> list[str]:
    """`dagster definitions validate` of the project's code location."""
    return [*_DAGSTER, "definitions", "validate", "-w", WORKSPACE]


def environment(home: Home) -> dict[str, str]:
    """The environment of the server: its data home and its DAGSTER_HOME, which is written if need be.

    Raises :class:`tcg_core.base.errors.HomeError` when the home cannot be written.
    """
    path = os.pathsep.join(filter(None, [str(TEMPLATE.parent), os.environ.get("PYTHONPATH")]))
    return {VARIABLE: str(home.root), "DAGSTER_HOME": str(write_home(home)), "PYTHONPATH": path}
