"""Score of a match and its intervals, logistic and normalised Elo, likelihood of superiority.

The score of N games is (W + D/2) / N. Pentanomial counts are of *seat-swapped pairs*, ordered from 0 to 2 points:
[LL, LD, DD or WL, WD, WW]; trinomial counts are [L, D, W]. Paired games share their conditions, so the pentanomial
variance is the right one wherever pairs were played (published practice of chess-engine testing).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

NORMAL = NormalDist()
#: Normalised Elo of one unit of (score - 1/2) / (standard deviation of one game's score).
NELO_PER_T = 800.0 / math.log(10.0)
#: Stands in for a count of 0 where a likelihood needs a positive one; small against one game, and finite.
ZERO_COUNT = 1e-3


class StatisticsError(ValueError):
    """Counts that the function is not defined for."""


@dataclass(frozen=True)
class Interval:
    """An estimate with the ends of its confidence interval."""

    value: float
    low: float
    high: float

    @property
    def half_width(self) -> float:
        """Half the distance of the ends."""
        return (self.high - self.low) / 2.0


def check_counts(counts: Sequence[float]) -> float:
    """The sum of 3 or 5 non-negative counts; raises :class:`StatisticsError` otherwise or if it is 0."""
    if len(counts) not in (3, 5):
        raise StatisticsError(f"{len(counts)} counts, expected 3 (loss, draw, win) or 5 (pairs, 0 to 2 points)")
    if any(count < 0 or not math.isfinite(count) for count in counts):
        raise StatisticsError(f"counts {list(counts)} must be finite and not negative")
    total = float(sum(counts))
    if total == 0:
        raise StatisticsError("no games were counted")
    return total


def score_values(counts: Sequence[float]) -> list[float]:
    """The score of each class, evenly spaced over [0, 1]."""
    return [index / (len(counts) - 1) for index in range(len(counts))]


def mean_variance(counts: Sequence[float]) -> tuple[float, float]:
    """Mean score and (biased) variance of one game or pair."""
    total, values = check_counts(counts), score_values(counts)
    mean = sum(count * value for count, value in zip(counts, values, strict=True)) / total
    variance = sum(count * (value - mean) ** 2 for count, value in zip(counts, values, strict=True)) / total
    return mean, variance


def score(wins: int, draws: int, losses: int) -> float:
    """(W + D/2) / N."""
    return mean_variance([losses, draws, wins])[0]


def z_value(confidence: float) -> float:
    """Half-width of a two-sided interval in standard deviations."""
    if not 0.0 < confidence < 1.0:
        raise StatisticsError(f"confidence {confidence} is outside (0, 1)")
    return NORMAL.inv_cdf(0.5 + confidence / 2.0)


def wilson(wins: int, draws: int, losses: int, confidence: float = 0.95) -> Interval:
    """Wilson's interval of the score, with draws as half a success; for few or extreme results it stays inside [0, 1].

    Source: E. B. Wilson 1927. With draws the true variance is smaller than the binomial one: the interval is then wide,
    never narrow.
    """
    total = check_counts([losses, draws, wins])
    share, z = score(wins, draws, losses), z_value(confidence)
    denominator = 1.0 + z * z / total
    centre = (share + z * z / (2.0 * total)) / denominator
    spread = z * math.sqrt(share * (1.0 - share) / total + z * z / (4.0 * total * total)) / denominator
    # At the extremes one end is exactly 0 or 1; rounding must not move it.
    return Interval(share, 0.0 if share == 0.0 else centre - spread, 1.0 if share == 1.0 else centre + spread)


def elo_of_score(value: float) -> float:
    """Logistic Elo difference of an expected score; infinite at 0 and 1."""
    if not 0.0 <= value <= 1.0:
        raise StatisticsError(f"score {value} is outside [0, 1]")
    if value in (0.0, 1.0):
        return math.copysign(math.inf, value - 0.5)
    return float(-400.0 * math.log10(1.0 / value - 1.0))


def score_of_elo(elo: float) -> float:
    """Expected score of a logistic Elo difference."""
    return float(1.0 / (1.0 + 10.0 ** (-elo / 400.0)))


def _score_interval(counts: Sequence[float], confidence: float) -> Interval:
    mean, variance = mean_variance(counts)
    spread = z_value(confidence) * math.sqrt(variance / check_counts(counts))
    return Interval(mean, mean - spread, mean + spread)


def logistic_elo(counts: Sequence[float], confidence: float = 0.95) -> Interval:
    """Logistic Elo of 3 or 5 counts; the ends are the Elo of score plus and minus z standard errors (normal
    approximation), infinite where the score's end leaves (0, 1)."""
    interval = _score_interval(counts, confidence)
    return Interval(*(elo_of_score(min(1.0, max(0.0, end))) for end in (interval.value, interval.low, interval.high)))


def normalised_elo(counts: Sequence[float], confidence: float = 0.95) -> Interval:
    """Normalised Elo: (score - 1/2) in standard deviations of one *game*, times 800 / ln 10.

    It measures how many games tell two players apart, whatever the share of draws. Infinite if the variance is 0.
    """
    total = check_counts(counts)
    mean, variance = mean_variance(counts)
    games = 2.0 if len(counts) == 5 else 1.0
    if variance == 0.0:
        end = 0.0 if mean == 0.5 else math.copysign(math.inf, mean - 0.5)
        return Interval(end, end, end)
    factor = NELO_PER_T / math.sqrt(games)
    value = (mean - 0.5) / math.sqrt(variance) * factor
    spread = z_value(confidence) / math.sqrt(total) * factor
    return Interval(value, value - spread, value + spread)


def likelihood_of_superiority(counts: Sequence[float]) -> float:
    """Probability, by the normal approximation, that the true score is above 1/2 (LOS)."""
    mean, variance = mean_variance(counts)
    if variance == 0.0:
        return 0.5 if mean == 0.5 else float(mean > 0.5)
    return NORMAL.cdf((mean - 0.5) / math.sqrt(variance / check_counts(counts)))


def pentanomial(pairs: Sequence[tuple[float, float]]) -> list[int]:
    """Counts [0, 1/2, 1, 3/2, 2 points] of pairs of game scores (each 0, 1/2 or 1)."""
    counts = [0] * 5
    for first, second in pairs:
        if first not in (0.0, 0.5, 1.0) or second not in (0.0, 0.5, 1.0):
            raise StatisticsError(f"game scores {first}, {second}: expected 0, 0.5 or 1")
        counts[round(2 * (first + second))] += 1
    return counts
