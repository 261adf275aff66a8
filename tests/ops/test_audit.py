"""The audit: every day in its turn, a damaged one out of selection, an end when the time is over."""

import pytest

from tcg_core.base.checks import Check
from tcg_core.catalog import registry
from tcg_core.catalog.connection import catalog
from tcg_core.catalog.datasets import datasets_of
from tcg_core.catalog.kinds import DAY
from tcg_core.days.errors import DayError
from tcg_core.ops import audit as module
from tcg_core.ops.audit import audit, named, share, turn
from tests.ops.chain import day

DAYS = [f"2026-08-{n:02d}" for n in range(1, 11)]


def read(home, due):
    """As a verification leaves it."""
    registry.record_checks(home, DAY, due.dataset_id, [Check("intact", True, "fine")])
    return (Check("intact", True, "fine"), Check("archive_intact", True, "fine", "WARN"))


@pytest.fixture
def days(home, monkeypatch):
    for name in DAYS:
        day(home, name)
    monkeypatch.setattr(module, "verify_day", lambda home, name: read(home, named(home, [name])[0]))
    return home


@pytest.mark.parametrize("nights", [1, 3, 7, 30])
def test_within_so_many_nights_every_day_is_read(days, nights):
    seen = set()
    for _ in range(nights):
        chosen = share(turn(days), nights)
        assert len(chosen) == -(-len(DAYS) // nights)
        seen |= {item.due.day for item in audit(days, chosen)}
    assert seen == set(DAYS)


def test_a_new_day_waits_its_turn_and_an_unread_one_comes_first(days):
    for item in audit(days, turn(days)):
        assert item.result == "intact"
    day(days, "2026-09-01")
    read(days, named(days, ["2026-09-01"])[0])  # as its promotion does
    with catalog(days) as connection:
        connection.execute("DELETE FROM artifact_checks WHERE id = ?", (named(days, [DAYS[4]])[0].dataset_id,))
    order = [due.day for due in turn(days)]
    assert order[0] == DAYS[4] and order[-1] == "2026-09-01" and order[1] == DAYS[0]


def test_when_the_time_is_over_the_rest_comes_first_in_the_next_night(days):
    seconds = iter(range(0, 10_000, 25))
    done = list(audit(days, turn(days), minutes=2, clock=lambda: next(seconds)))
    assert 1 < len(done) < len(DAYS)
    assert [due.day for due in turn(days)][: len(DAYS) - len(done)] == DAYS[len(done) :]
    seconds = iter(range(0, 1_000_000, 5000))
    assert len(list(audit(days, turn(days), minutes=2, clock=lambda: next(seconds)))) == 1, "one day is read in any case"


def test_a_day_that_went_out_of_selection_meanwhile_is_skipped_with_the_reason(days, monkeypatch):
    chosen = turn(days)[:1]

    def gone(home, name):
        raise DayError(f"day {name} has no validated dataset to verify")

    monkeypatch.setattr(module, "verify_day", gone)
    [item] = audit(days, chosen)
    assert item.result == "skipped" and "no validated dataset" in item.reason


def test_a_day_that_is_not_validated_cannot_be_asked_for(days):
    with pytest.raises(DayError, match="2027-01-01 has no validated dataset to audit: not built"):
        named(days, ["2027-01-01"])


def test_a_truly_damaged_day_is_found_and_out_of_selection(real_day):
    home, name = real_day
    [fine] = audit(home, turn(home))
    assert fine.result == "intact" and fine.due.bytes > 1000
    with catalog(home) as connection:
        [row] = datasets_of(connection, name, "validated")
    rows = home.root / row.path / "rows.parquet"
    rows.write_bytes(rows.read_bytes()[:-1] + b"\0")
    [found] = audit(home, turn(home))
    assert found.result == "damaged" and "rows.parquet: expected SHA-256" in found.reason
    assert turn(home) == []
    with catalog(home) as connection:
        assert [r.state for r in datasets_of(connection, name)] == ["damaged"]


def test_a_damaged_archive_leaves_the_day_in_use_and_is_told(real_day):
    home, _ = real_day
    archive = next(home.archives.glob("*/*.zip"))
    archive.write_bytes(archive.read_bytes() + b"\0")
    [found] = audit(home, turn(home))
    assert found.result == "archive damaged" and "has SHA-256" in found.reason
    assert len(turn(home)) == 1
