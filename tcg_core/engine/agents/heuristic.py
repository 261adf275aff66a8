"""A rule-based player of real strength: readable rules over the card tables, no look-ahead, no memory of earlier decisions."""

from collections.abc import Sequence
from typing import Any

from tcg_core.engine.agents import choices, turn
from tcg_core.engine.agents.view import View
from tcg_core.engine.library import check_generation

MAIN = 0


class HeuristicAgent:
    """Answers by the rule tables of ``turn`` (main phase) and ``choices`` (all other contexts).

    A pure function of observation, deck and ``seed``; the seed only orders options of equal worth.
    """

    def __init__(self, generation: str, deck: Sequence[int], seed: int) -> None:
        self._generation = check_generation(generation)
        self._deck = tuple(deck)
        self._seed = seed

    def __call__(self, obs: dict[str, Any]) -> list[int]:
        select = obs["select"]
        if select is None:
            return list(self._deck)
        options, least, most = select["option"], select["minCount"], select["maxCount"]
        if len(options) == least:
            return list(range(least))
        view = View(self._generation, self._deck, obs)
        if select["context"] == MAIN:
            rule: tuple[choices.Worth, str] = (turn.score, choices.MOST)
        else:
            rule = choices.RULES.get(select["context"], (_nothing, choices.FEWEST))
        worth, amount = rule
        worths = [worth(view, option) for option in options]
        order = sorted(range(len(options)), key=lambda index: (-worths[index], self._tie(view, index)))
        count = {choices.MOST: most, choices.FEWEST: least, choices.WORTHY: sum(value > 0 for value in worths)}[amount]
        return order[: min(most, max(least, count))]

    def _tie(self, view: View, index: int) -> int:
        mixed: int = self._seed * 1_000_003 + view.state["turn"] * 8191 + view.state["turnActionCount"] * 131 + index
        return (mixed * 2_654_435_761) >> 7 & 0xFFFF


def _nothing(view: View, option: dict[str, Any]) -> float:
    return 0.0
