"""Warnings on what a day's field looks like against the days before it. None blocks: a field may move, a person should know."""

from collections import Counter

from tcg_core.base.checks import Check
from tcg_core.days.field import Field, MeanDifference, difference_of_means, difference_of_rates, distance, expected_distance

FIELD_CHECKS = ("decks", "names", "versions", "game_length", "first_player")
#: A distance is large when it is both above the floor and beyond this many times what sampling alone gives: seats of one team
#: are not independent, so the multinomial expectation is a lower bound.
DISTANCE_FLOOR, DISTANCE_FACTOR = 0.25, 1.5
#: An effect is large when it matters (in deviations, in the rate) and is no accident (in standard errors).
LENGTH_EFFECT, RATE_EFFECT, STANDARD_ERRORS = 0.25, 0.05, 4.0


def field_checks(now: Field, before: Field, days: int) -> tuple[Check, ...]:
    """FIELD_CHECKS of a day against the ``days`` before it, together; all pass where there are none."""
    if not days:
        return tuple(Check(name, True, "no validated day before it to compare with", "WARN") for name in FIELD_CHECKS)
    length = difference_of_means(now.lengths, before.lengths)
    first = difference_of_rates(now.first_wins, now.first_known, before.first_wins, before.first_known)
    return (
        _distance("decks", now.decks, before.decks, days),
        _distance("names", now.names, before.names, days),
        _versions(now.versions, before.versions, days),
        _difference("game_length", length, LENGTH_EFFECT, f"{length.now:.1f} decisions a game, {length.before:.1f} before"),
        _difference("first_player", first, RATE_EFFECT, f"who goes first wins {first.now:.1%}, {first.before:.1%} before"),
    )


def _distance(name: str, now: Counter[str], before: Counter[str], days: int) -> Check:
    found, expected = distance(now, before), expected_distance(now, before)
    limit = max(DISTANCE_FLOOR, DISTANCE_FACTOR * expected)
    new = sum(count for key, count in now.items() if key not in before) / max(now.total(), 1)
    message = (
        f"{len(now)} {name}, distance {found:.2f} from the {days} days before (sampling alone gives {expected:.2f}, limit"
        f" {limit:.2f}); {new:.1%} of seats with {name} not seen there"
    )
    return Check(name, found <= limit, message, "WARN", {"distance": found, "expected": expected, "new": new})


def _versions(now: Counter[str], before: Counter[str], days: int) -> Check:
    new = sorted(set(now) - set(before))
    told = ", ".join(f"{count} of {version}" for version, count in sorted(now.items()))
    message = f"engine versions {', '.join(new)} not seen in the {days} days before ({told})" if new else told
    return Check("versions", not new, message, "WARN", {"new": new})


def _difference(name: str, found: MeanDifference, limit: float, told: str) -> Check:
    moved = abs(found.effect) > limit and abs(found.z) > STANDARD_ERRORS
    message = f"{told} (effect {found.effect:+.3f}, {found.z:+.1f} standard errors)"
    return Check(
        name, not moved, message, "WARN", {"now": found.now, "before": found.before, "effect": found.effect, "z": found.z}
    )
