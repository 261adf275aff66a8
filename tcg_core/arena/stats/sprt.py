"""Generalised sequential probability ratio test (GSPRT) on trinomial or pentanomial counts.

The log-likelihood ratio compares the most likely distributions of the observed classes under two constraints: an
expected score (logistic bounds) or a t-value, (score - 1/2) / standard deviation (normalised bounds). Source: Michel
Van den Bergh, "Comments on normalized Elo" and "The generalized SPRT"; the equations are solved here from scratch.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from tcg_core.arena.stats.score import NELO_PER_T, ZERO_COUNT, StatisticsError, check_counts, score_of_elo, score_values

Model = Literal["normalised", "logistic"]
Verdict = Literal["accept", "reject", "continue"]


@dataclass(frozen=True)
class Sprt:
    """State of a test of elo1 against elo0: LLR, its bounds, and what follows. ``accept`` means elo1."""

    llr: float
    lower: float
    upper: float
    verdict: Verdict


def bounds(alpha: float, beta: float) -> tuple[float, float]:
    """Wald's bounds of the LLR for error rates alpha (accepting elo1 wrongly) and beta (rejecting it wrongly)."""
    if not (0.0 < alpha < 0.5 and 0.0 < beta < 0.5):
        raise StatisticsError(f"alpha {alpha} and beta {beta} must lie in (0, 0.5)")
    return math.log(beta / (1.0 - alpha)), math.log((1.0 - beta) / alpha)


def sprt(
    counts: Sequence[float], elo0: float, elo1: float, alpha: float = 0.05, beta: float = 0.05, model: Model = "normalised"
) -> Sprt:
    """The test on ``counts`` ([L, D, W] or pentanomial). Without a game the LLR is 0."""
    lower, upper = bounds(alpha, beta)
    value = log_likelihood_ratio(counts, elo0, elo1, model) if sum(counts) else 0.0
    verdict: Verdict = "accept" if value >= upper else "reject" if value <= lower else "continue"
    return Sprt(value, lower, upper, verdict)


def log_likelihood_ratio(counts: Sequence[float], elo0: float, elo1: float, model: Model = "normalised") -> float:
    """LLR of elo1 against elo0. Counts of 0 are taken as :data:`ZERO_COUNT`, so the value is always finite."""
    check_counts(counts)
    if not elo0 < elo1:
        raise StatisticsError(f"elo0 {elo0} must be below elo1 {elo1}")
    filled = [max(float(count), ZERO_COUNT) for count in counts]
    total, values = sum(filled), score_values(counts)
    observed = [count / total for count in filled]
    if model == "logistic":
        likely = [_most_likely([value - score_of_elo(elo) for value in values], observed) for elo in (elo0, elo1)]
    else:
        per_class = math.sqrt(2.0) if len(counts) == 5 else 1.0  # a pair's score spreads less than a game's
        likely = [_most_likely_t(values, observed, elo / NELO_PER_T * per_class) for elo in (elo0, elo1)]
    return total * sum(p * math.log(p1 / p0) for p, p0, p1 in zip(observed, likely[0], likely[1], strict=True))


def _most_likely(residuals: Sequence[float], observed: Sequence[float]) -> list[float]:
    """The distribution closest in likelihood to ``observed`` whose mean of ``residuals`` is 0.

    It is p / (1 + x r) where x solves sum p r / (1 + x r) = 0, which falls in x between the poles -1/max r and
    -1/min r; residuals must have both signs.
    """
    low, high = -1.0 / max(residuals), -1.0 / min(residuals)
    if not low < 0.0 < high:
        raise StatisticsError("the Elo bounds lie outside what the scores can reach")
    for _ in range(200):
        middle = (low + high) / 2.0
        slope = sum(p * r / (1.0 + middle * r) for p, r in zip(observed, residuals, strict=True))
        low, high = (middle, high) if slope > 0.0 else (low, middle)
    root = (low + high) / 2.0
    return [p / (1.0 + root * r) for p, r in zip(observed, residuals, strict=True)]


def _most_likely_t(values: Sequence[float], observed: Sequence[float], t_value: float) -> list[float]:
    """Likewise with t-value ``t_value`` about 1/2, by fixed-point iteration over the constraint's linearisation."""
    current = [1.0 / len(values)] * len(values)
    for _ in range(100):
        mean = sum(p * v for p, v in zip(current, values, strict=True))
        deviation = math.sqrt(sum(p * (v - mean) ** 2 for p, v in zip(current, values, strict=True)))
        residuals = [v - 0.5 - t_value * deviation * (1.0 + ((mean - v) / deviation) ** 2) / 2.0 for v in values]
        following = _most_likely(residuals, observed)
        moved = max(abs(a - b) for a, b in zip(current, following, strict=True))
        current = following
        if moved < 1e-12:
            break
    return current
