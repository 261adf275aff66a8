"""A range of real days: each for itself, whatever happens to its neighbours; and again, and after a kill."""

import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tcg_core.base.home import Home, NotADay
from tcg_core.catalog.connection import catalog
from tcg_core.catalog.datasets import datasets_of
from tcg_core.days.backfill import NothingToBackfill, backfill, calendar_gaps, days_with_archive
from tcg_core.days.states import exclude_day
from tcg_core.replay.record_day import record_day

FIRST, BAD, THIRD, GAP, LAST = (f"2026-08-0{number}" for number in (1, 2, 3, 4, 5))


@pytest.fixture
def home(home: Home) -> Home:
    for day in (FIRST, THIRD, LAST):
        record_day(home, day, 2, ("random", "random"))
    (home.inbox / f"{BAD}.zip").write_bytes(b"no zip archive")
    return home


def _states(home: Home, **options: bool) -> dict[str, str]:
    return {result.day: result.state for result in backfill(home, FIRST, LAST, **options)}


def test_a_bad_day_stops_no_other_and_a_second_time_only_it_is_tried(home: Home) -> None:
    expected = {FIRST: "built", BAD: "failed", THIRD: "built", GAP: "no archive", LAST: "built"}
    assert _states(home) == expected
    assert _validated(home) == [FIRST, THIRD, LAST]
    assert _states(home) == expected | dict.fromkeys((FIRST, THIRD, LAST), "current")


def test_newest_first_names_the_gap_and_then_goes_down(home: Home) -> None:
    assert [result.day for result in backfill(home, newest_first=True)] == [GAP, LAST, THIRD, BAD, FIRST]


def test_missing_leaves_days_of_other_code_alone_which_a_plain_one_builds_again(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    _states(home)
    monkeypatch.setattr("tcg_core.base.stage.code_version", lambda asset: "f" * 16)
    monkeypatch.setattr("tcg_core.days.code.build_code", lambda: "f" * 16)
    assert _states(home, missing=True)[FIRST] == "current"
    before = _dataset(home, FIRST)
    assert _states(home)[FIRST] == "built"
    assert _dataset(home, FIRST) != before


def test_an_excluded_day_stays_excluded(home: Home) -> None:
    _states(home)
    exclude_day(home, THIRD, "played on a broken server")
    [result] = backfill(home, THIRD, THIRD)
    assert (result.state, result.line.split(": ")[1]) == ("excluded", "played on a broken server")


def test_a_full_disk_fails_the_day_and_the_next_time_it_is_built(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*arguments: object, **more: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("tcg_core.days.build.write_day", full)
        assert _states(home) == dict.fromkeys((FIRST, BAD, THIRD, LAST), "failed") | {GAP: "no archive"}
    assert _states(home)[FIRST] == "built"


def test_a_killed_backfill_continues(home: Home, chance: random.Random) -> None:
    imports = "from tcg_core.days.backfill import backfill; from tcg_core.base.home import Home"
    code = f"{imports}; list(backfill(Home.resolve(), '{FIRST}'))"
    child = subprocess.Popen([sys.executable, "-c", code], cwd=Path(__file__).parents[2], stderr=subprocess.DEVNULL)
    until = time.monotonic() + 60
    while not list((home.root / "archives").glob("*/*.zip")) and time.monotonic() < until:
        time.sleep(0.02)
    time.sleep(chance.uniform(0, 2))
    child.send_signal(signal.SIGKILL)
    child.wait()
    assert set(_states(home).values()) <= {"built", "current", "failed", "no archive"}
    assert _validated(home) == [FIRST, THIRD, LAST]


def test_a_range_without_archives_and_a_name_that_is_no_day_are_refused(home: Home) -> None:
    with pytest.raises(NothingToBackfill, match="from 2025-01-01 to 2025-01-02"):
        list(backfill(home, "2025-01-01", "2025-01-02"))
    with pytest.raises(NotADay):
        list(backfill(home, "august"))


def test_gaps_are_the_dates_between(home: Home) -> None:
    assert calendar_gaps(days_with_archive(home)) == [GAP]
    assert calendar_gaps([]) == []


def _validated(home: Home) -> list[str]:
    with catalog(home) as connection:
        return [row.day for row in datasets_of(connection, state="validated")]


def _dataset(home: Home, day: str) -> str:
    with catalog(home) as connection:
        return datasets_of(connection, day, "validated")[0].dataset_id
