"""Days that are no training data have names; a bad one is excluded and brought back by a command."""

import zipfile

import pytest
from typer.testing import CliRunner

from tcg_assets.cli.main import app
from tcg_core.base.home import Home
from tcg_core.days.absent import EMPTY, GAP, absences, gap_before, named
from tcg_core.days.backfill import backfill
from tcg_core.replay.record_day import record_day

FIRST, GAP_DAY, LAST, EMPTY_DAY = (f"2026-08-0{number}" for number in (1, 2, 3, 4))


@pytest.fixture
def home(home: Home) -> Home:
    for day in (FIRST, LAST):
        record_day(home, day, 2, ("random", "random"))
    zipfile.ZipFile(home.inbox / f"{EMPTY_DAY}.zip", "w").close()
    return home


def test_gaps_and_empty_archives_are_named_and_a_good_day_is_not(home: Home) -> None:
    assert [(absence.day, absence.state) for absence in absences(home)] == [(GAP_DAY, GAP), (EMPTY_DAY, EMPTY)]
    assert gap_before(home, LAST) == [GAP_DAY]
    assert gap_before(home, FIRST) == gap_before(home, EMPTY_DAY) == []
    shown = CliRunner().invoke(app, ["status"]).output
    assert f"{GAP_DAY}: no archive" in shown
    assert f"{EMPTY_DAY}: archive without episodes" in shown


def test_a_day_is_excluded_with_a_reason_and_restored(home: Home) -> None:
    list(backfill(home, FIRST, FIRST))
    run = CliRunner().invoke
    assert "validated" in run(app, ["status"]).output
    assert run(app, ["day", "exclude", FIRST, "--reason", "a broken server"]).exit_code == 0
    assert "a broken server" in run(app, ["status"]).output
    assert "no validated dataset" in str(run(app, ["day", "exclude", FIRST, "--reason", "again"]).exception)
    assert run(app, ["day", "restore", FIRST]).output.strip().endswith("is validated")
    assert "nothing to restore" not in run(app, ["status"]).output
    assert "no excluded or superseded" in str(run(app, ["day", "restore", FIRST]).exception)


def test_many_days_are_named_by_the_first_few() -> None:
    assert named(["a", "b"]) == "a, b"
    assert named(list("abcdefg")) == "a, b, c, d, e and 2 more"
