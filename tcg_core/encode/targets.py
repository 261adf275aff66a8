"""Auxiliary targets of each decision of a game, from public prize counts and the game's end.

The window of a decision is the rest of its own turn: it ends at the first later observation of either seat with a later
turn, else at the game's terminal frame. So it sees the result of the attack that ends the turn.
"""

from collections.abc import Sequence
from typing import NamedTuple

PRIZES = 6


def prizes_left(turn: int, laid: int, looked_at: int = 0) -> int:
    """Prizes a seat has still to take: its pile, which is laid out only at the end of set-up (turn 0).

    looked_at: cards the seat looks at. An effect that exchanges the pile (Redeemable Ticket) leaves it empty while the
    seat orders the cards that come in its place; a pile that is empty otherwise ends the game or is about to.
    """
    return laid or (PRIZES if turn == 0 else looked_at)


#: Prizes left of seat 0 and of seat 1.
PrizeCounts = tuple[int, int]


class Moment(NamedTuple):
    """What a target needs of a decision: whose it is, in which turn, prizes left of both seats."""

    side: int
    turn: int
    prizes: PrizeCounts


class Target(NamedTuple):
    """Aux targets of one decision, by the schema's names without ``aux_``."""

    valid: bool
    ko: int
    prize_delta: float
    terminal: int
    ret: float


NO_TARGET = Target(False, 0, 0.0, 0, 0.0)


def aux_targets(moments: Sequence[Moment], end: PrizeCounts | None, outcome: int) -> list[Target]:
    """Targets of all decisions of one game, both seats, in order of time.

    end: prizes left in the terminal frame, None without one: then the last window has no end and gives NO_TARGET, and
    earlier returns count the prizes up to the last observation. outcome: +1, -1 or 0 for seat 0.
    """
    targets: list[Target] = []
    final = end if end is not None else (moments[-1].prizes if moments else (PRIZES, PRIZES))
    window_end: PrizeCounts | None = None
    for position in range(len(moments) - 1, -1, -1):
        here = moments[position]
        if position + 1 < len(moments) and moments[position + 1].turn > here.turn:
            window_end = moments[position + 1].prizes
        after = window_end if window_end is not None else end
        if after is None:
            targets.append(NO_TARGET)
            continue
        delta = _taken(here, after, here.side) - _taken(here, after, 1 - here.side)
        swing = _taken(here, final, here.side) - _taken(here, final, 1 - here.side)
        won = outcome if here.side == 0 else -outcome
        targets.append(
            Target(True, int(_taken(here, after, here.side) > 0), float(delta), int(window_end is None), swing / PRIZES + won)
        )
    targets.reverse()
    return targets


def _taken(here: Moment, after: PrizeCounts, side: int) -> int:
    """Prizes that ``side`` takes between two moments: its own pile shrinks."""
    return here.prizes[side] - after[side]
