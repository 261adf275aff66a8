"""The champion: decided from a finished tournament, read back from its game table, and recorded."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet as parquet

from tcg_core.arena.errors import ArenaError
from tcg_core.arena.opponents import SUBMISSION
from tcg_core.arena.results import game_of
from tcg_core.arena.schedule import TournamentSchedule, load_schedule
from tcg_core.arena.summary import Summary, summarise
from tcg_core.arena.tournament import KIND as TOURNAMENT
from tcg_core.arena.tournament import TABLE
from tcg_core.arena.verdict import Judgement, judge
from tcg_core.arena.worker import SCHEDULE
from tcg_core.base.built import Built
from tcg_core.base.checks import Check
from tcg_core.base.errors import TcgError
from tcg_core.base.home import Home
from tcg_core.base.manifest import verify_files
from tcg_core.catalog import registry
from tcg_core.catalog.connection import catalog
from tcg_core.catalog.promotions import (
    BOOTSTRAP,
    PROMOTED,
    ChampionMoved,
    Promotion,
    champion,
    history,
    promotions_root,
    record,
)
from tcg_core.lineage.days import days_behind, marks
from tcg_core.lineage.graph import registered

KIND = "champion"
_TRIES = 5


@dataclass(frozen=True)
class Judged:
    """A finished tournament: its candidate's submission id, and what was played by opponent's name."""

    candidate: str
    schedule: TournamentSchedule
    summaries: Mapping[str, Summary]

    def against(self, incumbent: str) -> Judgement:
        """The verdict if ``incumbent`` reigns."""
        return judge(incumbent, self._name_of(incumbent), self.summaries)

    def _name_of(self, incumbent: str) -> str | None:
        for player in self.schedule.players[1:]:
            if player.spec == incumbent or (player.kind == SUBMISSION and incumbent.startswith(player.name)):
                return player.name
        return None


def crown(home: Home, tournament_id: str) -> Built:
    """Decides by a tournament whose checks passed whether its candidate becomes champion; returns the champion, whoever it
    is. Deciding again by the same tournament changes nothing.

    Raises :class:`~tcg_core.base.errors.TcgError` for an unknown, damaged or failed tournament or submission.
    """
    judged = _judged(home, tournament_id)
    for _ in range(_TRIES):
        incumbent = champion(home)
        if incumbent == judged.candidate:
            return _built(home, None, f"{incumbent} reigns already", tournament_id)
        found = judged.against(incumbent)
        try:
            decided = record(home, judged.candidate, incumbent, tournament_id, found.verdict, found.reason)
        except ChampionMoved:
            continue
        return _built(home, decided, decided.reason, tournament_id)
    raise ArenaError(f"tournament {tournament_id}: the champion changed {_TRIES} times while it was judged")


def champion_checks(home: Home) -> tuple[Check, ...]:
    """tournament_verdict (blocks), days_current (warns), of the reigning champion."""
    promoted = [item for item in history(home) if item.verdict == PROMOTED]
    return _by_tournament(home, promoted[-1] if promoted else None), _days_current(home, champion(home))


def _judged(home: Home, tournament_id: str) -> Judged:
    directory = registry.require_passed(home, TOURNAMENT, tournament_id)
    manifest = verify_files(directory)
    candidate = manifest.inputs[0]
    registry.require_passed(home, candidate.kind, candidate.id)
    schedule = load_schedule(directory / SCHEDULE)
    return Judged(candidate.id, schedule, summaries_of(schedule, directory))


def summaries_of(schedule: TournamentSchedule, directory: Path) -> dict[str, Summary]:
    """Summaries by opponent's name, from the game table of a tournament's directory."""
    games = [game_of(row) for row in parquet.read_table(directory / TABLE).to_pylist()]
    names = [player.name for player in schedule.players[1:]]
    return {name: summarise(name, (game for game in games if game.opponent == name), schedule.best_of) for name in names}


def _by_tournament(home: Home, promotion: Promotion | None) -> Check:
    name = "tournament_verdict"
    if promotion is None:
        return Check(name, True, f"nobody was promoted yet: the baseline {BOOTSTRAP} reigns")
    who = f"{promotion.challenger} was promoted by tournament {promotion.tournament}"
    try:
        judged = _judged(home, promotion.tournament)
    except TcgError as error:
        return Check(name, False, f"{who}, which does not stand: {error}")
    found = judged.against(promotion.incumbent)
    if judged.candidate != promotion.challenger:
        return Check(name, False, f"{who}, whose candidate was {judged.candidate}")
    if found.verdict != PROMOTED:
        return Check(name, False, f"{who}, whose games say {found.verdict}: {found.reason}")
    return Check(name, True, f"{who} against {promotion.incumbent}: {found.reason}")


def _days_current(home: Home, reigning: str) -> Check:
    """Names days behind the champion that were published again, excluded or found damaged since. Days that newer code merely
    built again are counted: the champion is what its manifest says."""
    key = (SUBMISSION, reigning)
    with catalog(home) as connection:
        days = len(days_behind(registered(connection), key))
    held = marks(home, [key]).get(key, ())
    changed, again = [str(mark) for mark in held if mark.warns], [mark.day for mark in held if not mark.warns]
    facts = {"days": days, "built_again": again}
    if changed:
        return Check("days_current", False, "; ".join(changed), "WARN", facts)
    told = f"; {len(again)} of them built again by newer code" if again else ""
    return Check("days_current", True, f"{days} days behind it, none published again, excluded or damaged{told}", "WARN", facts)


# No Stage (tcg_core.base.stage): a champion is a line in the record of decisions, and what it is follows from all of them.
def _built(home: Home, decided: Promotion | None, reason: str, tournament_id: str) -> Built:
    reigning, root = champion(home), promotions_root(home)
    root.mkdir(parents=True, exist_ok=True)
    facts: dict[str, Any] = {
        "champion": reigning,
        "verdict": decided.verdict if decided else "unchanged",
        "reason": reason,
        "tournament": tournament_id,
        "decisions": len(history(home)),
    }
    if decided is not None:
        facts |= {"challenger": decided.challenger, "incumbent": decided.incumbent, "decided_at": decided.at}
    moved = decided is not None and decided.verdict == PROMOTED and reigning == decided.challenger
    return Built(KIND, reigning, root, not moved, champion_checks(home), facts)


def decisions_table(decisions: Sequence[Promotion]) -> tuple[list[str], list[list[Any]]]:
    """For people: columns and rows of the record, the newest first."""
    columns = ["#", "at", "challenger", "incumbent", "tournament", "verdict", "reason"]
    rows = [
        [d.sequence, d.at, d.challenger, d.incumbent, d.tournament, d.verdict, d.reason] for d in sorted(decisions, key=_newest)
    ]
    return columns, rows


def _newest(promotion: Promotion) -> int:
    return -promotion.sequence
