"""A time of day in a zone: one moment a day, whatever the clock does. That Dagster's scheduler has the same ones is tested in
`tests/assets/test_dst.py`."""

from datetime import UTC, date, datetime, timedelta

import pytest

from tcg_core.base.clock import TimeOfDay
from tcg_core.base.errors import ConfigError

BERLIN = "Europe/Berlin"


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "zone", "words"),
    [
        ("25:00", "UTC", r"^audit_at '25:00' is no time of day, expected HH:MM as in 03:00$"),
        ("3:00", "UTC", "audit_at '3:00'"),
        ("03:60", "UTC", "audit_at '03:60'"),
        ("03:00:00", "UTC", "audit_at '03:00:00'"),
        ("03:00\n", "UTC", "audit_at"),
        ("03:00", "Mars/Olympus", r"^zone 'Mars/Olympus' is unknown, expected a name as in Europe/Berlin$"),
        ("03:00", "", "zone ''"),
    ],
)
def test_what_is_no_time_or_no_zone_is_refused_by_its_key(text: str, zone: str, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        TimeOfDay.parse(text, zone, "audit_at")


def test_a_time_of_day_as_text_and_as_a_cron_line() -> None:
    found = TimeOfDay.parse("04:05", BERLIN)
    assert (str(found), found.cron, found.tzinfo.key) == ("04:05 Europe/Berlin", "5 4 * * *", BERLIN)


@pytest.mark.parametrize(
    ("day", "at", "moment"),
    [
        ("2026-08-03", "02:30", "2026-08-03T00:30"),
        ("2026-10-25", "01:59", "2026-10-24T23:59"),
        ("2026-10-25", "02:30", "2026-10-25T01:30"),  # twice that night; the second one, in winter time
        ("2026-10-25", "03:00", "2026-10-25T02:00"),
        ("2027-03-28", "01:59", "2027-03-28T00:59"),
        ("2027-03-28", "02:00", "2027-03-28T01:00"),  # never that night; when the clock jumps to 03:00
        ("2027-03-28", "02:30", "2027-03-28T01:00"),
        ("2027-03-28", "02:59", "2027-03-28T01:00"),
        ("2027-03-28", "03:00", "2027-03-28T01:00"),
    ],
)
def test_the_moment_of_a_day(day: str, at: str, moment: str) -> None:
    found = TimeOfDay.parse(at, BERLIN).on(date.fromisoformat(day))
    assert found.astimezone(UTC) == utc(moment) and found.utcoffset() == found.astimezone(found.tzinfo).utcoffset()


def test_a_clock_that_moves_by_half_an_hour() -> None:
    found = TimeOfDay.parse("02:15", "Australia/Lord_Howe").on(date(2026, 10, 4))
    assert found.astimezone(UTC) == utc("2026-10-03T15:30") and f"{found:%H:%M}" == "02:30"


@pytest.mark.parametrize("at", ["00:00", "01:59", "02:00", "02:30", "03:00", "23:59"])
@pytest.mark.parametrize("change", [date(2026, 10, 25), date(2027, 3, 28)])
def test_the_next_one_is_later_and_none_is_left_out(change: date, at: str) -> None:
    time = TimeOfDay.parse(at, BERLIN)
    days = [change + timedelta(days=number) for number in range(-2, 3)]
    moment, found = time.on(days[0]) - timedelta(seconds=1), []
    for _ in days:
        moment = time.next_after(moment)
        found.append(time.day_of(moment))
    assert found == days


def test_the_next_one_is_asked_in_any_zone() -> None:
    time = TimeOfDay.parse("03:00", "Pacific/Auckland")
    assert time.next_after(utc("2026-08-03T14:59")) == utc("2026-08-03T15:00")
    assert time.next_after(utc("2026-08-03T15:00")) == utc("2026-08-04T15:00")
    assert time.day_of(utc("2026-08-03T14:59")) == date(2026, 8, 4)
