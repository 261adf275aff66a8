"""Who won: the one place that turns rewards, tallies and results into an outcome.

A result code names a seat: 0 seat 0 won, 1 seat 1 won, 2 draw. In replays ``current.result`` is always -1 and never read.
"""

import itertools
from collections.abc import Sequence

Tally = tuple[int, int, int]  # games won by seat 0, by seat 1, drawn

_OF_RESULT = {0: 1, 1: -1, 2: 0}


class OutcomeConflict(ValueError):
    """Two sources tell different winners; the message names both."""


def relative(outcome: int, side: int) -> int:
    """The outcome of seat 0 (+1 won, -1 lost, 0 drawn) as seen by ``side``."""
    return outcome if side == 0 else -outcome


def of_result(result: int) -> int:
    """Seat 0's outcome of an engine result code; raises :class:`OutcomeConflict` for an unknown one."""
    if result not in _OF_RESULT:
        raise OutcomeConflict(f"result {result}, expected 0, 1 or 2")
    return _OF_RESULT[result]


def of_rewards(rewards: Sequence[float | None]) -> int:
    """Seat 0's outcome of the episode; raises :class:`OutcomeConflict` unless rewards are 1/-1, -1/1 or 0/0."""
    for pair, outcome in (((1, -1), 1), ((-1, 1), -1), ((0, 0), 0)):
        if tuple(rewards) == pair:
            return outcome
    raise OutcomeConflict(f"rewards {list(rewards)}, expected [1, -1], [-1, 1] or [0, 0]")


def game_outcomes(
    best_of: int, rewards: Sequence[float | None], tallies: Sequence[Tally], results: Sequence[int | None]
) -> list[int | None]:
    """Seat 0's outcome of each game of a finished episode, None where nothing tells it.

    tallies[g]: games won and drawn before game g; results[g]: engine result of the terminal frame of game g, if there is
    one. Best of one: rewards. Best of three: the change of the tally, for the last game the result, with the rewards as
    cross-check. Rewards of 0/0 without a result are those of an episode that was cut short too, so they tell no draw. Raises
    :class:`OutcomeConflict`.
    """
    match = of_rewards(rewards)
    told = [None if result is None else of_result(result) for result in results]
    if best_of == 1:
        if len(tallies) != 1:
            raise OutcomeConflict(f"best of one with {len(tallies)} games")
        if told[0] is not None and told[0] != match:
            raise OutcomeConflict(f"rewards say {match} for seat 0, the result says {told[0]}")
        return [match if match or told[0] is not None else None]
    outcomes: list[int | None] = []
    for game, (before, after) in enumerate(itertools.pairwise(tallies)):
        outcome = _step(game, before, after)
        if told[game] is not None and told[game] != outcome:
            raise OutcomeConflict(f"game {game}: the tally says {outcome} for seat 0, the result says {told[game]}")
        outcomes.append(outcome)
    possible = [last for last in (1, -1, 0) if _ends(best_of, tallies[-1], last, match)]
    if match == 0 and told[-1] is None:
        return [*outcomes, None]
    if told[-1] is not None and told[-1] not in possible:
        raise OutcomeConflict(f"the last result says {told[-1]} for seat 0 after {tallies[-1]}, rewards say {match}")
    outcomes.append(told[-1] if told[-1] is not None else possible[0] if len(possible) == 1 else None)
    return outcomes


def _step(game: int, before: Tally, after: Tally) -> int:
    change = tuple(b - a for a, b in zip(before, after, strict=True))
    steps = {(1, 0, 0): 1, (0, 1, 0): -1, (0, 0, 1): 0}
    if change not in steps:
        raise OutcomeConflict(f"game {game}: the tally went from {before} to {after}, expected one more game")
    return steps[change]


def _ends(best_of: int, before: Tally, last: int, match: int) -> bool:
    """Whether ``last`` as the last game's outcome ends the match with ``match``: a lead that the games left cannot make
    up, or no game left (rule of the wheel's interpreter)."""
    won, lost, drawn = before[0] + (last == 1), before[1] + (last == -1), before[2] + (last == 0)
    remain = best_of - won - lost - drawn
    if won > lost + remain:
        return match == 1
    if lost > won + remain:
        return match == -1
    return remain <= 0 and match == 0
