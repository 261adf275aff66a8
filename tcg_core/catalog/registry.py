"""The registry of artifacts: where each is, what went into it, and whether its checks passed.

Hand-over between stages is by id through here, never by newest directory. All of it is on disk too, in manifests and records of
checks, from which :mod:`tcg_core.ops.rebuild` fills a new catalog.
"""

import json
import math
import sqlite3
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from tcg_core.base.atomic import write_json
from tcg_core.base.checks import Check
from tcg_core.base.digest import canonical_json
from tcg_core.base.errors import IntegrityError, UnknownId
from tcg_core.base.home import Home
from tcg_core.base.makers import checked_by
from tcg_core.base.manifest import Manifest
from tcg_core.catalog.connection import as_time, catalog, now, transaction
from tcg_core.catalog.errors import ChecksNotPassed

OUTSIDE_IDENTITY = "bookkeeping of what was made"


@dataclass(frozen=True)
class Registered:
    """One row of the registry. ``state`` is passed, failed or unchecked; ``path`` is absolute."""

    kind: str
    id: str
    path: Path
    content: str
    state: str
    registered_at: str
    facts: dict[str, Any]


@dataclass(frozen=True)
class HomeRegistrar:
    """The registry of one home as stages are handed it (:class:`tcg_core.base.stage.Registrar`)."""

    home: Home

    def register(self, manifest: Manifest, path: Path) -> None:
        """:func:`register`."""
        register(self.home, manifest, path)

    def record_checks(self, kind: str, id: str, checks: Iterable[Check]) -> None:
        """:func:`record_checks`."""
        record_checks(self.home, kind, id, checks)

    def checks_of(self, kind: str, id: str) -> tuple[Check, ...]:
        """:func:`checks_of`."""
        return checks_of(self.home, kind, id)


def register(home: Home, manifest: Manifest, path: Path) -> None:
    """Records an artifact, or that it was materialized again. If its content changed, its recorded checks are dropped."""
    with catalog(home) as connection, transaction(connection):
        register_in(connection, home, manifest, path)


@dataclass(frozen=True)
class RecordedChecks:
    """Checks as they lie beside the catalog: of which content they are, and when they were recorded (UTC)."""

    content: str
    checks: tuple[Check, ...]
    at: str


def register_in(
    connection: sqlite3.Connection, home: Home, manifest: Manifest, path: Path, content: str | None = None, at: str = ""
) -> None:
    """:func:`register` within the caller's transaction. content: overrides the manifest's (a lone file's own SHA-256); at: when
    it was registered (UTC), now if empty."""
    key, content = (manifest.kind, manifest.id), content or manifest.content
    old = connection.execute("SELECT content FROM artifacts WHERE kind = ? AND id = ?", key).fetchone()
    if old and old["content"] != content:
        connection.execute("DELETE FROM artifact_checks WHERE kind = ? AND id = ?", key)
    config, facts = canonical_json(plain(manifest.config)), canonical_json(plain(manifest.facts))
    sequence = connection.execute("SELECT coalesce(max(sequence), 0) + 1 FROM artifacts").fetchone()[0]
    connection.execute(
        "INSERT INTO artifacts VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (kind, id) DO UPDATE SET path = excluded.path,"
        " content = excluded.content, code = excluded.code, config = excluded.config, facts = excluded.facts,"
        " sequence = excluded.sequence, registered_at = excluded.registered_at",
        (*key, relative(home, path), content, manifest.code, config, facts, sequence, at or now()),
    )
    connection.execute("DELETE FROM artifact_inputs WHERE kind = ? AND id = ?", key)
    connection.executemany(
        "INSERT INTO artifact_inputs VALUES (?, ?, ?, ?, ?, ?)",
        [(*key, position, item.kind, item.id, item.sha256) for position, item in enumerate(manifest.inputs)],
    )


def record_checks(home: Home, kind: str, id: str, checks: Iterable[Check]) -> None:
    """Replaces the recorded checks of an artifact, in the catalog and on disk beside it (``checks/KIND/ID.json``)."""
    checks = tuple(replace(check, facts=plain(check.facts)) for check in checks)
    with catalog(home) as connection:
        content = _row(connection, kind, id)["content"]
        at = now()
        write_json(_record_path(home, kind, id), {"content": content, "checks": [asdict(check) for check in checks], "at": at})
        with transaction(connection):
            insert_checks(connection, kind, id, checks, at)


def checks_of(home: Home, kind: str, id: str) -> tuple[Check, ...]:
    """The recorded checks of an artifact, by name; empty if none were recorded."""
    with catalog(home) as connection:
        rows = connection.execute("SELECT * FROM artifact_checks WHERE kind = ? AND id = ? ORDER BY name", (kind, id)).fetchall()
    return tuple(Check(r["name"], bool(r["passed"]), r["message"], r["severity"], json.loads(r["facts"])) for r in rows)


def find(home: Home, kind: str, id: str) -> Path:
    """Where an artifact is; raises :class:`UnknownId` if it is not registered or not on disk."""
    with catalog(home) as connection:
        path = home.root / str(_row(connection, kind, id)["path"])
    if not path.exists():
        raise UnknownId(f"{kind} {id} is registered at {path}, where there is nothing")
    return path


def require_passed(home: Home, kind: str, id: str, names: Iterable[str] = ()) -> Path:
    """Where an artifact is, if all its blocking checks passed.

    ``names``: checks that must have been recorded; at least one must be in any case. Raises
    :class:`ChecksNotPassed` naming what failed or is absent.
    """
    path = find(home, kind, id)
    checks = {check.name: check for check in checks_of(home, kind, id)}
    absent = sorted(set(names) - set(checks))
    failed = sorted(name for name, check in checks.items() if check.blocks)
    if failed:
        raise ChecksNotPassed(f"{kind} {id}: check {', '.join(failed)} failed: {checks[failed[0]].message}")
    if absent or not checks:
        never = f"{kind} {id}: check {', '.join(absent) or 'results'} absent: it was never checked"
        if not checks and checks_on_disk(home, kind, id):
            never += " as far as the catalog knows; its checks lie in checks/, and `tcg catalog rebuild` restores a lost catalog"
        elif not checks:
            never += checked_by(path)
        raise ChecksNotPassed(never)
    return path


def latest_passed(home: Home, kind: str) -> str:
    """The id of the artifact of ``kind`` that was materialized last among those on disk whose blocking checks passed."""
    rows = rows_of(home, kind)
    for row in rows:
        if row.state == "passed" and row.path.exists():
            return row.id
    tried = f" (of {len(rows)}, the last is {rows[0].id}: {rows[0].state})" if rows else ""
    raise UnknownId(f"there is no {kind} whose checks passed{tried}")


def rows_of(home: Home, kind: str | None = None) -> list[Registered]:
    """The registry, last materialized first; of one kind or of all."""
    query = (
        "SELECT a.*, count(c.name) AS checks, coalesce(sum(c.passed = 0 AND c.severity = 'ERROR'), 0) AS failed"
        " FROM artifacts a LEFT JOIN artifact_checks c USING (kind, id) WHERE ?1 IS NULL OR a.kind = ?1"
        " GROUP BY a.kind, a.id ORDER BY a.sequence DESC"
    )
    with catalog(home) as connection:
        rows = connection.execute(query, (kind,)).fetchall()
    return [
        Registered(
            row["kind"],
            row["id"],
            home.root / row["path"],
            row["content"],
            "failed" if row["failed"] else "passed" if row["checks"] else "unchecked",
            row["registered_at"],
            json.loads(row["facts"]),
        )
        for row in rows
    ]


def list_artifacts(home: Home) -> list[dict[str, Any]]:
    """For people: the registry, last materialized last, with paths below the home."""
    return [
        {"kind": row.kind, "id": row.id, "state": row.state, "registered": row.registered_at, "path": relative(home, row.path)}
        for row in reversed(rows_of(home))
    ]


def relative(home: Home, path: Path) -> str:
    """``path`` below the home, as the catalog stores it."""
    try:
        return path.resolve().relative_to(home.root.resolve()).as_posix()
    except ValueError:
        raise IntegrityError(f"{path} is not below the data home {home.root}") from None


def plain(value: Any) -> Any:
    """JSON values only: numpy scalars and arrays as Python's, paths as text, a float that is no number as null."""
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


def checks_on_disk(home: Home, kind: str, id: str) -> RecordedChecks | None:
    """The record of an artifact's checks beside the catalog; None if there is none. Raises :class:`IntegrityError` naming a file
    that is no such record."""
    path = _record_path(home, kind, id)
    if not path.is_file():
        return None
    try:
        values = json.loads(path.read_text())
        at = str(values.get("at") or as_time(path.stat().st_mtime))
        return RecordedChecks(str(values["content"]), tuple(Check(**check) for check in values["checks"]), at)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise IntegrityError(f"{path} is no record of checks: {error}") from None


def insert_checks(connection: sqlite3.Connection, kind: str, id: str, checks: Iterable[Check], at: str) -> None:
    """Replaces the checks of an artifact in the catalog alone, within the caller's transaction."""
    connection.execute("DELETE FROM artifact_checks WHERE kind = ? AND id = ?", (kind, id))
    connection.executemany(
        "INSERT INTO artifact_checks VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        [(kind, id, c.name, int(c.passed), c.severity, c.message, canonical_json(c.facts), at) for c in checks],
    )


def _row(connection: sqlite3.Connection, kind: str, id: str) -> sqlite3.Row:
    row: sqlite3.Row | None = connection.execute("SELECT * FROM artifacts WHERE kind = ? AND id = ?", (kind, id)).fetchone()
    if row is None:
        raise UnknownId(f"there is no {kind} {id}")
    return row


def _record_path(home: Home, kind: str, id: str) -> Path:
    return home.root / "checks" / kind / f"{id}.json"
