"""Disk against catalog, both ways, day by day. Reads only."""

import sqlite3
import zipfile
from pathlib import Path

import pyarrow.parquet as parquet

from tcg_core.base.checks import Check
from tcg_core.base.home import Home
from tcg_core.catalog.connection import catalog
from tcg_core.catalog.datasets import DatasetRow, datasets_of
from tcg_core.catalog.days import day_row, known_days
from tcg_core.catalog.selection import ROWS_FILE

_SHOWN = 5


def verify(home: Home) -> tuple[Check, ...]:
    """Four checks over all days: archives, their members, built directories, episodes in the rows."""
    with catalog(home) as connection:
        days = known_days(connection)
        datasets = datasets_of(connection)
        return (
            _archives(connection, home, days, datasets),
            _members(connection, home, days),
            _directories(home, datasets),
            _rows(connection, home, [dataset for dataset in datasets if dataset.state == "validated"]),
        )


def id_sets(name: str, what: str, here: set[str], there: set[str], sides: tuple[str, str]) -> list[str]:
    """What is in one set only, in words: ``sides`` name the two sets."""
    lines = []
    for extra, only in ((here - there, sides[0]), (there - here, sides[1])):
        if extra:
            shown = sorted(extra)[:_SHOWN]
            lines.append(f"{name}: {len(extra)} {what} only in {only}: {', '.join(shown)}{' …' if len(extra) > _SHOWN else ''}")
    return lines


def _result(name: str, problems: list[str], fine: str) -> Check:
    more = f"; and {len(problems) - _SHOWN} more" if len(problems) > _SHOWN else ""
    message = "; ".join(problems[:_SHOWN]) + more if problems else fine
    return Check(name, not problems, message, facts={"problems": problems[:100]})


def _archives(connection: sqlite3.Connection, home: Home, days: list[str], datasets: list[DatasetRow]) -> Check:
    problems = []
    known = {(d.day, d.archive_sha256) for d in datasets}
    for day in days:
        row = day_row(connection, day)
        known.add((day, row.archive_sha256))
        path = home.root / row.archive_path
        if not path.is_file():
            problems.append(f"{day}: archive {path} is missing")
        elif path.stat().st_size != row.archive_bytes:
            problems.append(f"{day}: archive {path} has {path.stat().st_size} bytes, expected {row.archive_bytes}")
    for path in sorted(home.archives.glob("*/[!.]*.zip")):
        if (path.parent.name, path.stem) not in known:
            problems.append(f"{path.parent.name}: archive {path} is not in the catalog")
    return _result("archives", problems, f"{len(days)} archives, on disk and in the catalog")


def _members(connection: sqlite3.Connection, home: Home, days: list[str]) -> Check:
    problems, count = [], 0
    for day in days:
        row = day_row(connection, day)
        path = home.root / row.archive_path
        if row.cataloged_at is None or not path.is_file():
            continue
        try:
            with zipfile.ZipFile(path) as archive:
                held = {info.filename for info in archive.infolist() if not info.is_dir()}
        except zipfile.BadZipFile as error:
            problems.append(f"{day}: archive {path} cannot be read: {error}")
            continue
        known = {r["member"] for r in connection.execute("SELECT member FROM episodes WHERE day = ?", (day,))}
        count += len(known)
        problems += id_sets(day, "episodes", held, known, ("the archive", "the catalog"))
    return _result("members", problems, f"{count} episodes, in their archives and in the catalog")


def _directories(home: Home, datasets: list[DatasetRow]) -> Check:
    problems = []
    for dataset in datasets:
        path = home.root / dataset.path
        if dataset.state in ("staged", "validated") and not (path / ROWS_FILE).is_file():
            problems.append(f"{dataset.day}: {dataset.state} dataset {path} is missing")
    known = {(home.root / dataset.path).resolve() for dataset in datasets}
    for root in (home.staging, home.days):
        for path in sorted(root.glob("*/*")):
            if _is_day(path) and path.resolve() not in known:
                problems.append(f"{path.parent.name}: dataset {path} is not in the catalog")
    return _result("datasets", problems, f"{len(datasets)} datasets, on disk and in the catalog")


def _rows(connection: sqlite3.Connection, home: Home, datasets: list[DatasetRow]) -> Check:
    problems, count = [], 0
    for dataset in datasets:
        path = home.root / dataset.path / ROWS_FILE
        if not path.is_file():
            continue
        try:
            held = {str(i) for i in parquet.read_table(path, columns=["episode_id"])["episode_id"].unique().to_pylist()}
        except (OSError, ValueError) as error:
            problems.append(f"{dataset.day}: {path} cannot be read: {error}")
            continue
        query = "SELECT episode_id FROM episodes WHERE day = ? AND status = 'rows'"
        known = {str(r["episode_id"]) for r in connection.execute(query, (dataset.day,))}
        count += len(known)
        problems += id_sets(dataset.day, "episodes with rows", held, known, ("the Parquet", "the catalog"))
    return _result("rows", problems, f"{count} episodes with rows, in the Parquet and in the catalog")


def _is_day(path: Path) -> bool:
    return path.is_dir() and len(path.name) == 12 and not path.name.startswith(".")
