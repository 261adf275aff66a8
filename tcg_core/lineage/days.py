"""Days behind an artifact that are no longer what they were when it was built.

Read from the catalog alone: states of datasets and the registered inputs. A day that was re-published, excluded or found
damaged marks everything built from it; so does a build of the same id with other bytes. A day that was only built again by
newer code is told, not warned of: the artifact is what its manifest says.
"""

import sqlite3
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from tcg_core.base.graph import Graph
from tcg_core.base.home import Home
from tcg_core.base.manifest import Key
from tcg_core.catalog.connection import catalog
from tcg_core.catalog.kinds import DAY
from tcg_core.lineage.graph import registered


@dataclass(frozen=True)
class DayMark:
    """A day that changed under what was built from it. ``warns``: false where only the code that built the day changed."""

    day: str
    dataset_id: str
    why: str
    warns: bool

    def __str__(self) -> str:
        what = "built from superseded day" if self.warns else "built from an older build of day"
        return f"{what} {self.day} ({self.why})"


def changed_days(connection: sqlite3.Connection) -> dict[str, DayMark]:
    """Marks by dataset id, of all datasets that are not what a new plan would read."""
    query = "SELECT d.*, y.archive_sha256 AS present FROM datasets d JOIN days y USING (day)"
    marks = {}
    for row in connection.execute(query):
        why, warns = _why(row)
        if why:
            marks[row["dataset_id"]] = DayMark(row["day"], row["dataset_id"], why, warns)
    return marks


def _why(row: sqlite3.Row) -> tuple[str, bool]:
    state, reason = row["state"], row["reason"]
    if state in ("excluded", "damaged", "failed"):
        return f"{state}: {reason}", True
    if row["archive_sha256"] != row["present"]:
        return "re-published: the day has another archive", True
    if state == "superseded":
        return "superseded: built again by other code", False
    return "", False


def days_behind(graph: Graph, key: Key) -> tuple[str, ...]:
    """Dataset ids of all builds of days behind an artifact, directly or through others; pure."""
    return tuple(sorted({item.id for item in graph.read(key) if item.kind == DAY}))


def marks_behind(
    graph: Graph, key: Key, changed: Mapping[str, DayMark], contents: Mapping[str, tuple[str, str]]
) -> tuple[DayMark, ...]:
    """Marks of the days behind an artifact, by date; pure.

    contents: by dataset id, the (day, content hash) that is registered now.
    """
    found: dict[str, DayMark] = {}
    for item in graph.read(key):
        mark = (changed.get(item.id) or _other_content(item.id, item.sha256, contents)) if item.kind == DAY else None
        if mark:
            found[item.id] = mark
    return tuple(sorted(found.values(), key=lambda mark: (mark.day, mark.dataset_id)))


def _other_content(id: str, sha256: str, contents: Mapping[str, tuple[str, str]]) -> DayMark | None:
    day, content = contents.get(id, ("", sha256))
    return None if content == sha256 else DayMark(day, id, f"its content is now {content[:12]}, it was {sha256[:12]}", True)


def marks(home: Home, keys: Iterable[Key] | None = None) -> dict[Key, tuple[DayMark, ...]]:
    """Marks of the named artifacts (None: of all registered), those without any left out."""
    with catalog(home) as connection:
        graph, changed = registered(connection), changed_days(connection)
        query = "SELECT a.id, a.content, d.day FROM artifacts a JOIN datasets d ON d.dataset_id = a.id WHERE a.kind = ?"
        contents = {row["id"]: (row["day"], row["content"]) for row in connection.execute(query, (DAY,))}
    asked = graph.inputs if keys is None else keys
    found = {key: marks_behind(graph, key, changed, contents) for key in asked}
    return {key: value for key, value in found.items() if value}


def warnings(home: Home) -> list[str]:
    """One line for the champion, the latest submission and every promoted one that was built from a superseded day."""
    with catalog(home) as connection:
        shown: dict[str, str] = {}
        latest = connection.execute(
            "SELECT id FROM artifacts WHERE kind = 'submission' ORDER BY sequence DESC LIMIT 1"
        ).fetchone()
        if latest:
            shown[latest["id"]] = "latest submission"
        promoted = promotions(connection)
        shown |= dict.fromkeys(promoted, "former champion")
        if promoted:
            shown[promoted[-1]] = "champion"
    found = marks(home, [("submission", id) for id in shown])
    return [
        f"{shown[id]} {id} is {'; '.join(str(mark) for mark in held if mark.warns)}"
        for (_, id), held in found.items()
        if any(mark.warns for mark in held)
    ]


def promotions(connection: sqlite3.Connection) -> list[str]:
    """Submissions that were ever promoted, the reigning champion last; empty in a catalog that knows no promotions yet."""
    if not connection.execute("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'promotions'").fetchone():
        return []
    rows = connection.execute("SELECT challenger FROM promotions WHERE verdict = 'promoted' ORDER BY rowid")
    return [str(row["challenger"]) for row in rows]
