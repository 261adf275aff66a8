"""What a person does to a day's state: exclude it, bring one back, mark what other code built."""

from dataclasses import dataclass

from tcg_core.base.home import Home, parse_day
from tcg_core.catalog.connection import catalog, transaction
from tcg_core.catalog.datasets import DatasetRow, dataset, datasets_of, mark, validate
from tcg_core.days.code import build_code
from tcg_core.days.errors import DayError
from tcg_core.days.promote import intact
from tcg_core.encode.schema import SCHEMA


@dataclass(frozen=True)
class Stale:
    """A validated day that this code would build otherwise. ``unreadable``: its schema is another, so it cannot be used."""

    day: str
    dataset_id: str
    unreadable: bool


def exclude_day(home: Home, day: str, reason: str) -> DatasetRow:
    """Takes the validated day out of selection, with a reason; raises :class:`DayError` if there is none."""
    parse_day(day)
    if not reason.strip():
        raise DayError(f"day {day}: say why it is excluded")
    with catalog(home) as connection, transaction(connection):
        rows = datasets_of(connection, day, "validated")
        if not rows:
            raise DayError(f"day {day} has no validated dataset to exclude")
        mark(connection, day, rows[0].dataset_id, "excluded", reason)
        return dataset(connection, day, rows[0].dataset_id)


def restore_day(home: Home, day: str, dataset_id: str) -> DatasetRow:
    """Makes a superseded or excluded dataset of the day the validated one again, if its files are still what they were."""
    parse_day(day)
    with catalog(home) as connection:
        row = dataset(connection, day, dataset_id)
        check = intact(home.root / row.path, row)
        if row.state not in ("superseded", "excluded") or not check.passed:
            raise DayError(f"dataset {dataset_id} of {day} cannot be restored: it is {row.state}; {check.message}")
        with transaction(connection):
            validate(connection, day, dataset_id, row.path)
        return dataset(connection, day, dataset_id)


def restorable(home: Home, day: str) -> str:
    """The excluded or superseded dataset of the day that changed last; raises :class:`DayError` if there is none."""
    parse_day(day)
    with catalog(home) as connection:
        known = [row.dataset_id for row in datasets_of(connection, day) if row.state in ("excluded", "superseded")]
    if not known:
        raise DayError(f"day {day} has no excluded or superseded dataset to restore")
    return known[0]


def stale_days(home: Home) -> list[Stale]:
    """Validated days built by other code than this, by date."""
    code = build_code()
    with catalog(home) as connection:
        rows = datasets_of(connection, state="validated")
    return [Stale(row.day, row.dataset_id, row.schema_digest != SCHEMA.digest) for row in rows if row.code != code]


def mark_stale(home: Home) -> list[Stale]:
    """Takes the stale days out of selection until they are built again; returns them."""
    stale = stale_days(home)
    with catalog(home) as connection, transaction(connection):
        for day in stale:
            mark(connection, day.day, day.dataset_id, "stale", "built by other code")
    return stale
