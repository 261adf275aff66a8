"""Checks of the day assets."""

from tcg_assets.checks.declared import Declared

DECLARED = {
    "day_archive": Declared(
        error={
            "no_duplicate_member": "each member name occurs once in the central directory",
            "sizes_sane": "no member is empty or beyond the size cap",
            "archive_complete": "the stored bytes are the bytes of the inbox, and every CRC holds",
        }
    ),
    "day_catalog": Declared(
        error={
            "catalog_members": "archive and catalog hold the same episodes, both ways",
            "catalog_foreign_keys": "every reference of the day's rows exists",
        }
    ),
    "staged_day": Declared(
        error={
            "row_coverage": "an independent count of decisions and picks of each lane equals the rows",
            "dtype_contract": "columns, dtypes and list groups are those of the schema",
            "legal_labels": "no label is illegal under its own mask",
            "aux_contract": "auxiliary targets agree within a decision and with their ranges",
            "value_ranges": "every value is inside its declared range, none is NaN",
            "lane_order": "rows are in canonical order, decisions whole, lanes begin with new_episode",
            "quarantine_fraction": "the share of unusable episodes is under the threshold",
        }
    ),
    "parquet_day": Declared(error={"intact": "the promoted file, read again, has the recorded hash, schema and row count"}),
}
