"""States of a built day. At most one dataset of a day is ``validated``; only that one is ever selected."""

import sqlite3
from dataclasses import asdict, dataclass

from tcg_core.base.errors import UnknownId
from tcg_core.catalog.connection import now
from tcg_core.catalog.errors import CatalogError
from tcg_core.catalog.records import DatasetRecord

#: What may follow what. ``staged`` from anywhere: the same build was made again.
TRANSITIONS: dict[str, tuple[str, ...]] = {
    "staged": ("staged", "validated", "failed", "superseded", "excluded"),
    "validated": ("superseded", "damaged", "excluded"),
    "superseded": ("staged", "validated", "damaged", "excluded"),
    "failed": ("staged", "failed", "superseded", "excluded"),
    "damaged": ("staged", "superseded", "damaged"),
    "excluded": ("staged", "validated", "superseded", "excluded"),
}


@dataclass(frozen=True)
class DatasetRow(DatasetRecord):
    """A dataset with its state; ``reason`` says why it is failed, damaged or excluded."""

    state: str
    reason: str | None


def stage(connection: sqlite3.Connection, record: DatasetRecord) -> None:
    """Records a built day as staged; the same build that is validated or excluded already stays so."""
    old = find_dataset(connection, record.day, record.dataset_id)
    if old and old.state in ("validated", "excluded"):
        return
    values = asdict(record) | {"generations": "+".join(record.generations), "now": now()}
    connection.execute(
        "INSERT INTO datasets (dataset_id, day, state, path, sha256, bytes, rows, episodes, row_groups, generations,"
        " schema_digest, code, archive_sha256, rows_digest, created_at, changed_at)"
        " VALUES (:dataset_id, :day, 'staged', :path, :sha256, :bytes, :rows, :episodes, :row_groups, :generations,"
        " :schema_digest, :code, :archive_sha256, :rows_digest, :now, :now)"
        " ON CONFLICT (day, dataset_id) DO UPDATE SET state = 'staged', reason = NULL, path = :path, sha256 = :sha256,"
        " bytes = :bytes, rows = :rows, episodes = :episodes, row_groups = :row_groups, generations = :generations,"
        " schema_digest = :schema_digest, code = :code, changed_at = :now,"
        # The same bytes hold the same rows, also where whoever staged them did not say which.
        " rows_digest = CASE WHEN :rows_digest IS NOT NULL THEN :rows_digest WHEN sha256 = :sha256 THEN rows_digest END",
        values,
    )


def put(
    connection: sqlite3.Connection, record: DatasetRecord, state: str, reason: str | None, created_at: str, changed_at: str
) -> None:
    """Inserts a dataset as it was, into a catalog that is filled again. Raises :class:`sqlite3.IntegrityError` for what may not
    be, as a second validated dataset of a day."""
    values = asdict(record) | {"generations": "+".join(record.generations), "state": state, "reason": reason}
    connection.execute(
        "INSERT INTO datasets (dataset_id, day, state, reason, path, sha256, bytes, rows, episodes, row_groups, generations,"
        " schema_digest, code, archive_sha256, rows_digest, created_at, changed_at)"
        " VALUES (:dataset_id, :day, :state, :reason, :path, :sha256, :bytes, :rows, :episodes, :row_groups, :generations,"
        " :schema_digest, :code, :archive_sha256, :rows_digest, :created_at, :changed_at)",
        values | {"created_at": created_at, "changed_at": changed_at},
    )


def validate(connection: sqlite3.Connection, day: str, dataset_id: str, path: str) -> None:
    """Makes this dataset, now at ``path``, the day's validated one; the one before becomes superseded in the same transaction."""
    connection.execute(
        "UPDATE datasets SET state = 'superseded', changed_at = ? WHERE day = ? AND state = 'validated' AND dataset_id <> ?",
        (now(), day, dataset_id),
    )
    if dataset(connection, day, dataset_id).state != "validated":
        mark(connection, day, dataset_id, "validated")
    connection.execute("UPDATE datasets SET path = ? WHERE day = ? AND dataset_id = ?", (path, day, dataset_id))


def mark(connection: sqlite3.Connection, day: str, dataset_id: str, state: str, reason: str | None = None) -> None:
    """Moves a dataset to another state; raises :class:`CatalogError` if that may not follow its present one."""
    present = dataset(connection, day, dataset_id).state
    if state not in TRANSITIONS[present]:
        raise CatalogError(f"dataset {dataset_id} of {day} is {present}, which may not become {state}")
    connection.execute(
        "UPDATE datasets SET state = ?, reason = ?, changed_at = ? WHERE day = ? AND dataset_id = ?",
        (state, reason, now(), day, dataset_id),
    )


def set_rows_digest(connection: sqlite3.Connection, day: str, dataset_id: str, digest: str) -> None:
    """Records the hash of a dataset's logical rows, where it was built without."""
    connection.execute("UPDATE datasets SET rows_digest = ? WHERE day = ? AND dataset_id = ?", (digest, day, dataset_id))


def supersede_all(connection: sqlite3.Connection, day: str) -> None:
    """The day has another archive: what was built from the old one is out of selection."""
    connection.execute(
        "UPDATE datasets SET state = 'superseded', reason = 'the day has another archive', changed_at = ?"
        " WHERE day = ? AND state IN ('staged', 'validated', 'failed')",
        (now(), day),
    )


def find_dataset(connection: sqlite3.Connection, day: str, dataset_id: str) -> DatasetRow | None:
    """One dataset, None if there is none."""
    row = connection.execute("SELECT * FROM datasets WHERE day = ? AND dataset_id = ?", (day, dataset_id)).fetchone()
    return _row(row) if row else None


def dataset(connection: sqlite3.Connection, day: str, dataset_id: str) -> DatasetRow:
    """One dataset; raises :class:`UnknownId` if there is none."""
    found = find_dataset(connection, day, dataset_id)
    if found is None:
        raise UnknownId(f"there is no dataset {dataset_id} of day {day}")
    return found


def datasets_of(connection: sqlite3.Connection, day: str | None = None, state: str | None = None) -> list[DatasetRow]:
    """Datasets of a day (or of all) in a state (or in any), by day, last changed first."""
    rows = connection.execute(
        "SELECT * FROM datasets WHERE (?1 IS NULL OR day = ?1) AND (?2 IS NULL OR state = ?2)"
        " ORDER BY day, changed_at DESC, dataset_id",
        (day, state),
    )
    return [_row(row) for row in rows]


def _row(row: sqlite3.Row) -> DatasetRow:
    values = {key: row[key] for key in row.keys() if key not in ("created_at", "changed_at")}  # noqa: SIM118 (a Row iterates over values)
    return DatasetRow(**values | {"generations": tuple(filter(None, values["generations"].split("+")))})
