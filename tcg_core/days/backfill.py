"""Days of history, one after the other: taken, built, promoted, compared. A day that fails stops itself alone.

What is current is left as it is, so the same command continues after a kill. Worker processes share the pass over one
day and never open the catalog.
"""

import logging
import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Literal

from tcg_core.base.built import Built
from tcg_core.base.errors import TcgError, UnknownId
from tcg_core.base.home import Home, NotADay, parse_day
from tcg_core.catalog.connection import catalog
from tcg_core.catalog.datasets import DatasetRow, datasets_of
from tcg_core.catalog.days import day_row, known_days
from tcg_core.catalog.kinds import DAY
from tcg_core.encode.errors import EncodeError

LOG = logging.getLogger("tcg")
State = Literal["built", "current", "excluded", "failed", "no archive"]


class NothingToBackfill(TcgError):
    """A range without a single archive."""


@dataclass(frozen=True)
class DayResult:
    """How one day ended, and why in one line."""

    day: str
    state: State
    line: str


def why_current(home: Home, day: str) -> str:
    """The reason why ``day`` needs no build, "" if it needs one.

    Current is a validated dataset on disk, made from the recorded archive by this code or proven equal under it, while the inbox
    holds either nothing for the day or that same archive (by the digest of its directory).
    """
    from tcg_core.days.code import of_other_code
    from tcg_core.replay.archive import open_archive

    with catalog(home) as connection:
        try:
            row = day_row(connection, day)
        except UnknownId:
            return ""
        validated, other = datasets_of(connection, day, "validated"), of_other_code(connection)
    if not validated:
        return ""
    [dataset] = validated
    stale = (day, dataset.dataset_id) in other
    if dataset.archive_sha256 != row.archive_sha256 or stale or not (home.root / dataset.path).exists():
        return ""
    waiting = home.inbox / f"{day}.zip"
    if waiting.is_file():
        with open_archive(waiting) as archive:
            if archive.directory_digest != row.directory_digest:
                return ""
    return f"validated dataset {dataset.dataset_id} of archive {row.archive_sha256[:12]} is current"


def days_with_archive(home: Home) -> list[str]:
    """Days whose archive was taken (perhaps not yet recorded, after a kill) or lies in the inbox, by date."""
    with catalog(home) as connection:
        found = set(known_days(connection))
    moved = {path.parent.name for path in home.archives.glob("*/[!.]*.zip")}
    for name in sorted(moved | {path.stem for path in home.inbox.glob("*.zip")}):
        try:
            found.add(parse_day(name))
        except NotADay:
            LOG.info("%s is ignored: its name is no day", name)
    return sorted(found)


def calendar_gaps(days: list[str]) -> list[str]:
    """Dates between the first and the last of ``days`` (sorted) that are not among them."""
    return [day for day in _calendar(days[0], days[-1]) if day not in set(days)] if days else []


def backfill(
    home: Home,
    first: str = "",
    last: str = "",
    *,
    workers: int = 1,
    newest_first: bool = False,
    missing: bool = False,
) -> Iterator[DayResult]:
    """Brings every day from ``first`` to ``last`` (empty: the first and last known) up to date; yields each as it ends.

    ``missing``: leave every day alone that has a validated dataset, also one of other code. Dates without an archive are
    yielded as such, first. Raises :class:`NothingToBackfill`, :class:`NotADay`; what a day raises is its result.
    """
    held = days_with_archive(home)
    first, last = (parse_day(bound) if bound else (held[at] if held else "") for bound, at in ((first, 0), (last, -1)))
    chosen = [day for day in held if first <= day <= last]
    if not chosen:
        raise NothingToBackfill(f"no day from {first or 'the first'} to {last or 'the last'} has an archive in {home.root}")
    for day in _calendar(first, last):
        if day not in chosen:
            yield DayResult(day, "no archive", f"neither {home.inbox / f'{day}.zip'} nor a taken archive")
    for day in sorted(chosen, reverse=newest_first):
        result = _one(home, day, workers, missing)
        LOG.info("%s %s: %s", result.day, result.state, result.line)
        yield result


def _one(home: Home, day: str, workers: int, missing: bool) -> DayResult:
    try:
        with catalog(home) as connection:
            rows = datasets_of(connection, day)
        validated = [row for row in rows if row.state == "validated"]
        if missing and validated:
            return DayResult(day, "current", f"validated dataset {validated[0].dataset_id}")
        reason = why_current(home, day)
        if reason:
            return DayResult(day, "current", reason)
        excluded = _excluded(home, day, rows)
        if excluded is not None:
            return DayResult(day, "excluded", f"dataset {excluded.dataset_id}: {excluded.reason}")
        return _build(home, day, workers)
    except (TcgError, EncodeError, OSError, sqlite3.OperationalError) as error:
        return DayResult(day, "failed", str(error))


def _excluded(home: Home, day: str, rows: list[DatasetRow]) -> DatasetRow | None:
    """The exclusion that still stands: that of the day's present archive, with no other archive waiting."""
    if (home.inbox / f"{day}.zip").is_file():
        return None
    standing = [row for row in rows if row.state == "excluded"]
    return standing[0] if standing else None


def _build(home: Home, day: str, workers: int) -> DayResult:
    from tcg_core.days.build import build_day
    from tcg_core.days.drift import field_drift
    from tcg_core.days.promote import promote_day
    from tcg_core.days.take import take_archive
    from tcg_core.lookahead.kept import kept_settings

    stages: tuple[Callable[[], Built], ...] = (
        lambda: take_archive(home, day),
        lambda: build_day(home, day, workers=workers, would_ko=kept_settings(home, day)),
        lambda: promote_day(home, day),
        lambda: field_drift(home, day),
    )
    told = ""
    for stage in stages:
        built = stage()
        failed = [check for check in built.checks if check.blocks]
        if failed:
            return DayResult(day, "failed", f"check {failed[0].name} of {built.kind} failed: {failed[0].message}")
        if built.kind == DAY:
            told = f"dataset {built.id}, {built.facts['rows']} rows"
    return DayResult(day, "built", told)


def _calendar(first: str, last: str) -> list[str]:
    start, end = date.fromisoformat(first), date.fromisoformat(last)
    return [(start + timedelta(days=offset)).isoformat() for offset in range((end - start).days + 1)]
