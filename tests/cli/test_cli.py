import os
import subprocess
import sys
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parents[2]


def tcg(*arguments: str, data: Path) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"TCG_DATA": str(data)}
    command = [sys.executable, "-m", "tcg_assets.cli", *arguments]
    return subprocess.run(command, capture_output=True, text=True, env=environment, cwd=PROJECT, timeout=300)


def files(root: Path) -> list[str]:
    return sorted(str(path.relative_to(root)) for path in root.rglob("*") if path.is_file() and "catalog.sqlite" not in path.name)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return tmp_path / "data"


def test_a_day_that_is_no_date_gets_one_line_and_exit_2(data: Path) -> None:
    done = tcg("day", "build", "2026-02-30", data=data)
    assert done.returncode == 2
    assert done.stderr.strip().splitlines()[-1].startswith("tcg: day '2026-02-30'")
    assert "Traceback" not in done.stderr and files(data) == []


def test_an_archive_that_is_no_zip_gets_one_line_and_nothing_is_written(data: Path, tmp_path: Path) -> None:
    fake = tmp_path / "2026-08-01.zip"
    fake.write_text("this is not a zip")
    done = tcg("day", "add", str(fake), data=data)
    assert done.returncode == 2 and "2026-08-01.zip" in done.stderr and "Traceback" not in done.stderr
    assert files(data) == []


def test_an_empty_inbox_is_named(data: Path) -> None:
    done = tcg("day", "build", "2026-08-01", data=data)
    assert done.returncode == 2 and "inbox" in done.stderr and "Traceback" not in done.stderr
    assert files(data) == []


def test_an_unknown_recipe_key_is_refused_by_name(data: Path, tmp_path: Path) -> None:
    recipe = tmp_path / "recipe.json"
    recipe.write_text('{"selection": {"all_days": true}, "optimiser": {}}')
    done = tcg("plan", "build", "--recipe", str(recipe), data=data)
    assert done.returncode == 2 and "unknown key optimiser" in done.stderr and "recipe.json" in done.stderr
    assert files(data) == []


def test_a_home_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    blocker = tmp_path / "file"
    blocker.write_text("x")
    done = tcg("status", data=blocker / "data")
    assert done.returncode == 2 and "cannot be written" in done.stderr and "TCG_DATA" in done.stderr


@pytest.mark.parametrize("command", ["plan show", "train", "convert", "submit pack", "tournament", "lineage"])
def test_a_stage_without_what_it_needs_says_what_is_missing(command: str, data: Path) -> None:
    done = tcg(*command.split(), data=data)
    assert done.returncode == 2 and done.stderr.startswith("tcg: ") and "Traceback" not in done.stderr


def test_help_teaches_every_command(data: Path) -> None:
    text = tcg("--help", data=data).stdout
    for name in (
        "doctor",
        "status",
        "demo",
        "ui",
        "day",
        "catalog",
        "plan",
        "train",
        "convert",
        "submit",
        "play",
        "tournament",
        "lineage",
        "sql",
    ):
        assert name in text
