"""The nightly schedule across changes of the clock: one night, one tick, whatever its time and whenever the daemon looks."""

import itertools
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import dagster as dg
import pytest
from dagster._utils.schedules import schedule_execution_time_iterator

from tcg_assets.assets.resources import Workspace
from tcg_assets.automation.news import News
from tcg_assets.automation.nightly import nightly_schedule
from tcg_core.base.home import Home
from tcg_core.nightly.settings import Nightly, save_nightly

BERLIN = "Europe/Berlin"
#: Europe/Berlin sets its clocks back from 03:00 to 02:00 in the first night and forward from 02:00 to 03:00 in the second.
BACK, FORWARD = date(2026, 10, 25), date(2027, 3, 28)
#: Times in the hour that occurs twice or never, at its ends, around it, and around midnight.
TIMES = ("00:00", "00:30", "01:59", "02:00", "02:30", "02:59", "03:00", "03:30", "23:59")
#: Days before and after a change that are looked at.
AROUND = 4


def _ticks(nightly: Nightly, after: datetime, count: int) -> list[datetime]:
    """The ticks that the scheduler finds after a moment, by the iterator that it uses."""
    found = schedule_execution_time_iterator(after.timestamp(), nightly.when.cron, nightly.zone, ascending=True)
    ahead = (tick for tick in found if tick.timestamp() > after.timestamp())
    return list(itertools.islice(ahead, count))


def _midnight(day: date, zone: str) -> datetime:
    return datetime(day.year, day.month, day.day, tzinfo=ZoneInfo(zone))


@pytest.mark.parametrize("at", TIMES)
@pytest.mark.parametrize("change", [BACK, FORWARD])
def test_each_calendar_night_has_one_tick(change: date, at: str) -> None:
    nightly = Nightly(at=at, zone=BERLIN)
    first = change - timedelta(days=AROUND)
    ticks = _ticks(nightly, _midnight(first, BERLIN) - timedelta(seconds=1), 2 * AROUND + 1)
    assert [tick.astimezone(nightly.when.tzinfo).date() for tick in ticks] == [
        first + timedelta(days=number) for number in range(2 * AROUND + 1)
    ]
    for number, tick in enumerate(ticks):
        assert nightly.when.on(first + timedelta(days=number)).timestamp() == tick.timestamp(), "the core names another moment"
    hours = [(later - earlier).total_seconds() / 3600 for earlier, later in itertools.pairwise(ticks)]
    assert all(23 <= gap <= 25 for gap in hours), hours


@pytest.mark.parametrize(
    ("change", "at", "utc"),
    [
        (BACK, "01:59", "2026-10-24T23:59"),
        # Twice that night; the second one, in winter time.
        (BACK, "02:30", "2026-10-25T01:30"),
        (BACK, "03:00", "2026-10-25T02:00"),
        (FORWARD, "01:59", "2027-03-28T00:59"),
        # Not that night; at the moment when the clock jumps to 03:00.
        (FORWARD, "02:30", "2027-03-28T01:00"),
        (FORWARD, "03:00", "2027-03-28T01:00"),
        (FORWARD, "03:30", "2027-03-28T01:30"),
    ],
)
def test_the_moment_of_the_tick_in_the_night_of_the_change(change: date, at: str, utc: str) -> None:
    [tick] = _ticks(Nightly(at=at, zone=BERLIN), _midnight(change, BERLIN) - timedelta(seconds=1), 1)
    assert tick.astimezone(UTC) == datetime.fromisoformat(utc).replace(tzinfo=UTC)


@pytest.mark.parametrize("at", ["02:00", "02:30", "03:00"])
@pytest.mark.parametrize("change", [BACK, FORWARD])
def test_a_daemon_that_starts_at_any_minute_of_that_night_neither_doubles_nor_misses_it(change: date, at: str) -> None:
    nightly = Nightly(at=at, zone=BERLIN)
    midnight = _midnight(change, BERLIN)
    [own, next_one] = _ticks(nightly, midnight - timedelta(seconds=1), 2)
    for minutes in range(0, 6 * 60, 10):
        started = (midnight.astimezone(UTC) + timedelta(minutes=minutes)).astimezone(nightly.when.tzinfo)
        [found] = _ticks(nightly, started, 1)
        assert found.timestamp() == nightly.when.next_after(started).timestamp()
        assert found.timestamp() == (own if started.timestamp() < own.timestamp() else next_one).timestamp(), started


@pytest.mark.parametrize(
    ("zone", "change"),
    [
        ("America/New_York", date(2026, 11, 1)),
        ("Australia/Lord_Howe", date(2027, 4, 4)),
        ("Australia/Lord_Howe", date(2026, 10, 4)),
    ],
)
@pytest.mark.parametrize("at", ["01:30", "02:00", "02:15"])
def test_other_zones_too_also_where_the_clock_moves_by_half_an_hour(zone: str, change: date, at: str) -> None:
    nightly = Nightly(at=at, zone=zone)
    ticks = _ticks(nightly, _midnight(change - timedelta(days=1), zone) - timedelta(seconds=1), 3)
    assert [tick.astimezone(nightly.when.tzinfo).date() for tick in ticks] == [
        change + timedelta(days=number) for number in (-1, 0, 1)
    ]
    for number, tick in enumerate(ticks):
        assert nightly.when.on(change + timedelta(days=number - 1)).timestamp() == tick.timestamp()


def test_a_year_of_nights_is_as_many_ticks_as_it_has_days() -> None:
    nightly = Nightly(at="02:30", zone=BERLIN)
    ticks = _ticks(nightly, _midnight(date(2026, 7, 1), BERLIN), 365)
    assert [tick.astimezone(nightly.when.tzinfo).date().toordinal() - date(2026, 7, 1).toordinal() for tick in ticks] == list(
        range(365)
    )


@pytest.fixture(scope="module")
def instance(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dg.DagsterInstance]:
    """A schedule opens its instance by reference, so this one is on disk."""
    with dg.DagsterInstance.local_temp(str(tmp_path_factory.mktemp("dagster"))) as local:
        yield local


@pytest.mark.parametrize("change", [BACK, FORWARD])
def test_the_schedules_function_asks_for_one_run_a_night_with_a_key_of_its_own(
    instance: dg.DagsterInstance, home: Home, monkeypatch: pytest.MonkeyPatch, change: date
) -> None:
    monkeypatch.setattr("tcg_assets.automation.nightly.news", lambda *values, **options: News(("2026-08-01",), "digest"))
    nightly = Nightly(at="02:30", zone=BERLIN)
    save_nightly(home, nightly)
    first = change - timedelta(days=1)
    keys = []
    for tick in _ticks(nightly, _midnight(first, BERLIN) - timedelta(seconds=1), 3):
        built = dg.build_schedule_context(instance=instance, scheduled_execution_time=tick, resources={"workspace": Workspace()})
        with built as context:
            [request] = nightly_schedule.evaluate_tick(context).run_requests or []
        keys.append(request.run_key)
    assert keys == [f"digest:{(first + timedelta(days=number)).isoformat()}" for number in range(3)]
