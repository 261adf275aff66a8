"""How much a match of N games can show: minimal detectable difference and the games that a difference needs.

Normal approximation of a two-sided test of score = 1/2 at level ``alpha``; ``deviation`` is the standard deviation of one
game's score, 1/2 without draws (the largest there is).
"""

import math

from tcg_core.arena.stats.score import NORMAL, StatisticsError, score_of_elo


def minimal_detectable_score(games: int, alpha: float = 0.05, wanted: float = 0.8, deviation: float = 0.5) -> float:
    """The smallest score above 1/2 that ``games`` games show with probability ``wanted`` (capped at 1)."""
    _check(games, alpha, deviation)
    if not 0.0 < wanted < 1.0:
        raise StatisticsError(f"power {wanted} is outside (0, 1)")
    reach = NORMAL.inv_cdf(1.0 - alpha / 2.0) + NORMAL.inv_cdf(wanted)
    return min(1.0, 0.5 + max(0.0, reach) * deviation / math.sqrt(games))


def games_needed(elo: float, alpha: float = 0.05, wanted: float = 0.8, deviation: float = 0.5) -> int:
    """Games that show a logistic Elo difference with probability ``wanted``."""
    _check(1, alpha, deviation)
    if elo == 0.0:
        raise StatisticsError("no number of games shows a difference of 0")
    reach = NORMAL.inv_cdf(1.0 - alpha / 2.0) + NORMAL.inv_cdf(wanted)
    return math.ceil((reach * deviation / abs(score_of_elo(elo) - 0.5)) ** 2)


def _check(games: int, alpha: float, deviation: float) -> None:
    if games < 1 or not 0.0 < alpha < 1.0 or not 0.0 < deviation <= 0.5:
        raise StatisticsError(f"games {games}, alpha {alpha}, deviation {deviation}: expected >= 1, (0, 1), (0, 0.5]")
