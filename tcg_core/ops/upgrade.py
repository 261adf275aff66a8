"""`tcg upgrade`: what becomes stale under the present code, what a proof carries over, and the hours of both ways.

It only reads. The versions of a day decide whether it can be proven; whether it is equal, only the proof finds out.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from math import ceil
from pathlib import Path
from statistics import median

from tcg_core.base.code import code_version
from tcg_core.base.errors import IntegrityError
from tcg_core.base.home import Home
from tcg_core.base.manifest import MANIFEST, RECORDED, read_manifest
from tcg_core.catalog.connection import catalog
from tcg_core.catalog.datasets import DatasetRow, datasets_of
from tcg_core.catalog.registry import Registered, rows_of
from tcg_core.days.absent import named
from tcg_core.days.backfill import backfill
from tcg_core.days.code import of_other_code
from tcg_core.days.prove import prove_days, why_rebuild
from tcg_core.days.sample import LEAST, SHARE
from tcg_core.encode.schema import SCHEMA
from tcg_core.nightly.unfinished import why_refused
from tcg_core.plan.build import KIND as PLAN

CHECKPOINT, ARTIFACT = "checkpoint", "torch_artifact"
#: An artifact's contract, by the name that ``model.torch_load`` gives it; importing that would load PyTorch for one line.
_CONTRACT = "contract.json"
#: Seconds to read one row of a day three times: for its types, for the sample and for the hash of all rows.
_READ = 1e-4
#: Seconds from taking an archive to building it; above this, the time between them says nothing of the build.
_FOLLOWS = 6 * 3600.0


@dataclass(frozen=True)
class Line:
    """Artifacts of one kind with the same result: what they are, how many, the result, which ones, and what to do."""

    what: str
    count: int
    result: str
    which: str
    remedy: str


@dataclass(frozen=True)
class Upgrade:
    """What the present code means for a home.

    prove, rebuild: validated days by date; refused: unfinished runs that cannot continue; the hours: of proving ``prove``, of
    building ``rebuild`` again, of building both again; None if no build of this home shows how long one takes.
    """

    prove: tuple[str, ...]
    rebuild: tuple[str, ...]
    refused: tuple[str, ...]
    lines: tuple[Line, ...]
    prove_hours: float | None
    rebuild_hours: float | None
    both_hours: float | None

    @property
    def verdict(self) -> str:
        """All in one line."""
        if not self.prove and not self.rebuild:
            days = "every validated day counts as built by this code"
        else:
            days = (
                f"{len(self.prove)} days can be carried over ({_hours(self.prove_hours)}),"
                f" {len(self.rebuild)} must be built again ({_hours(self.rebuild_hours)});"
                f" building all of them again takes {_hours(self.both_hours)}"
            )
        count = len(self.refused)
        runs = f"; {count} unfinished run{'' if count == 1 else 's'} cannot continue" if count else ""
        return f"{days}{runs}"


def upgrade(home: Home) -> Upgrade:
    """Compares every validated day, plan, run and submission with the code of this process."""
    with catalog(home) as connection:
        validated, other = datasets_of(connection, state="validated"), of_other_code(connection)
        taken = {row["day"]: row["taken_at"] for row in connection.execute("SELECT day, taken_at FROM days")}
        created = {
            row["day"]: row["created_at"] for row in connection.execute("SELECT * FROM datasets WHERE state = 'validated'")
        }
    stale = [row for row in validated if (row.day, row.dataset_id) in other]
    why = {row.day: _why_rebuild(home, row) for row in stale}
    prove, rebuild = [row for row in stale if not why[row.day]], [row for row in stale if why[row.day]]
    rate = _seconds_per_row(validated, taken, created)
    runs = {path.name: why_refused(home, path.name) for path in _unfinished(home)}
    refused = tuple(run for run, reason in runs.items() if reason)
    lines = [
        *_of_days(
            len(validated) - len(stale), [row.day for row in prove], {day: reason for day, reason in why.items() if reason}
        ),
        *_of_plans(home),
        *(_of_run(home, run, reason) for run, reason in runs.items()),
        *_of_released(home),
    ]
    return Upgrade(
        tuple(row.day for row in prove),
        tuple(row.day for row in rebuild),
        refused,
        tuple(lines),
        None if rate is None else sum(_prove_seconds(row, rate) for row in prove) / 3600,
        None if rate is None else rate * sum(row.rows for row in rebuild) / 3600,
        None if rate is None else rate * sum(row.rows for row in stale) / 3600,
    )


def carry_over(home: Home, found: Upgrade, workers: int = 1, rebuild: bool = False) -> Iterator[tuple[str, str, str]]:
    """Proves the days that can be proven. With ``rebuild``, builds the others again, and those that are not equal. Yields day,
    result and reason of each."""
    left = list(found.rebuild)
    for proof in prove_days(home, found.prove, workers):
        yield proof.day, proof.state, proof.line
        if not proof.carried:
            left.append(proof.day)
    for day in sorted(left) if rebuild else ():
        for result in backfill(home, day, day, workers=workers):
            yield result.day, result.state, result.line


def _why_rebuild(home: Home, row: DatasetRow) -> str:
    try:
        return why_rebuild(home.root / row.path)
    except IntegrityError as error:
        return f"cannot be read: {error}"


def _seconds_per_row(rows: Sequence[DatasetRow], taken: dict[str, str], created: dict[str, str]) -> float | None:
    """Median time of a build in this home, per row: from taking an archive to the build that followed directly."""
    found = []
    for row in rows:
        seconds = (datetime.fromisoformat(created[row.day]) - datetime.fromisoformat(taken[row.day])).total_seconds()
        if row.rows and 0 < seconds < _FOLLOWS:
            found.append(seconds / row.rows)
    return median(found) if found else None


def _prove_seconds(row: DatasetRow, rate: float) -> float:
    share = min(1.0, max(LEAST, ceil(SHARE * row.episodes)) / max(row.episodes, 1))
    return rate * row.rows * share + _READ * row.rows


def _of_days(current: int, prove: list[str], rebuild: dict[str, str]) -> Iterable[Line]:
    yield Line("day", current, "current", "", "")
    if prove:
        yield Line(
            "day", len(prove), "other code, same versions", named(prove), "`tcg day prove --all` carries over what is equal"
        )
    for reason in sorted(set(rebuild.values())):
        days = [day for day, why in rebuild.items() if why == reason]
        yield Line("day", len(days), f"must be built again: {reason}", named(days), "`tcg backfill`")


def _of_plans(home: Home) -> Iterable[Line]:
    plans = [row for row in rows_of(home, PLAN) if row.path.is_dir()]
    now, trainer = code_version("work_plan"), code_version("mlx_checkpoint")
    other = []
    for row in plans:
        manifest = read_manifest(row.path)
        if manifest.code != now or manifest.config.get("trainer", trainer) != trainer:
            other.append(row.id)
    yield Line("plan", len(plans) - len(other), "current", "", "")
    if other:
        yield Line(
            "plan", len(other), "of other code", named(other), "it stays readable; `tcg plan build` makes one of this code"
        )


def _unfinished(home: Home) -> list[Path]:
    runs = sorted(home.checkpoints.glob("[!.]*"))
    return [path for path in runs if path.is_dir() and not (path / MANIFEST).is_file()]


def _of_run(home: Home, run: str, reason: str) -> Line:
    if not reason:
        return Line("unfinished run", 1, "continues", run, "`tcg train` with its plan, or the next night")
    beside = home.plans / run / RECORDED
    commit = json.loads(beside.read_text())["commit"] if beside.is_file() else "its plan was made with"
    remedy = f"end it with the code of commit {commit}, or train anew: `tcg plan build`, then `tcg train`;"
    remedy += " `tcg train RUN --allow-inexact` accepts a run of two codes"
    return Line("unfinished run", 1, f"cannot continue: {reason}", run, remedy)


def _of_released(home: Home) -> Iterable[Line]:
    """Finished runs, artifacts and submissions. All stay usable with other code. What reads rows of another schema is of use
    only where it is packed: a submission carries its own code."""
    schema = [row.id for row in _there(home, CHECKPOINT) if _schema_of(row.path) not in ("", SCHEMA.digest)]
    unpackable = [row.id for row in _there(home, ARTIFACT) if _schema_of_artifact(row.path) not in ("", SCHEMA.digest)]
    for what, found, use in (
        ("finished run", schema, "what was packed of it plays on; it cannot be resumed or converted: train anew"),
        ("artifact", unpackable, "what was packed of it plays on; it cannot be packed again: train anew"),
    ):
        if found:
            yield Line(what, len(found), "of another schema", named(found), use)
    schema += unpackable
    for what, kind, asset, use in (
        ("finished run", CHECKPOINT, "mlx_checkpoint", "it can be resumed and converted as before"),
        ("artifact", ARTIFACT, "torch_artifact", "it can be packed as before"),
        ("submission", "submission", "submission", "it plays as before; packing again makes a different one"),
    ):
        rows = [row for row in _there(home, kind) if row.id not in schema]
        other = [row.id for row in rows if read_manifest(row.path).code != code_version(asset)]
        yield Line(what, len(rows) - len(other), "current", "", "")
        if other:
            yield Line(what, len(other), "of other code", named(other), use)


def _there(home: Home, kind: str) -> list[Registered]:
    return [row for row in rows_of(home, kind) if (row.path / MANIFEST).is_file()]


def _schema_of(run: Path) -> str:
    """Digest of the schema that a finished run was trained on; "" if its last step does not say."""
    steps = sorted(run.glob("step_*/state.json"))
    return str(json.loads(steps[-1].read_text()).get("schema_digest", "")) if steps else ""


def _schema_of_artifact(artifact: Path) -> str:
    """Digest of the schema that an artifact's network reads; "" if its contract does not say."""
    contract = artifact / _CONTRACT
    return str(json.loads(contract.read_text()).get("schema", "")) if contract.is_file() else ""


def _hours(hours: float | None) -> str:
    if hours is None:
        return "nobody knows how long: no build of this home shows it"
    return f"about {hours:.1f} h" if hours >= 0.1 else f"about {hours * 3600:.0f} s"
