"""Checks of the day assets."""

from tcg_assets.checks.declared import Declared

DECLARED = {
    "day_archive": Declared(
        error={
            "no_duplicate_members": "each episode occurs once in the central directory",
            "sizes_sane": "the unpacked size is that of a day, not of a bomb; members that are empty or over the cap are named",
            "archive_complete": "size, hash and central directory, read back, are those that the catalog recorded",
        }
    ),
    "day_catalog": Declared(
        error={
            "catalog_id_sets": "archive and catalog hold the same episodes, both ways",
            "catalog_foreign_keys": "every reference of the day's rows exists",
        },
        warn={"catalog_same_content": "no two episodes of the day have the same content"},
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
        },
        warn={"module_versions": "all episodes were played by one engine version, a known one"},
    ),
    "field_drift": Declared(
        error={},
        warn={
            "decks": "the decks are about those of the days before",
            "names": "the teams are about those of the days before",
            "versions": "no engine version that the days before did not have",
            "game_length": "games are about as long as on the days before",
            "first_player": "who goes first wins about as often as on the days before",
        },
    ),
    "ratings": Declared(
        error={
            "as_of": "a day's rating is the state at its start, recounted from the games of earlier days",
            "one_row_each": "one row an agent, day and source",
        }
    ),
    "parquet_day": Declared(error={"intact": "the promoted file, read again, has the recorded hash, schema and row count"}),
}
