"""`tcg catalog rebuild`: a new ``catalog.sqlite`` where the old one is lost or damaged, from what lies in the home.

It is filled under a temporary name and renamed last, so that a killed rebuild leaves the home as it was. Nothing is deleted: a
damaged catalog is moved aside, and so is one that knows less than what lies in the home. Any other healthy one is refused.
"""

import sqlite3
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from tcg_core.base.atomic import move, replacing, sweep
from tcg_core.base.home import Home
from tcg_core.catalog.behind import catalog_behind
from tcg_core.catalog.connection import open_catalog
from tcg_core.catalog.errors import CatalogError
from tcg_core.catalog.schema import VERSION
from tcg_core.ops.lock import ops_lock
from tcg_core.ops.refill import Refill
from tcg_core.train.lock import trainer_lock

#: What no file of a home says, with what to do about it.
UNKNOWN = (
    "days excluded or restored by hand before decisions/ was written: such a day is in training again, or its newer build is;"
    " exclude it again with `tcg day exclude`",
    "builds whose files were removed, with their decks and team names",
    "ratings: `tcg catalog ratings` computes them again",
    "which files were verified: each is hashed again when it is used next",
)
_BESIDE = ("", "-wal", "-shm", "-journal")
#: A catalog without a row in these knows nothing: some command made it after the old one was lost.
_KNOWING = ("days", "datasets", "artifacts", "promotions", "agents")
Condition = Literal["absent", "empty", "damaged", "behind", "healthy"]


@dataclass(frozen=True)
class Rebuilt:
    """counts: rows by table; aside: where the old files of the catalog lie; problems: what lies in the home and could not be
    used, and why; missing: what something names and is not there."""

    counts: dict[str, int]
    aside: tuple[Path, ...]
    problems: tuple[str, ...]
    missing: tuple[str, ...]


def rebuild(home: Home) -> Rebuilt:
    """Makes the catalog anew. Killed anywhere, the same call begins again.

    Raises :class:`CatalogError` for a catalog that is healthy, newer than this code or another program's, :class:`TcgError`
    naming a promotion that cannot be read, and what the locks of trainer and operator raise.
    """
    with ops_lock(home.root, "rebuild of the catalog"), trainer_lock(home, "rebuild of the catalog"):
        _require_lost(home)
        sweep(home.root)
        with replacing(home.catalog) as temporary:
            try:
                refill, counts = _fill(home, temporary)
            finally:
                for suffix in _BESIDE[1:]:
                    temporary.with_name(temporary.name + suffix).unlink(missing_ok=True)
            # The files beside the old database go too: SQLite would take its log for the new one's.
            aside = _set_aside(home, _require_lost(home))
        return Rebuilt(counts, aside, tuple(refill.problems), tuple(refill.missing))


def condition(path: Path) -> Condition:
    """How a catalog is: ``empty`` is one that knows nothing, ``damaged`` one that SQLite cannot read whole.

    Raises :class:`CatalogError` for one that cannot be looked at now, of a newer version, or of another program.
    """
    if not path.is_file():
        return "absent"
    try:
        with closing(sqlite3.connect(path, timeout=5.0)) as connection:
            if connection.execute("PRAGMA integrity_check(1)").fetchone()[0] != "ok":
                return "damaged"
            tables = {str(name) for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}
            if tables and "schema_migrations" not in tables:
                raise CatalogError(f"{path} is another program's database: it has a table {sorted(tables)[0]}; move it away")
            version = connection.execute("SELECT max(number) FROM schema_migrations").fetchone()[0] if tables else 0
            if (version or 0) > VERSION:
                raise CatalogError(f"{path} has version {version}, this tcg knows up to {VERSION}: use the newer tcg")
            knowing = (connection.execute(f"SELECT 1 FROM {table} LIMIT 1").fetchone() for table in _KNOWING if table in tables)
            return "healthy" if any(knowing) else "empty"
    except sqlite3.OperationalError as error:
        raise CatalogError(f"{path} cannot be looked at: {error}; nothing was changed") from None
    except sqlite3.DatabaseError:
        return "damaged"


def _require_lost(home: Home) -> Condition:
    found = condition(home.catalog)
    if found == "healthy" and catalog_behind(home):
        return "behind"
    if found == "healthy":
        raise CatalogError(
            f"{home.catalog} is healthy, and a rebuild would forget what only it knows: `tcg catalog verify` compares it with the"
            " files of the home"
        )
    return found


def _fill(home: Home, temporary: Path) -> tuple[Refill, dict[str, int]]:
    with closing(open_catalog(temporary)) as connection:
        refill = Refill(home, connection)
        refill.run()
        names = [row["name"] for row in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")]
        counts = {name: int(connection.execute(f"SELECT count(*) FROM {name}").fetchone()[0]) for name in names}
        if connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]:
            raise CatalogError(f"{temporary} is open elsewhere: its log cannot be written back")
    return refill, counts


def _set_aside(home: Home, found: Condition) -> tuple[Path, ...]:
    """Moves the old catalog and its log to a name under which SQLite can still open both; returns where they are."""
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%S.%fZ")
    name = f"{home.catalog.name}.{'damaged' if found == 'absent' else found}-{stamp}"
    moved = []
    for suffix in reversed(_BESIDE):
        path = home.root / f"{home.catalog.name}{suffix}"
        if path.exists():
            move(path, home.root / f"{name}{suffix}")
            moved.append(home.root / f"{name}{suffix}")
    return tuple(reversed(moved))
