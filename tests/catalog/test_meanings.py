"""Every column that a page shows says what it means, and nothing is described that is not there."""

import pytest

from tcg_core.arena.results import SCHEMA as GAMES
from tcg_core.catalog.meanings import CATALOG, PARQUET, catalog_columns
from tcg_core.plan.tables import _CHUNK_COLUMNS
from tcg_core.ratings.table import _SCHEMA as RATINGS


@pytest.mark.parametrize("table", sorted(CATALOG))
def test_a_catalog_table_is_described_column_by_column(table: str) -> None:
    assert [name for name, _, _ in catalog_columns(table)], "a table that the catalog has"
    assert {name for name, _, _ in catalog_columns(table)} == set(CATALOG[table])


@pytest.mark.parametrize(
    ("file", "columns"),
    [
        ("chunks.parquet", {*_CHUNK_COLUMNS, "decision_rows"}),
        ("ratings.parquet", set(RATINGS.names)),
        ("games.parquet", set(GAMES.names)),
    ],
)
def test_a_parquet_table_is_described_column_by_column(file: str, columns: set[str]) -> None:
    assert set(PARQUET[file]) == columns
