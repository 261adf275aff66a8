"""Baseline agents in Kaggle's protocol: the yardstick of a trained policy and the players of recorded days."""

from collections.abc import Callable, Sequence
from typing import Any

from tcg_core.base.errors import UnknownId
from tcg_core.engine.agents.heuristic import HeuristicAgent
from tcg_core.engine.agents.simple import FirstAgent, RandomAgent

__all__ = ["BASELINES", "Agent", "FirstAgent", "HeuristicAgent", "RandomAgent", "make_agent"]

Agent = Callable[[dict[str, Any]], list[int]]
"""An observation in, distinct option indexes out; where ``select`` is None the answer is the deck of 60 card ids."""

BASELINES = ("random", "first", "heuristic")


def make_agent(name: str, generation: str, deck: Sequence[int], seed: int) -> Agent:
    """A fresh baseline agent. The same name, deck, seed and observations give the same answers.

    Raises :class:`UnknownId` for a name outside :data:`BASELINES`.
    """
    if name == "random":
        return RandomAgent(deck, seed)
    if name == "first":
        return FirstAgent(deck)
    if name == "heuristic":
        return HeuristicAgent(generation, deck, seed)
    raise UnknownId(f"agent {name!r}: expected one of {', '.join(BASELINES)}")
