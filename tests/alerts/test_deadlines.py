"""Deadlines: told when something waits too long, never where nothing new came."""

from datetime import UTC, datetime, timedelta

import pytest

from tcg_core.alerts.deadlines import Times, missed, times_of
from tcg_core.catalog.connection import catalog
from tcg_core.catalog.promotions import record
from tests.ops.chain import chain, day

NOW = datetime(2026, 9, 1, 12, tzinfo=UTC)


def ago(hours: float) -> datetime:
    return NOW - timedelta(hours=hours)


@pytest.mark.parametrize(
    ("times", "nightly", "late"),
    [
        (Times(), True, []),
        (Times((ago(35),)), False, []),
        (Times((ago(37),)), False, ["parquet_day"]),
        (Times((ago(90), ago(35))), False, []),
        # A day waits for the tournament, but nobody promised one.
        (Times((ago(61), ago(1))), False, []),
        (Times((ago(61), ago(1))), True, ["tournament"]),
        (Times((ago(59), ago(1))), True, []),
        # The clock of the tournament starts with the first day after the last one.
        (Times((ago(200), ago(61), ago(1)), ago(100)), True, ["tournament"]),
        (Times((ago(200), ago(59), ago(1)), ago(100)), True, []),
        # Nothing new for weeks: only the days are late.
        (Times((ago(900),), ago(800)), True, ["parquet_day"]),
        (Times((ago(100), ago(1)), ago(61), ago(61)), True, ["champion"]),
        (Times((ago(100), ago(1)), ago(59), ago(59)), True, []),
    ],
)
def test_what_is_late(times, nightly, late):
    assert [item.asset for item in missed(times, NOW, 36, 60, nightly)] == late


def test_a_deadline_of_zero_hours_is_none():
    times = Times((ago(900), ago(800)), None, ago(700))
    assert [item.asset for item in missed(times, NOW, 0, 60, True)] == ["tournament", "champion"]
    assert [item.asset for item in missed(times, NOW, 36, 0, True)] == ["parquet_day"]


def test_the_times_are_those_of_the_catalog(home):
    assert times_of(home) == Times()
    days = (day(home, "2026-08-01"), day(home, "2026-08-02"))
    with catalog(home) as connection:
        connection.execute("UPDATE days SET taken_at = '2026-08-02T03:04:05.000006Z' WHERE day = '2026-08-01'")
    found = times_of(home)
    assert min(found.days) == datetime(2026, 8, 2, 3, 4, 5, 6, tzinfo=UTC) and len(found.days) == 2
    assert found.tournament is None
    chain(home, "a", days)
    played = times_of(home)
    assert played.tournament is not None and played.undecided == played.tournament
    record(home, "submission-a", "heuristic", "tournament-a", "rejected", "it lost")
    assert times_of(home).undecided is None


def test_a_tournament_of_the_reigning_champion_needs_no_decision(home):
    days = (day(home, "2026-08-01"),)
    chain(home, "a", days)
    record(home, "submission-a", "heuristic", "tournament-0", "promoted", "it won")
    assert times_of(home).undecided is None
    chain(home, "b", days)
    assert times_of(home).undecided is not None
