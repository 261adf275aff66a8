"""A throw-away home of many days that share one real day's files by hard links, with ids of their own."""

import os
from datetime import date, timedelta
from pathlib import Path
from typing import Any

from tcg_core.base.digest import sha256_bytes
from tcg_core.base.home import Home
from tcg_core.catalog.connection import catalog, transaction
from tcg_core.days.backfill import backfill
from tcg_core.replay.record_day import record_day

FIRST = "2020-01-01"
_DAY_KINDS = ("staged_day", "parquet_day")


def make(home: Home, count: int) -> None:
    """Builds one real day, then fills catalog, registry and disk up to ``count`` validated days."""
    record_day(home, FIRST, 4, ("random", "random"))
    list(backfill(home))
    with catalog(home) as connection, transaction(connection):
        tables = ("days", "datasets", "verified_files")
        day, dataset, verified = (dict(connection.execute(f"SELECT * FROM {table}").fetchone()) for table in tables)
        artifacts = [dict(row) for row in connection.execute("SELECT * FROM artifacts ORDER BY sequence")]
        checks = [dict(row) for row in connection.execute("SELECT * FROM artifact_checks")]
        sequence = artifacts[-1]["sequence"]
        for offset in range(1, count):
            name = (date.fromisoformat(FIRST) + timedelta(days=offset)).isoformat()
            archive, id = sha256_bytes(name.encode()), sha256_bytes(f"day {name}".encode())[:16]
            ids = dict.fromkeys(_DAY_KINDS, id) | {"day_archive": archive[:16], "field_drift": id}

            def moved(path: str, name: str = name, archive: str = archive) -> str:
                return path.replace(FIRST, name).replace(day["archive_sha256"], archive)

            own = {"day": name, "archive_sha256": archive}
            insert(connection, "days", day | own | {"archive_path": moved(day["archive_path"])})
            insert(connection, "datasets", dataset | own | {"dataset_id": id, "path": moved(dataset["path"])})
            insert(connection, "verified_files", verified | {"path": moved(verified["path"])})
            for row in artifacts:
                sequence += 1
                path = moved(row["path"])
                _link(home.root / row["path"], home.root / path)
                insert(connection, "artifacts", row | {"id": ids[row["kind"]], "path": path, "sequence": sequence})
            for row in checks:
                insert(connection, "artifact_checks", row | {"id": ids[row["kind"]]})


def insert(connection: Any, table: str, row: dict[str, Any]) -> None:
    """Inserts one row."""
    connection.execute(f"INSERT INTO {table} ({', '.join(row)}) VALUES ({', '.join('?' * len(row))})", list(row.values()))


def _link(source: Path, target: Path) -> None:
    if target.exists():
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.is_file():
        os.link(source, target)
        return
    target.mkdir()
    for file in source.iterdir():
        os.link(file, target / file.name)
