"""The two agents without judgement."""

import random
from collections.abc import Sequence
from typing import Any


class RandomAgent:
    """Picks a random legal number of random options. Deterministic given ``seed`` and the sequence of observations."""

    def __init__(self, deck: Sequence[int], seed: int) -> None:
        self._deck = list(deck)
        self._random = random.Random(seed)

    def __call__(self, obs: dict[str, Any]) -> list[int]:
        select = obs["select"]
        if select is None:
            return list(self._deck)
        count = self._random.randint(select["minCount"], select["maxCount"])
        return self._random.sample(range(len(select["option"])), count)


class FirstAgent:
    """Picks the first options, as many as are allowed."""

    def __init__(self, deck: Sequence[int]) -> None:
        self._deck = list(deck)

    def __call__(self, obs: dict[str, Any]) -> list[int]:
        select = obs["select"]
        return list(self._deck) if select is None else list(range(select["maxCount"]))
