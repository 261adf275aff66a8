"""Checks of a finished tournament, over its schedule and the rows of its table."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from tcg_core.arena.results import game_of
from tcg_core.arena.schedule import TournamentSchedule
from tcg_core.base.checks import Check
from tcg_core.engine.score import winner


def tournament_checks(schedule: TournamentSchedule, rows: Sequence[Mapping[str, Any]]) -> tuple[Check, ...]:
    """seats_balanced, clean (our side), accounted."""
    return seats_balanced(schedule, rows), clean(rows, schedule.unit), accounted(schedule, rows)


def seats_balanced(schedule: TournamentSchedule, rows: Sequence[Mapping[str, Any]]) -> Check:
    """Each opponent was met from both seats equally often."""
    seats: dict[str, Counter[int]] = {player.name: Counter() for player in schedule.players[1:]}
    for row in rows:
        seats.setdefault(row["opponent"], Counter())[row["candidate_seat"]] += 1
    uneven = {name: (found[0], found[1]) for name, found in seats.items() if found[0] != found[1] or not found[0]}
    if uneven:
        name, (first, second) = next(iter(uneven.items()))
        return Check("seats_balanced", False, f"against {name}: {first} {schedule.unit} in seat 0, {second} in seat 1")
    return Check("seats_balanced", True, f"{len(seats)} opponents, each from both seats equally often")


def clean(rows: Sequence[Mapping[str, Any]], unit: str) -> Check:
    """The candidate had no error, no time-out, no illegal answer and no fallback."""
    faults = Counter(row["reason"] for row in rows if row["offender"] == "candidate")
    fallbacks = sum(row["candidate_fallbacks"] for row in rows)
    facts = {"faults": sum(faults.values()), "fallbacks": fallbacks}
    if not faults and not fallbacks:
        return Check("clean", True, f"{len(rows)} {unit} without error, time-out or fallback of ours", facts=facts)
    first = next((row["detail"] for row in rows if row["offender"] == "candidate"), "")
    said = ", ".join(f"{count} × {reason}" for reason, count in faults.items())
    return Check(
        "clean", False, f"of ours: {said or 'no fault'}, {fallbacks} fallbacks; first: {first or 'a fallback'}", facts=facts
    )


def accounted(schedule: TournamentSchedule, rows: Sequence[Mapping[str, Any]]) -> Check:
    """Every scheduled match has exactly one row, of the scheduled players and seats, whose result follows from its games."""
    counts = Counter(row["index"] for row in rows)
    missing = [game.index for game in schedule.games if not counts[game.index]]
    doubled = [index for index, count in counts.items() if count > 1]
    extra = sorted(set(counts) - {game.index for game in schedule.games})
    other = [
        row["index"]
        for row in rows
        if row["index"] not in extra
        and (
            row["candidate_seat"] != schedule.candidate_seat(schedule.games[row["index"]])
            or row["opponent"] != schedule.players[schedule.opponent_of(schedule.games[row["index"]])].name
        )
    ]
    for what, found in (
        ("missing", missing),
        ("doubled", doubled),
        ("not scheduled", extra),
        ("of other players or seats", other),
        ("whose result does not follow from their games", [row["index"] for row in rows if not _follows(schedule, row)]),
    ):
        if found:
            return Check("accounted", False, f"{len(found)} {schedule.unit} {what}, the first {found[0]}")
    return Check("accounted", True, f"{len(rows)} scheduled {schedule.unit}, each with one result")


def _follows(schedule: TournamentSchedule, row: Mapping[str, Any]) -> bool:
    """Whether a match without a fault ended with the game that decided it, and as that game decided it."""
    match = game_of(row)
    if match.offender or match.outcome == "none":
        return True
    places = {"win": 0, "loss": 1, "draw": 2}
    tally = [0, 0, 0]
    for number, played in enumerate(match.each):
        if played.outcome not in places or (number and winner(tally, schedule.best_of) is not None):
            return False
        tally[places[played.outcome]] += 1
    return winner(tally, schedule.best_of) == places[match.outcome]
