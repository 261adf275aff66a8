"""What the field of a day looked like, and how far two fields lie apart: pure functions of counts."""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Field:
    """Counts of one day or of several. decks, names: seats by deck hash and team; versions: episodes by engine version;
    lengths: decisions of each game that gave rows; first_wins of first_known decided games were won by who went first."""

    decks: Counter[str] = field(default_factory=Counter)
    names: Counter[str] = field(default_factory=Counter)
    versions: Counter[str] = field(default_factory=Counter)
    lengths: tuple[int, ...] = ()
    first_wins: int = 0
    first_known: int = 0

    @classmethod
    def total(cls, fields: Iterable["Field"]) -> "Field":
        """All days together."""
        decks: Counter[str] = Counter()
        names: Counter[str] = Counter()
        versions: Counter[str] = Counter()
        lengths: list[int] = []
        wins = known = 0
        for one in fields:
            decks.update(one.decks)
            names.update(one.names)
            versions.update(one.versions)
            lengths.extend(one.lengths)
            wins, known = wins + one.first_wins, known + one.first_known
        return cls(decks, names, versions, tuple(lengths), wins, known)


def distance(now: Counter[str], before: Counter[str]) -> float:
    """Total variation distance of two distributions, 0 (the same) to 1 (nothing in common); 0 if one is empty."""
    n, m = now.total(), before.total()
    if not n or not m:
        return 0.0
    return sum(abs(now[key] / n - before[key] / m) for key in now.keys() | before.keys()) / 2


def expected_distance(now: Counter[str], before: Counter[str]) -> float:
    """The distance that sampling alone would give if both came from their common distribution.

    Mean absolute deviation of the difference of two proportions, in the normal approximation: sqrt(2/pi * p(1-p)(1/n + 1/m)).
    """
    n, m = now.total(), before.total()
    if not n or not m:
        return 0.0
    together = now + before
    spread = 2 / math.pi * (1 / n + 1 / m)
    return sum(math.sqrt(spread * (c / (n + m)) * (1 - c / (n + m))) for c in together.values()) / 2


@dataclass(frozen=True)
class MeanDifference:
    """Two means: ``effect`` in the unit that the caller names, ``z`` in standard errors; both 0 where a side is too small."""

    now: float
    before: float
    effect: float
    z: float


def difference_of_means(now: Sequence[int], before: Sequence[int]) -> MeanDifference:
    """Effect in standard deviations of both samples pooled."""
    n, m = len(now), len(before)
    if n < 2 or m < 2:
        return MeanDifference(_mean(now), _mean(before), 0.0, 0.0)
    a, b = _mean(now), _mean(before)
    squares = sum((x - a) ** 2 for x in now) + sum((x - b) ** 2 for x in before)
    deviation = math.sqrt(squares / (n + m - 2))
    effect = (a - b) / deviation if deviation else 0.0
    return MeanDifference(a, b, effect, effect / math.sqrt(1 / n + 1 / m))


def difference_of_rates(wins: int, of: int, wins_before: int, of_before: int) -> MeanDifference:
    """Effect in the rate itself, 0..1."""
    if not of or not of_before:
        return MeanDifference(wins / of if of else 0.0, wins_before / of_before if of_before else 0.0, 0.0, 0.0)
    a, b = wins / of, wins_before / of_before
    pooled = (wins + wins_before) / (of + of_before)
    error = math.sqrt(pooled * (1 - pooled) * (1 / of + 1 / of_before))
    return MeanDifference(a, b, a - b, (a - b) / error if error else 0.0)


def _mean(values: Sequence[int]) -> float:
    return sum(values) / len(values) if values else 0.0
