"""All checks of a built day, in one place: what is read back from its directory, and the catalog's rows against its archive."""

import sqlite3
from collections.abc import Sequence
from pathlib import Path

from tcg_core.base.checks import Check
from tcg_core.catalog.records import EpisodeRecord
from tcg_core.days.checks.catalogued import catalog_foreign_keys, catalog_id_sets, catalog_same_content
from tcg_core.days.checks.contract import dtype_contract
from tcg_core.days.checks.coverage import row_coverage
from tcg_core.days.checks.order import lane_order
from tcg_core.days.checks.quarantine import MAX_QUARANTINE_FRAC, quarantine_fraction
from tcg_core.days.checks.report import guarded
from tcg_core.days.checks.rows import aux_contract, legal_labels, value_ranges
from tcg_core.days.checks.versions import module_versions
from tcg_core.days.layout import EXPECTED
from tcg_core.replay.archive import Archive
from tcg_core.rows.reader import ROWS

STAGED_CHECKS = (
    "quarantine_fraction",
    "row_coverage",
    "dtype_contract",
    "legal_labels",
    "aux_contract",
    "value_ranges",
    "lane_order",
    "module_versions",
)
CATALOG_CHECKS = ("catalog_id_sets", "catalog_foreign_keys", "catalog_same_content")


def staged_checks(
    directory: Path, day: str, records: Sequence[EpisodeRecord], max_quarantine_frac: float = MAX_QUARANTINE_FRAC
) -> tuple[Check, ...]:
    """STAGED_CHECKS over the directory of a built day."""
    rows = directory / ROWS
    return (
        quarantine_fraction(records, max_quarantine_frac),
        guarded("row_coverage", lambda: row_coverage(rows, directory / EXPECTED)),
        guarded("dtype_contract", lambda: dtype_contract(rows, day)),
        guarded("legal_labels", lambda: legal_labels(rows)),
        guarded("aux_contract", lambda: aux_contract(rows)),
        guarded("value_ranges", lambda: value_ranges(rows)),
        guarded("lane_order", lambda: lane_order(rows)),
        module_versions(records),
    )


def catalog_checks(connection: sqlite3.Connection, day: str, archive: Archive) -> tuple[Check, ...]:
    """CATALOG_CHECKS of the day."""
    return (
        catalog_id_sets(connection, day, (member.name for member in archive.members)),
        catalog_foreign_keys(connection, day),
        catalog_same_content(connection, day),
    )
