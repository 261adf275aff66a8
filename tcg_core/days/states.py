"""What a person does to a day's state: exclude it, bring one back; and which validated days are stale.

Stale is no state: a validated day is stale while the present code neither built it nor is proven to build it equally.
"""

from dataclasses import dataclass
from typing import Any

from tcg_core.base.home import Home, parse_day
from tcg_core.catalog.connection import catalog, transaction
from tcg_core.catalog.datasets import DatasetRow, dataset, datasets_of, mark, validate
from tcg_core.catalog.days import list_days
from tcg_core.days.absent import named
from tcg_core.days.code import REMEDY, of_other_code
from tcg_core.days.errors import DayError
from tcg_core.days.history import decide
from tcg_core.days.promote import intact
from tcg_core.encode.schema import SCHEMA


@dataclass(frozen=True)
class Stale:
    """A validated day that this code would build otherwise. ``unreadable``: its schema is another, so it cannot be used."""

    day: str
    dataset_id: str
    unreadable: bool

    @property
    def why(self) -> str:
        """In a few words."""
        return "other schema" if self.unreadable else "other code"


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
        decide(home, day, rows[0].dataset_id, "excluded", reason)
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
            decide(home, day, dataset_id, "validated")
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
    """Validated days that neither the present code built nor is proven to build equally, by date."""
    with catalog(home) as connection:
        rows, other = datasets_of(connection, state="validated"), of_other_code(connection)
    stale = [row for row in rows if (row.day, row.dataset_id) in other]
    return [Stale(row.day, row.dataset_id, row.schema_digest != SCHEMA.digest) for row in stale]


def listed_days(home: Home) -> list[dict[str, Any]]:
    """For people: :func:`~tcg_core.catalog.days.list_days` with ``stale``: why a validated day is, "" for any other."""
    why = {day.day: day.why for day in stale_days(home)}
    return [row | {"stale": why.get(str(row["day"]), "")} for row in list_days(home)]


def stale_line(home: Home) -> str:
    """Which validated days are stale and what to do, in one line; "" if none is."""
    stale = [day.day for day in stale_days(home)]
    if not stale:
        return ""
    return f"{len(stale)} validated days are stale, built by other code: {named(stale)}; {REMEDY}"
