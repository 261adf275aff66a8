"""Legal answers without a network, and the count of how often they were needed."""

import contextlib
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any


class Unanswerable(ValueError):
    """A question without a legal answer; the message names what is missing or contradicts itself."""


def asked_of(obs: Any) -> Mapping[str, Any]:
    """The question of an observation. Raises :class:`Unanswerable` where no number of distinct options answers it."""
    select = obs.get("select") if isinstance(obs, Mapping) else None
    if not isinstance(select, Mapping):
        raise Unanswerable(f"select is {type(select).__name__}, expected an object")
    options, low, high = (select.get(name) for name in ("option", "minCount", "maxCount"))
    if not isinstance(options, list):
        raise Unanswerable(f"select.option is {type(options).__name__}, expected a list")
    if type(low) is not int or type(high) is not int:
        kinds = f"select.minCount is {type(low).__name__} and maxCount {type(high).__name__}"
        raise Unanswerable(f"{kinds}, expected two integers")
    if not 0 <= low <= min(high, len(options)):
        raise Unanswerable(f"{low} to {high} picks are asked for, of {len(options)} options")
    return select


def legal_default(obs: Any, picked: Sequence[int] = ()) -> list[int]:
    """``picked``, filled up with the first free options to ``minCount``: a legal answer wherever there is one.

    What is no question gets the nearest to an answer: no more picks than there are options or than ``maxCount`` allows, one
    where ``minCount`` is missing. Never raises.
    """
    select = obs.get("select") if isinstance(obs, Mapping) else None
    asked = select if isinstance(select, Mapping) else {}
    options, low, high = (asked.get(name) for name in ("option", "minCount", "maxCount"))
    count = len(options) if isinstance(options, list) else 0
    least = low if type(low) is int else 1
    least = min(least, count, high if type(high) is int else count)
    picks = list(picked)
    for option in range(count):
        if len(picks) >= least:
            break
        if option not in picks:
            picks.append(option)
    return picks


def say(line: str) -> None:
    """A line for Kaggle's log of the game; a log that cannot be written costs no move."""
    with contextlib.suppress(OSError, ValueError):
        print(line, file=sys.stderr)


class UnknownCards:
    """How many decisions showed a card or an attack that the policy's tables do not have, and which. The policy is asked all
    the same: such a card is a token of its own."""

    def __init__(self) -> None:
        self.decisions = 0
        self.seen: Counter[str] = Counter()

    def count(self, names: Sequence[str]) -> None:
        """Counts a decision with these names in sight; each is said once."""
        self.decisions += bool(names)
        for name in names:
            if name not in self.seen:
                say(f"unknown {name}: not in the tables of this policy")
        self.seen.update(names)

    def summary(self) -> dict[str, Any]:
        """decisions: with any such card in sight; ids: decisions of each, the most frequent hundred."""
        return {"decisions": self.decisions, "ids": dict(self.seen.most_common(100))}


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
            say(f"fallback {reason}: {text}")

    def end(self, game: str) -> dict[str, int]:
        """Counts by reason of a game that is over."""
        return dict(self.by_game.pop(game, {}))

    def summary(self) -> dict[str, Any]:
        """Counts by reason, their sum, and the first case of each in words."""
        return {"total": sum(self.counts.values()), "by_reason": dict(self.counts), "first": dict(self.first)}
