"""Promotion: a staged day whose checks passed becomes the validated one, which is the only kind that is ever selected."""

from pathlib import Path

from tcg_core.base.atomic import discard, move
from tcg_core.base.built import Built
from tcg_core.base.checks import Check
from tcg_core.base.digest import sha256_file
from tcg_core.base.errors import TcgError
from tcg_core.base.home import Home, parse_day
from tcg_core.base.manifest import read_manifest, verify_files
from tcg_core.catalog import registry
from tcg_core.catalog.connection import catalog, transaction
from tcg_core.catalog.datasets import DatasetRow, datasets_of, mark, validate
from tcg_core.catalog.days import day_row
from tcg_core.catalog.files import remember
from tcg_core.catalog.kinds import DAY, STAGED
from tcg_core.days.errors import DayError
from tcg_core.days.staged_checks import CATALOG_CHECKS, STAGED_CHECKS
from tcg_core.rows.arrow import ARROW_SCHEMA
from tcg_core.rows.digest import fill_digests
from tcg_core.rows.reader import ROWS, DayReader


def promote_day(home: Home, day: str) -> Built:
    """Renames the staged directory to ``days/DATE/<sha12>/`` and makes it the validated dataset of the day.

    The day's former dataset becomes superseded in the same transaction. Refused (:class:`ChecksNotPassed`,
    :class:`DayError`) unless every check of the staged form was recorded and none blocks. Without a staged build, the
    validated one is verified and reused. A crash between rename and commit is healed by calling again.
    """
    parse_day(day)
    row = _candidate(home, day)
    reused = row.state == "validated"
    if not reused:
        registry.require_passed(home, STAGED, row.dataset_id, (*STAGED_CHECKS, *CATALOG_CHECKS))
    # What is superseded may be cleaned away: runs that were trained on it are to be known by its rows.
    fill_digests(home, [day])
    path = _publish(home, row)
    check = intact(path, row)
    if not check.passed:
        _set_aside(home, row, check)
        return Built(DAY, row.dataset_id, path, reused, (check,))
    manifest = read_manifest(path)
    place = registry.relative(home, path)
    with catalog(home) as connection, transaction(connection):
        validate(connection, day, row.dataset_id, place)
        remember(connection, path / ROWS, f"{place}/{ROWS}", row.sha256)
        registry.register_in(connection, home, manifest, path)
        connection.execute("UPDATE artifacts SET path = ? WHERE kind = ? AND id = ?", (place, STAGED, row.dataset_id))
    # No Stage (tcg_core.base.stage): nothing is made, a directory is renamed, and it is registered in the transaction that makes
    # it the day's dataset.
    registry.record_checks(home, DAY, row.dataset_id, [check])
    facts = {
        "rows": row.rows,
        "episodes": row.episodes,
        "row_groups": row.row_groups,
        "bytes": row.bytes,
        "bytes_per_row": round(row.bytes / max(row.rows, 1), 1),
        "decoded_bytes_per_row": round(manifest.facts["decoded_bytes"] / max(row.rows, 1), 1),
        "generations": list(row.generations),
        "sha256": row.sha256,
        "schema_digest": row.schema_digest,
    }
    return Built(DAY, row.dataset_id, path, reused, (check,), facts)


def verify_day(home: Home, day: str) -> tuple[Check, ...]:
    """Reads the validated day and its archive again, whole. A day that is not what was recorded becomes ``damaged`` and is
    out of selection until it is built again. Raises :class:`DayError` if the day has no validated dataset."""
    parse_day(day)
    with catalog(home) as connection:
        rows = datasets_of(connection, day, "validated")
        if not rows:
            raise DayError(f"day {day} has no validated dataset to verify{_states(datasets_of(connection, day))}")
        archive = day_row(connection, day)
    check = intact(home.root / rows[0].path, rows[0])
    if not check.passed:
        _set_aside(home, rows[0], check)
    checks = (check, _archive_intact(home.root / archive.archive_path, archive.archive_sha256))
    registry.record_checks(home, DAY, rows[0].dataset_id, checks)
    return checks


def _archive_intact(path: Path, expected: str) -> Check:
    try:
        found = sha256_file(path) if path.is_file() else "absent"
    except OSError as error:
        return Check("archive_intact", False, f"archive {path} cannot be read: {error.strerror or error}", "WARN")
    same = found == expected
    told = f"archive {path} has SHA-256 {found[:12]}" + ("" if same else f", expected {expected[:12]}")
    return Check("archive_intact", same, told, "WARN")


def intact(path: Path, row: DatasetRow) -> Check:
    """The files of a built day re-read from disk: hashes by its manifest, SHA-256, schema and row count by the catalog."""
    try:
        manifest = verify_files(path)
        problems = []
        if manifest.files.get(ROWS) != row.sha256:
            problems.append(f"rows have SHA-256 {manifest.files.get(ROWS, 'absent')[:12]}, expected {row.sha256[:12]}")
        with DayReader(path) as reader:
            if (reader.rows, len(reader.row_groups)) != (row.rows, row.row_groups):
                problems.append(f"{reader.rows} rows in {len(reader.row_groups)} groups, expected {row.rows} in {row.row_groups}")
            if reader.schema_digest != row.schema_digest or reader.arrow_schema != ARROW_SCHEMA:
                problems.append(f"schema {reader.schema_digest[:12]}, expected {row.schema_digest[:12]}")
    except (TcgError, OSError) as error:
        # A disk that cannot read a file any more is damage too.
        problems = [str(error)]
    fine = f"{row.rows} rows, SHA-256 {row.sha256[:12]}, schema {row.schema_digest[:12]}, as recorded"
    return Check("intact", not problems, "; ".join(problems) or fine, facts={"sha256": row.sha256, "rows": row.rows})


def _candidate(home: Home, day: str) -> DatasetRow:
    with catalog(home) as connection:
        archive = day_row(connection, day).archive_sha256
        rows = datasets_of(connection, day)
    for state in ("staged", "validated"):
        for row in rows:
            if row.state == state and row.archive_sha256 == archive:
                return row
    raise DayError(f"day {day} has no staged dataset to promote{_states(rows)}")


def _states(rows: list[DatasetRow]) -> str:
    told = [f"{row.dataset_id} is {row.state}" + (f" ({row.reason})" if row.reason else "") for row in rows]
    return ": " + ", ".join(told) if told else ": none was built"


def _publish(home: Home, row: DatasetRow) -> Path:
    source = home.root / row.path
    target = home.days / row.day / source.name
    if source == target or not source.is_dir():
        return target
    if target.is_dir():
        try:
            verify_files(target)
        except TcgError:
            discard(target)
        else:
            discard(source)
            return target
    move(source, target)
    return target


def _set_aside(home: Home, row: DatasetRow, check: Check) -> None:
    state = "damaged" if row.state == "validated" else "failed"
    with catalog(home) as connection, transaction(connection):
        mark(connection, row.day, row.dataset_id, state, check.message)
