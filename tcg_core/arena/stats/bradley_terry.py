"""Bradley-Terry ratings of a field in Elo, with intervals from the observed information.

P(i beats j) = 1 / (1 + 10^((r_j - r_i) / 400)); a draw is half a win of each. The fit maximises the penalised likelihood
by Newton's method; the penalty, ``prior`` drawn games of every player against an imagined player rated 0, keeps players
that won or lost everything finite and unconnected groups comparable, at the price of a pull towards 0.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tcg_core.arena.stats.score import Interval, StatisticsError, z_value

_SCALE = 400.0 / math.log(10.0)


@dataclass(frozen=True)
class Result:
    """Games between two players: points of ``first`` (win 1, draw 1/2) out of ``games``."""

    first: str
    second: str
    points: float
    games: int


def ratings(
    results: Sequence[Result], anchor: str | None = None, prior: float = 1.0, confidence: float = 0.95
) -> Mapping[str, Interval]:
    """Rating of each player, relative to ``anchor`` (0, no interval) or, without one, to the field's mean.

    Intervals are those of the difference to the anchor or mean. Raises :class:`StatisticsError` for results that are
    none (a player against itself, points outside 0..games, an unknown anchor).
    """
    names = sorted({name for result in results for name in (result.first, result.second)})
    if not names:
        raise StatisticsError("no results to rate")
    if anchor is not None and anchor not in names:
        raise StatisticsError(f"anchor {anchor!r} played no game")
    if prior <= 0:
        raise StatisticsError(f"prior {prior} must be positive")
    games, points = _matrices(results, {name: place for place, name in enumerate(names)})
    strength, information = _fit(games, points, prior)
    covariance = np.linalg.inv(information)
    weights = np.full(len(names), 1.0 / len(names)) if anchor is None else (np.array(names) == anchor).astype(float)
    contrast = np.eye(len(names)) - weights
    values = contrast @ strength * _SCALE
    errors = np.sqrt(np.maximum(np.diag(contrast @ covariance @ contrast.T), 0.0)) * _SCALE * z_value(confidence)
    return {name: Interval(float(v), float(v - e), float(v + e)) for name, v, e in zip(names, values, errors, strict=True)}


def _matrices(results: Sequence[Result], place: Mapping[str, int]) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    games, points = np.zeros((len(place), len(place))), np.zeros(len(place))
    for result in results:
        if result.first == result.second or not 0 <= result.points <= result.games:
            raise StatisticsError(f"{result.first} against {result.second}: {result.points} points of {result.games} games")
        first, second = place[result.first], place[result.second]
        games[first, second] += result.games
        games[second, first] += result.games
        points[first] += result.points
        points[second] += result.games - result.points
    return games, points


def _fit(
    games: npt.NDArray[np.float64], points: npt.NDArray[np.float64], prior: float
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    strength = np.zeros(len(points))
    for _ in range(100):
        chance = 1.0 / (1.0 + np.exp(-np.clip(strength[:, None] - strength[None, :], -40, 40)))
        imagined = 1.0 / (1.0 + np.exp(-strength))
        gradient = points - (games * chance).sum(axis=1) + prior * (0.5 - imagined)
        curvature = games * chance * (1.0 - chance)
        information = np.diag(curvature.sum(axis=1) + prior * imagined * (1.0 - imagined)) - curvature
        step = np.linalg.solve(information, gradient)
        strength = strength + np.clip(step, -2.0, 2.0)
        if np.abs(step).max() < 1e-10:
            break
    return strength, information
