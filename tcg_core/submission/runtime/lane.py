"""One seat of one game at play: the same trackers, rows and memory rules as a training lane."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from torch import Tensor

from tcg_core.encode.encoder import EncodedDecision, legal
from tcg_core.encode.observation import Observation, from_dict
from tcg_core.encode.tracker import Tracker
from tcg_core.submission.runtime.clock import Clock


class Lane:
    """State of a seat in a game. It must see every decision of the seat, in order."""

    def __init__(self, deck: Sequence[int], memory: Tensor, obs: Mapping[str, Any], generation: str) -> None:
        self.tracker = Tracker(deck)
        self.memory = memory
        self.clock = Clock()
        self.generation = generation
        self.turn = -1
        self.round = obs["current"].get("round")

    def continues(self, obs: Mapping[str, Any]) -> bool:
        """Whether ``obs`` belongs to the same game: turns never go back, and a best of three counts its rounds."""
        current = obs["current"]
        return bool(current["turn"] >= self.turn and current.get("round") == self.round)


class Thought:
    """One decision in progress: picks one after the other, all of them reading the memory that came in.

    Ask :meth:`row` and give the network's answer to :meth:`take` until :attr:`done`; then :meth:`commit`.
    """

    def __init__(self, lane: Lane, obs: Mapping[str, Any]) -> None:
        self.lane = lane
        self.obs: Observation = from_dict(obs)
        lane.tracker.observe(self.obs)
        lane.turn = int(obs["current"]["turn"])
        self.decision = EncodedDecision(lane.tracker, self.obs)
        self.picks: list[int] = []
        self.memory_in = lane.memory
        self.memory_out = lane.memory
        self.done = not any(legal(self.obs))

    def row(self) -> dict[str, Any]:
        """Features of the next pick."""
        return self.decision.row(self.picks)

    def take(self, logits: npt.NDArray[np.float32], memory: Tensor) -> None:
        """Takes the best legal answer of ``logits`` [O + 1] (STOP last, illegal ones masked) and the memory written."""
        mask = np.zeros(len(logits), dtype=bool)
        allowed = legal(self.obs, self.picks)
        mask[: len(allowed) - 1] = allowed[:-1]
        mask[-1] = allowed[-1]
        best = int(np.where(mask, logits, -np.inf).argmax())
        if not mask[best] or not np.isfinite(logits[best]):
            raise ArithmeticError(f"the network gave no finite logit to any of {int(mask.sum())} legal answers")
        self.memory_out = memory
        if best == len(logits) - 1:
            self.done = True
        else:
            self.picks.append(best)
            self.done = not any(legal(self.obs, self.picks))

    def commit(self) -> list[int]:
        """Ends the decision: the memory of the last pick is the lane's, the tracker learns the answer."""
        self.lane.memory = self.memory_out
        self.lane.tracker.answered(self.obs, self.picks)
        return self.picks
