"""Legal answers without a network, and the count of how often they were needed."""

import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any


def legal_default(select: Mapping[str, Any], picked: Sequence[int] = ()) -> list[int]:
    """``picked``, filled up with the first free options to ``minCount``: always a legal answer of the engine."""
    picks = list(picked)
    for option in range(len(select["option"])):
        if len(picks) >= select["minCount"]:
            break
        if option not in picks:
            picks.append(option)
    return picks


class Fallbacks:
    """How often and why a legal default was played instead of the policy's choice."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.by_game: dict[str, Counter[str]] = {}
        self.first: dict[str, str] = {}

    def count(self, game: str, reason: str, text: str) -> None:
        """Counts one of a game; the first of each reason is kept in words and printed: Kaggle's log of the game has it."""
        self.counts[reason] += 1
        self.by_game.setdefault(game, Counter())[reason] += 1
        if reason not in self.first:
            self.first[reason] = text
            print(f"fallback {reason}: {text}", file=sys.stderr)

    def end(self, game: str) -> dict[str, int]:
        """Counts by reason of a game that is over."""
        return dict(self.by_game.pop(game, {}))

    def summary(self) -> dict[str, Any]:
        """Counts by reason, their sum, and the first case of each in words."""
        return {"total": sum(self.counts.values()), "by_reason": dict(self.counts), "first": dict(self.first)}
