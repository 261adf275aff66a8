"""Elo from games in order of time: pure functions of games, no catalog.

A win moves the winner by K * (1 - expected score), a draw counts as half; the loser moves by as much the other way, so that
the sum over all agents is kept. A game of an agent with itself says nothing and is not counted.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from tcg_core.catalog.standing import INITIAL, K

_SCALE = 400.0


@dataclass(frozen=True)
class GameResult:
    """One game between two agents by id; ``outcome`` is seat 0's: 1, 0 or -1."""

    agent0: int
    agent1: int
    outcome: int


@dataclass(frozen=True)
class Standing:
    """An agent's rating and record after some games."""

    elo: float = INITIAL
    games: int = 0
    wins: int = 0
    losses: int = 0
    draws: int = 0


def expected_score(mine: float, other: float) -> float:
    """Score that a rating expects against another, in 0..1."""
    return float(1.0 / (1.0 + 10.0 ** ((other - mine) / _SCALE)))


def play(standings: dict[int, Standing], games: Iterable[GameResult]) -> dict[int, Standing]:
    """Standings after ``games``, played in the order given; ``standings`` is not changed."""
    after = dict(standings)
    for game in games:
        if game.agent0 == game.agent1:
            continue
        first, second = after.get(game.agent0, Standing()), after.get(game.agent1, Standing())
        moved = K * ((game.outcome + 1) / 2 - expected_score(first.elo, second.elo))
        after[game.agent0] = _moved(first, moved, game.outcome)
        after[game.agent1] = _moved(second, -moved, -game.outcome)
    return after


def _moved(standing: Standing, points: float, outcome: int) -> Standing:
    return Standing(
        standing.elo + points,
        standing.games + 1,
        standing.wins + (outcome == 1),
        standing.losses + (outcome == -1),
        standing.draws + (outcome == 0),
    )
