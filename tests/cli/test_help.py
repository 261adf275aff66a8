"""`tcg --help`: every command answers, and what needs no Dagster does not wait for it."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from tcg_assets.cli.main import app
from tests.cli.test_cli import PROJECT

HEAVY = ("dagster", "mlx", "torch")


def commands(group: object, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Every command and group, `tcg` itself first."""
    yield path
    for name, command in getattr(group, "commands", {}).items():
        yield from commands(command, (*path, name))


ALL = list(commands(get_command(app)))


@pytest.mark.parametrize("path", ALL, ids=lambda path: " ".join(("tcg", *path)))
def test_every_command_answers_help_with_what_it_does(path: tuple[str, ...]) -> None:
    done = CliRunner().invoke(app, [*path, "--help"])
    assert done.exit_code == 0, done
    assert re.search(r"Usage: .*\n\s*\n\s+[A-Z]", done.stdout), f"no sentence says what it does:\n{done.stdout}"


def test_the_walk_over_the_commands_finds_the_nested_ones() -> None:
    assert {("status",), ("nightly", "abandon"), ("catalog", "ratings", "import")} <= set(ALL)


@pytest.mark.parametrize("arguments", [(), ("--help",), ("day", "--help"), ("train", "--help"), ("day", "ls"), ("plan", "show")])
def test_what_needs_no_dagster_imports_none(arguments: tuple[str, ...], tmp_path: Path) -> None:
    code = (
        "import sys\n"
        "from tcg_assets.cli.main import main\n"
        "try:\n"
        "    main()\n"
        "except SystemExit:\n"
        "    pass\n"
        f"print(sorted({{name.split('.')[0] for name in sys.modules}} & set({HEAVY})), file=sys.stderr)"
    )
    environment = os.environ | {"TCG_DATA": str(tmp_path / "data")}
    command = [sys.executable, "-c", code, *arguments]
    done = subprocess.run(command, cwd=PROJECT, env=environment, capture_output=True, text=True, check=True)
    assert done.stderr.splitlines()[-1] == "[]"
