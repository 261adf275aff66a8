"""The hash of a day file's logical rows: what a training run has seen is known by it, never by the file's bytes."""

from collections.abc import Collection
from pathlib import Path

from tcg_core.base.digest import sha256_file
from tcg_core.base.errors import IntegrityError
from tcg_core.base.home import Home
from tcg_core.catalog.connection import catalog, transaction
from tcg_core.catalog.datasets import DatasetRow, datasets_of, set_rows_digest
from tcg_core.catalog.seen import seen_by
from tcg_core.encode.digest import rows_digest
from tcg_core.rows.errors import SchemaMismatch
from tcg_core.rows.reader import ROWS, DayReader


def file_digest(path: Path) -> str:
    """Hex SHA-256 of the rows of ``path`` (the file or its directory), read one row group at a time.

    Raises what :class:`~tcg_core.rows.reader.DayReader` raises.
    """
    with DayReader(path) as reader:
        return rows_digest(reader.batches())


def fill_digests(home: Home, days: Collection[str]) -> int:
    """Records the hash of every dataset of ``days`` that was built without; returns how many.

    Left without are datasets whose file is gone, is not what was recorded, or has another schema.
    """
    filled = 0
    for day in days:
        with catalog(home) as connection:
            missing = [row for row in datasets_of(connection, day) if row.rows_digest is None]
        for row in missing:
            digest = _digest_of(home, row)
            if digest:
                with catalog(home) as connection, transaction(connection):
                    set_rows_digest(connection, row.day, row.dataset_id, digest)
                filled += 1
    return filled


def fill_digests_for(home: Home, run: str) -> int:
    """:func:`fill_digests` of the days of which it decides whether ``run`` has seen them: those whose present file is not the
    one that was planned. Nothing for an empty ``run``. Raises what :func:`~tcg_core.catalog.seen.seen_by` raises."""
    return fill_digests(home, seen_by(home, run).undecided) if run else 0


def _digest_of(home: Home, row: DatasetRow) -> str:
    path = home.root / row.path / ROWS
    try:
        return file_digest(path) if path.is_file() and sha256_file(path) == row.sha256 else ""
    except (IntegrityError, SchemaMismatch):
        return ""
