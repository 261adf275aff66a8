"""The score of an episode of several games, kept as the environment of ``kaggle_environments`` keeps it.

A tally is [games won by seat 0, won by seat 1, drawn]. Seat 0 chooses who goes first in games 1, 3, ..., seat 1 in games
2, 4, ..., whoever won before.
"""

from collections.abc import Sequence
from typing import Any


def winner(tally: Sequence[int], best_of: int) -> int | None:
    """The seat that can no longer be caught, 2 for a draw after the last game, None while games remain to be played."""
    remaining = best_of - sum(tally)
    for seat in (0, 1):
        if tally[seat] > tally[1 - seat] + remaining:
            return seat
    return 2 if remaining <= 0 else None


def seat_1_chooses(tally: Sequence[int]) -> bool:
    """Whether seat 1 has the choice of who goes first in the game that comes next."""
    return sum(tally) % 2 == 1


def show_score(current: dict[str, Any], tally: Sequence[int]) -> None:
    """Writes the score into an observation's ``current``, where generation v2 shows it: ``win``, ``draw``, ``round``."""
    for side in (0, 1):
        current["players"][side]["win"] = tally[side]
    current["draw"] = tally[2]
    current["round"] = sum(tally) + 1
