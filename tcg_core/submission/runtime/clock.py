"""The time a seat has left in a game: Kaggle's own figure where it is given, and never more than our own clock says."""

from collections.abc import Mapping
from typing import Any

#: Kaggle gives each seat so many seconds a game, all decisions together.
BUDGET = 600.0
#: Below this many seconds left the policy is not asked any more: a default costs microseconds, a time-out the game.
RESERVE = 30.0


class Clock:
    """Seconds used by one seat in one game."""

    def __init__(self, budget: float = BUDGET, reserve: float = RESERVE) -> None:
        self.budget = budget
        self.reserve = reserve
        self.used = 0.0
        self.slowest = 0.0
        self.decisions = 0

    def remaining(self, obs: Mapping[str, Any]) -> float:
        """Seconds left, by the stricter of both clocks."""
        left = self.budget - self.used
        given = obs.get("remainingOverageTime")
        if not isinstance(given, int | float) or isinstance(given, bool):
            return left
        # Bounded before it is made a float, which 10**400 is not; what is no number (NaN) is never the smaller one.
        return float(max(-self.budget, min(left, given)))

    def exhausted(self, obs: Mapping[str, Any], running: float) -> bool:
        """Whether the reserve is reached, ``running`` seconds into the decision."""
        return self.remaining(obs) - running < self.reserve

    def spend(self, seconds: float) -> None:
        """Books one decision."""
        self.used += seconds
        self.slowest = max(self.slowest, seconds)
        self.decisions += 1
