"""Hand-made tables and raw observations for encoder tests."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from tcg_core.encode.cards import FIRST, CardTables
from tests.golden.replays import Replay, replays

LARGEST = 2047


def tables() -> CardTables:
    """Tables in which id i is vocabulary position i + 2, in both generations, up to LARGEST."""
    index = np.concatenate([[0], np.arange(FIRST, LARGEST + FIRST)]).astype(np.int32)
    both = {"v1": index, "v2": index}
    return CardTables(both, both, *[np.zeros((LARGEST + FIRST, 1), np.float32)] * 2)


def raw_decisions(item: Replay) -> Iterator[tuple[int, int, int, dict[str, Any], list[int]]]:
    """(game, side, step, observation, answer) of each decision, out of plain JSON, in order of time."""
    steps = item.document()["steps"]
    for t, step in enumerate(steps):
        for side, entry in enumerate(step):
            observation = entry["observation"]
            if entry["status"] == "ACTIVE" and observation.get("select"):
                game = observation["current"].get("round", 1) - 1
                yield game, side, t, observation, steps[t + 1][side]["action"]


def find_raw(wanted: Callable[[dict[str, Any]], bool]) -> tuple[Replay, int, dict[str, Any]]:
    """The first golden decision whose observation is wanted: replay, side, observation."""
    for item in replays():
        for _, side, _, observation, _ in raw_decisions(item):
            if wanted(observation):
                return item, side, observation
    raise AssertionError("no such decision in the golden replays")
