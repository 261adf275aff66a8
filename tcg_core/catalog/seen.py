"""What a training run has seen: the rows of the days in its plan, and in the plans of the runs that it was resumed from.

Rows are known by the hash of their values, so that a day whose file was only written anew stays seen. A plan names its days by
file; the catalog knows which rows that file held. Where it does not, the same file is the same rows.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from tcg_core.base.digest import sha256_file
from tcg_core.base.errors import IntegrityError, UnknownId
from tcg_core.base.graph import back
from tcg_core.base.home import Home
from tcg_core.base.manifest import Input, Key, read_manifest
from tcg_core.catalog.connection import catalog

SUMMARY, PLAN, CHECKPOINT = "summary.json", "work_plan", "checkpoint"


@dataclass(frozen=True)
class Seen:
    """runs: the run and those before it, the youngest first; files: SHA-256 of every rows.parquet in their plans; rows: hash of
    the logical rows in them, as far as known; undecided: planned days whose present file is none of ``files`` while the hash of
    the rows of either is not known (:func:`tcg_core.rows.digest.fill_digests`)."""

    runs: tuple[str, ...]
    files: frozenset[str]
    rows: frozenset[str]
    undecided: tuple[str, ...]

    def has(self, sha256: str, rows_digest: str | None) -> bool:
        """Whether the rows in the file with this SHA-256, and with this hash if it is known, were seen."""
        return sha256 in self.files or rows_digest in self.rows


@dataclass(frozen=True)
class _Planned:
    """A day as a plan names it; rows_digest: "" in an older plan."""

    day: str
    sha256: str
    rows_digest: str


def seen_by(home: Home, run: str) -> Seen:
    """What ``run`` and every run it was resumed from were planned over: a day published again with other rows is not among it.

    Raises :class:`UnknownId` naming a plan that is not on disk and :class:`IntegrityError` naming one that is not as stored.
    """
    runs: list[str] = []
    planned: set[_Planned] = set()
    for visit in back([(PLAN, run)], lambda visit: _before(home, visit.key)):
        kind, name = visit.key
        if kind == PLAN:
            runs.append(name)
            planned |= _days(_plan(home, name))
    files = frozenset(item.sha256 for item in planned)
    known, present = _catalogued(home)
    rows = {item.rows_digest or known.get((item.day, item.sha256)) for item in planned}
    other = {item for item in planned if item.day in present and present[item.day][0] not in files}
    undecided = {
        item.day for item in other if present[item.day][1] is None or not (item.rows_digest or known.get((item.day, item.sha256)))
    }
    return Seen(tuple(runs), files, frozenset(digest for digest in rows if digest), tuple(sorted(undecided)))


def _before(home: Home, key: Key) -> Iterable[Input]:
    """From a plan to the run that it continues, from a run to its plan, whose id it bears."""
    kind, id = key
    if kind == CHECKPOINT:
        return [Input(PLAN, id, "")]
    return [item for item in read_manifest(_plan(home, id)).inputs if item.kind == CHECKPOINT]


def _plan(home: Home, run: str) -> Path:
    directory = home.plans / run
    if not directory.is_dir():
        raise UnknownId(
            f"selection.unseen_by: the plan of run {run} is not on disk ({directory}), so which days it saw is unknown: "
            "restore it from a backup, or train from fresh weights"
        )
    return directory


def _days(plan: Path) -> set[_Planned]:
    summary = plan / SUMMARY
    expected = read_manifest(plan).files.get(SUMMARY)
    if not summary.is_file() or sha256_file(summary) != expected:
        raise IntegrityError(f"{summary} is not what its manifest lists")
    days = json.loads(summary.read_text())["days"]
    return {_Planned(str(day["day"]), str(day["sha256"]), str(day.get("rows_digest", ""))) for day in days}


def _catalogued(home: Home) -> tuple[dict[tuple[str, str], str], dict[str, tuple[str, str | None]]]:
    """Known hashes of rows by day and file, and of each validated day its file and, if known, the hash of its rows."""
    with catalog(home) as connection:
        rows = connection.execute("SELECT day, sha256, rows_digest, state FROM datasets").fetchall()
    known = {(row["day"], row["sha256"]): str(row["rows_digest"]) for row in rows if row["rows_digest"]}
    return known, {row["day"]: (row["sha256"], row["rows_digest"]) for row in rows if row["state"] == "validated"}
