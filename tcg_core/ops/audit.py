"""The nightly audit: validated days are read again, whole, in turn, those first that were read longest ago.

A thousand days with their archives are 800 GB: too much for a night, and bytes rot slowly. Each night reads a share.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from tcg_core.base.checks import Check
from tcg_core.base.home import Home
from tcg_core.catalog.connection import catalog
from tcg_core.catalog.datasets import datasets_of
from tcg_core.catalog.kinds import DAY
from tcg_core.days.errors import DayError
from tcg_core.days.promote import verify_day


@dataclass(frozen=True)
class Due:
    """A validated day. ``read_at``: when its bytes were last read and compared, "" for never; ``bytes``: rows and archive."""

    day: str
    dataset_id: str
    read_at: str
    bytes: int


@dataclass(frozen=True)
class Audited:
    """A day that was looked at. ``skipped``: why it was not read, else ""."""

    due: Due
    checks: tuple[Check, ...]
    seconds: float
    skipped: str = ""

    @property
    def result(self) -> str:
        """``intact``, ``damaged``, ``archive damaged`` or ``skipped``."""
        if self.skipped:
            return "skipped"
        if any(check.blocks for check in self.checks):
            return "damaged"
        return "intact" if all(check.passed for check in self.checks) else "archive damaged"

    @property
    def reason(self) -> str:
        """What was found, in words."""
        wrong = [check.message for check in self.checks if not check.passed]
        return self.skipped or "; ".join(wrong) or (self.checks[0].message if self.checks else "")


def turn(home: Home) -> list[Due]:
    """All validated days in the order in which they are read: longest unread first, by date where equal."""
    query = (
        "SELECT d.day, d.dataset_id, d.bytes, y.archive_bytes, coalesce(c.checked_at, '') AS read_at FROM datasets d"
        " JOIN days y USING (day) LEFT JOIN artifact_checks c ON c.kind = ? AND c.id = d.dataset_id AND c.name = 'intact'"
        " WHERE d.state = 'validated' ORDER BY read_at, d.day"
    )
    with catalog(home) as connection:
        rows = connection.execute(query, (DAY,)).fetchall()
    return [Due(row["day"], row["dataset_id"], row["read_at"], row["bytes"] + row["archive_bytes"]) for row in rows]


def share(days: Sequence[Due], nights: int) -> list[Due]:
    """Tonight's days: so many that all are read once within ``nights``."""
    return list(days[: -(-len(days) // nights)])


def named(home: Home, days: Sequence[str]) -> list[Due]:
    """These days, in this order; raises :class:`DayError` for one that is not validated."""
    held = {due.day: due for due in turn(home)}
    for day in days:
        if day not in held:
            with catalog(home) as connection:
                states = ", ".join(row.state for row in datasets_of(connection, day)) or "not built"
            raise DayError(f"day {day} has no validated dataset to audit: {states}")
    return [held[day] for day in days]


def audit(
    home: Home, days: Sequence[Due], minutes: float = 0.0, clock: Callable[[], float] = time.monotonic
) -> Iterator[Audited]:
    """Reads the days one after another; a damaged one is out of selection when it is yielded.

    After ``minutes`` (0: no limit) no further day is begun; at least one is. A day that went out of selection meanwhile is
    yielded as skipped. Killed anywhere, the next audit begins with the days that were not reached.
    """
    began = clock()
    for index, due in enumerate(days):
        started = clock()
        if index and minutes and started - began >= minutes * 60:
            return
        try:
            checks, skipped = verify_day(home, due.day), ""
        except DayError as error:
            checks, skipped = (), str(error)
        yield Audited(due, checks, clock() - started, skipped)
