"""What a submission was made from, and what became of it: read from the registry and the record of the champion."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tcg_core.base.checks import Check
from tcg_core.base.errors import UnknownId
from tcg_core.base.graph import first_of
from tcg_core.base.home import Home
from tcg_core.base.manifest import Key
from tcg_core.catalog.connection import catalog
from tcg_core.catalog.promotions import Promotion, champion, history
from tcg_core.catalog.registry import Registered, checks_of, rows_of
from tcg_core.lineage.days import days_behind, marks
from tcg_core.lineage.graph import registered

CURVES = "curves.png"


@dataclass(frozen=True)
class DayBehind:
    """A build of a day behind a submission: all its rows and episodes, and the state of that build now."""

    day: str
    dataset_id: str
    episodes: int
    rows: int
    state: str


@dataclass(frozen=True)
class Origin:
    """What a submission was made from. ``plan``, ``checkpoint``, ``artifact`` are registry rows; episodes and rows count what
    the plan selected; marks: lines on days that changed since; curves: the checkpoint's picture, None if it is gone."""

    days: tuple[DayBehind, ...]
    plan: Registered
    checkpoint: Registered
    artifact: Registered
    episodes: int
    rows: int
    parity: Check
    preflight: tuple[Check, ...]
    curves: Path | None
    marks: tuple[str, ...]


@dataclass(frozen=True)
class Outcome:
    """What became of a submission. results: by tournament id, what was played by opponent's name; champion: whether it reigns,
    and why or why not, in one line."""

    results: Mapping[str, Mapping[str, Mapping[str, Any]]]
    decisions: tuple[Promotion, ...]
    champion: str


def origin(home: Home, submission_id: str) -> Origin:
    """The chain behind a submission. Raises :class:`UnknownId` naming the link that the registry does not hold."""
    known = {(row.kind, row.id): row for row in rows_of(home)}
    with catalog(home) as connection:
        graph = registered(connection)
        datasets = {row["dataset_id"]: row for row in connection.execute("SELECT * FROM datasets")}
    key: Key = ("submission", submission_id)
    chain: dict[str, Registered] = {}
    for kind in ("torch_artifact", "checkpoint", "work_plan"):
        above = first_of(graph.of(key), kind)
        if above is None or above.key not in known:
            raise UnknownId(f"submission {submission_id}: the registry holds no {kind} behind {key[0]} {key[1]}")
        key, chain[kind] = above.key, known[above.key]
    plan, artifact = chain["work_plan"], chain["torch_artifact"]
    days = sorted(
        (datasets[id] for id in days_behind(graph, key) if id in datasets), key=lambda row: (row["day"], row["dataset_id"])
    )
    curves = chain["checkpoint"].path / CURVES
    return Origin(
        days=tuple(DayBehind(row["day"], row["dataset_id"], row["episodes"], row["rows"], row["state"]) for row in days),
        plan=plan,
        checkpoint=chain["checkpoint"],
        artifact=artifact,
        episodes=int(plan.facts.get("episodes", 0)),
        rows=int(plan.facts.get("train_rows", 0)) + int(plan.facts.get("validation_rows", 0)),
        parity=next((check for check in checks_of(home, artifact.kind, artifact.id) if check.name == "parity"), _UNCHECKED),
        preflight=checks_of(home, "submission", submission_id),
        curves=curves if curves.is_file() else None,
        marks=tuple(str(mark) for mark in marks(home, [("submission", submission_id)]).get(("submission", submission_id), ())),
    )


def outcome(home: Home, submission_id: str) -> Outcome:
    """Tournaments of a submission as candidate, the oldest first, and what was decided about it."""
    with catalog(home) as connection:
        graph = registered(connection)
    played = [
        row
        for row in reversed(rows_of(home, "tournament"))
        if [item.key for item in graph.of((row.kind, row.id))[:1]] == [("submission", submission_id)]
    ]
    decisions = tuple(item for item in history(home) if item.challenger == submission_id)
    return Outcome({row.id: row.facts.get("results", {}) for row in played}, decisions, _standing(home, submission_id, decisions))


_UNCHECKED = Check("parity", False, "no parity check is recorded")


def _standing(home: Home, submission_id: str, decisions: tuple[Promotion, ...]) -> str:
    reigning = champion(home)
    if reigning == submission_id:
        promoted = [item for item in decisions if item.verdict == "promoted"][-1]
        return f"yes, it reigns: {promoted.reason}"
    if not decisions:
        return f"no: nothing was decided about it; {reigning} reigns"
    last = decisions[-1]
    if last.verdict == "promoted":
        return f"no longer: it was promoted by tournament {last.tournament}, now {reigning} reigns"
    return f"no, {last.verdict}: {last.reason}; {reigning} reigns"
