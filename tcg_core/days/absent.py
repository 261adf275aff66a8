"""Days that are no training data, by name: dates without an archive, archives without an episode, days without a row."""

import zipfile
from dataclasses import dataclass

from tcg_core.base.home import Home, parse_day
from tcg_core.catalog.connection import catalog
from tcg_core.catalog.datasets import datasets_of
from tcg_core.days.backfill import calendar_gaps, days_with_archive

GAP, EMPTY, ROWLESS = "no archive", "archive without episodes", "validated without rows"


@dataclass(frozen=True)
class Absence:
    """A day that gives no rows though nothing failed, and which of the three it is."""

    day: str
    state: str
    line: str


def absences(home: Home) -> list[Absence]:
    """Every such day of the home, by date. Excluded, failed and damaged days have states of their own in the catalog."""
    held = days_with_archive(home)
    found = [Absence(day, GAP, "its date lies between days that are here") for day in calendar_gaps(held)]
    found += [Absence(day, EMPTY, f"{home.inbox / f'{day}.zip'} holds no file") for day in held if _is_empty(home, day)]
    with catalog(home) as connection:
        rowless = [row for row in datasets_of(connection, state="validated") if not row.rows]
    found += [Absence(row.day, ROWLESS, f"dataset {row.dataset_id} holds no usable episode") for row in rowless]
    return sorted(found, key=lambda absence: absence.day)


def gap_before(home: Home, day: str) -> list[str]:
    """The dates without an archive right before ``day``; empty if the day before is here or none earlier is."""
    earlier = [held for held in days_with_archive(home) if held < parse_day(day)]
    return calendar_gaps([earlier[-1], day]) if earlier else []


def named(days: list[str], shown: int = 5) -> str:
    """The days in words, the first few by name."""
    return ", ".join(days[:shown]) + (f" and {len(days) - shown} more" if len(days) > shown else "")


def _is_empty(home: Home, day: str) -> bool:
    path = home.inbox / f"{day}.zip"
    try:
        if not path.is_file():
            return False
        with zipfile.ZipFile(path) as archive:
            return all(info.is_dir() for info in archive.infolist())
    except (zipfile.BadZipFile, OSError):
        return False
