"""The one way to open the catalog: checked, migrated, with the pragmas that make it safe."""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from tcg_core.base.atomic import make_directory
from tcg_core.base.home import Home
from tcg_core.catalog.cap_order import declare
from tcg_core.catalog.errors import CatalogError
from tcg_core.catalog.filesystem import network_type
from tcg_core.catalog.schema import MIGRATIONS, Migration

OUTSIDE_IDENTITY = "bookkeeping of what was made"

BUSY_SECONDS = 30.0


def connect(home: Home) -> sqlite3.Connection:
    """Opens ``home.catalog``, making or upgrading it in place. Statements commit by themselves outside :func:`transaction`.

    Raises :class:`CatalogError` for a network file system, a newer catalog or a file that is no catalog.
    """
    return open_catalog(home.catalog)


def open_catalog(path: Path, migrations: Sequence[Migration] = MIGRATIONS) -> sqlite3.Connection:
    """:func:`connect` by path; ``migrations`` is shorter only in tests that make an older catalog."""
    make_directory(path.parent)
    kind = network_type(path.parent.resolve())
    if kind:
        raise CatalogError(f"catalog {path} is on a network file system ({kind}), whose locks do not hold; use a local data home")
    connection = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None)
    try:
        connection.row_factory = sqlite3.Row
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute(f"PRAGMA busy_timeout = {int(BUSY_SECONDS * 1000)}")
        connection.execute("PRAGMA synchronous = FULL")
        if connection.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
            connection.execute("PRAGMA journal_mode = WAL")
        declare(connection)
        _migrate(connection, path, migrations)
    except sqlite3.DatabaseError as error:
        connection.close()
        raise CatalogError(f"catalog {path} cannot be used: {error}") from None
    except CatalogError:
        connection.close()
        raise
    return connection


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[sqlite3.Connection]:
    """One ``BEGIN IMMEDIATE`` transaction: committed at the end, rolled back on any error."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield connection
    except BaseException:
        connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")


@contextmanager
def catalog(home: Home) -> Iterator[sqlite3.Connection]:
    """A connection that is closed at the end."""
    connection = connect(home)
    try:
        yield connection
    finally:
        connection.close()


def home_of(connection: sqlite3.Connection) -> Home:
    """The data home whose catalog this is: paths in the catalog are relative to it."""
    for _, name, file in connection.execute("PRAGMA database_list"):
        if name == "main" and file:
            return Home(Path(file).parent)
    raise CatalogError("the catalog is in memory and belongs to no data home")


def now() -> str:
    """UTC time as the catalog writes it, to the microsecond: what changed last is asked for, also within one second."""
    return as_time(datetime.now(UTC).timestamp())


def as_time(seconds: float) -> str:
    """A time of the file system, in seconds since 1970, as the catalog writes it."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def version_of(connection: sqlite3.Connection) -> int:
    """The number of the last migration applied, 0 for an empty file."""
    if not connection.execute("SELECT 1 FROM sqlite_schema WHERE name = 'schema_migrations'").fetchone():
        return 0
    return int(connection.execute("SELECT coalesce(max(number), 0) FROM schema_migrations").fetchone()[0])


def _migrate(connection: sqlite3.Connection, path: Path, migrations: Sequence[Migration]) -> None:
    newest = migrations[-1].number
    if version_of(connection) == newest:
        return
    with transaction(connection):
        found = version_of(connection)
        if found > newest:
            raise CatalogError(
                f"catalog {path} has version {found}, this tcg knows up to {newest}: use the newer tcg or another home"
            )
        foreign = connection.execute(
            "SELECT name FROM sqlite_schema WHERE type = 'table' AND name <> 'schema_migrations'"
        ).fetchone()
        if found == 0 and foreign:
            raise CatalogError(f"catalog {path} is another program's database: it has a table {foreign[0]}, no schema_migrations")
        connection.execute(
            "CREATE TABLE IF NOT EXISTS schema_migrations"
            " (number INTEGER PRIMARY KEY, name TEXT NOT NULL, applied_at TEXT NOT NULL) STRICT"
        )
        for migration in migrations:
            if migration.number > found:
                for statement in migration.statements:
                    connection.execute(statement)
                connection.execute("INSERT INTO schema_migrations VALUES (?, ?, ?)", (migration.number, migration.name, now()))
