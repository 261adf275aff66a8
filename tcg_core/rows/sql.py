"""SQL over the validated Parquet days joined with the catalog, for people: read-only, in memory, by DuckDB.

Views: ``rows`` (every row of every validated day), ``would_ko`` (attacks looked ahead, of days built with them) and the
catalog's tables (``days``, ``datasets``, ``episodes``, ``games``, ``participants`` with agent names, ``decks``, ``agents``,
``ratings``, ``artifacts``, ``checks``).
"""

import re
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from tcg_core.base.errors import TcgError
from tcg_core.base.home import Home
from tcg_core.catalog.connection import catalog
from tcg_core.catalog.selection import ROWS_FILE
from tcg_core.rows.would_ko import WOULD_KO

#: The catalog's views: name -> the query that fills it.
CATALOG_VIEWS = {
    "days": "SELECT * FROM days",
    "datasets": "SELECT * FROM datasets",
    "episodes": "SELECT * FROM episodes",
    "games": "SELECT * FROM games",
    "participants": "SELECT p.day, p.episode_id, p.side, a.name AS agent, p.deck_hash FROM participants p JOIN agents a"
    " USING (agent_id)",
    "decks": "SELECT * FROM decks",
    "agents": "SELECT * FROM agents",
    "ratings": "SELECT e.day, e.source, r.as_of, a.name AS agent, e.elo, e.games, e.wins, e.losses, e.draws"
    " FROM agent_elo_daily e JOIN agents a USING (agent_id) LEFT JOIN rating_days r ON r.day = e.day AND r.source = e.source",
    "artifacts": "SELECT kind, id, path, content, code, registered_at FROM artifacts",
    "checks": "SELECT kind, id, name, passed, severity, message, checked_at FROM artifact_checks",
}
#: Views over a file of every validated day that has it.
FILE_VIEWS = {"rows": ROWS_FILE, "would_ko": WOULD_KO}
VIEWS = (*FILE_VIEWS, *CATALOG_VIEWS)
_TYPES: dict[str, Callable[[], Any]] = {"INTEGER": pa.int64, "REAL": pa.float64, "TEXT": pa.string}
_SETTINGS: dict[str, str | bool | int | float | list[str]] = {
    "threads": 2,
    "memory_limit": "2GB",
    "temp_directory": "",
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
}


class SqlError(TcgError):
    """A query that is no single SELECT, or that DuckDB refuses."""


def query(home: Home, sql: str) -> pa.Table:
    """The result of one SELECT (or EXPLAIN, DESCRIBE, SUMMARIZE) over VIEWS.

    Only the validated days' files can be read, nothing can be written. Raises :class:`SqlError` with DuckDB's own line.
    """
    with duckdb.connect(config=_SETTINGS) as connection:
        try:
            _require_reading(connection, sql)
            _views(connection, home, sql)
            result: pa.Table = connection.sql(sql).to_arrow_table()
        except duckdb.Error as error:
            raise SqlError(_line(error)) from None
    return result


def _require_reading(connection: duckdb.DuckDBPyConnection, sql: str) -> None:
    statements = connection.extract_statements(sql)
    reading = (duckdb.StatementType.SELECT, duckdb.StatementType.EXPLAIN)
    if len(statements) != 1 or statements[0].type not in reading:
        found = ", ".join(statement.type.name for statement in statements) or "nothing"
        raise SqlError(f"expected one SELECT, found {found}; views: {', '.join(VIEWS)}")


def _views(connection: duckdb.DuckDBPyConnection, home: Home, sql: str) -> None:
    """Makes the views that the text names, then shuts every other way to a file."""
    asked = {name for name in VIEWS if re.search(rf"\b{name}\b", sql, re.IGNORECASE)}
    with catalog(home) as held:
        found = held.execute("SELECT path FROM datasets WHERE state = 'validated' ORDER BY day").fetchall()
        directories = [home.root / row["path"] for row in found]
        for name in sorted(asked - set(FILE_VIEWS)):
            connection.register(f"catalog_{name}", _table(held, CATALOG_VIEWS[name]))
            connection.execute(f"CREATE VIEW {name} AS SELECT * FROM catalog_{name}")
    allowed: list[str] = []
    for name in sorted(asked & set(FILE_VIEWS)):
        files = [str(directory / FILE_VIEWS[name]) for directory in directories]
        files = [file for file in files if name == "rows" or Path(file).is_file()]
        if not files:
            raise SqlError(
                "no validated day was built with --would-ko" if directories else f"there is no validated day, so no {name}"
            )
        connection.execute(f"CREATE VIEW {name} AS SELECT * FROM read_parquet({files!r})")
        allowed += files
    connection.execute(f"SET allowed_paths = {allowed!r}")
    connection.execute("SET enable_external_access = false")
    connection.execute("SET lock_configuration = true")


def _table(connection: sqlite3.Connection, sql: str) -> pa.Table:
    """A query's result with the columns' declared types, which SQLite tells through a temporary view."""
    connection.execute(f"CREATE TEMP VIEW asked AS {sql}")
    try:
        described = [(row["name"], row["type"]) for row in connection.execute("PRAGMA temp.table_info(asked)")]
        cursor = connection.cursor()
        cursor.row_factory = None  # plain tuples: a season's games are many rows
        rows = cursor.execute("SELECT * FROM asked").fetchall()
    finally:
        connection.execute("DROP VIEW asked")
    columns = list(zip(*rows, strict=True)) or [()] * len(described)
    arrays = [pa.array(column, _TYPES[kind]()) for column, (_, kind) in zip(columns, described, strict=True)]
    return pa.Table.from_arrays(arrays, names=[name for name, _ in described])


def _line(error: Exception) -> str:
    return " ".join(str(error).split("\n\n")[0].split())
