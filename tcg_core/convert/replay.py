"""Plays a reference through a network of either framework, carrying memory as trainer and agent do, and compares answers."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tcg_core.convert.reference import Answer, Reference, softmax
from tcg_core.model.architecture import MASK_VALUE

Array = npt.NDArray[Any]


class Said(NamedTuple):
    """A network's output as numpy arrays: logits [B, O + 1], aux head -> [B], memory [B, R, d]."""

    logits: Array
    aux: Mapping[str, Array]
    memory: Array


@dataclass(frozen=True)
class NetworkPlayer:
    """A network behind numpy: initial memory [R, d], and the step (padded batch, memory [B, R, d]) -> :class:`Said`."""

    framework: str
    initial_memory: Array
    step: Callable[[Mapping[str, Array], Array], Said]


def replay(player: NetworkPlayer, reference: Reference) -> tuple[Answer, ...]:
    """One :class:`Answer` a step. All rows of a decision read the memory before it; its last row's is kept."""
    memory = np.repeat(player.initial_memory[None], len(reference.lanes), axis=0)
    answers = []
    for step in reference.steps:
        said = player.step(step.batch, memory[step.lane])
        choice = said.logits.argmax(axis=1).astype(np.int32)
        answers.append(Answer(said.logits, softmax(said.logits), choice, said.aux, said.memory))
        memory[step.lane[step.commits]] = said.memory[step.commits]
    return tuple(answers)


@dataclass(frozen=True)
class ParityDifference:
    """Largest absolute difference over all rows, by what was compared; aux by head. choices: rows whose chosen option
    differs; unmasked: illegal entries whose logit is not exactly the mask value; finite: every found value is finite."""

    rows: int
    legal_logits: float
    probabilities: float
    aux: Mapping[str, float]
    memory: float
    choices: int
    unmasked: int
    finite: bool

    @property
    def largest(self) -> float:
        """Over all that is compared."""
        return max(self.legal_logits, self.probabilities, self.memory, *self.aux.values())

    def within(self, tolerance: float) -> bool:
        """True if nothing differs by more, every choice is the same and every illegal logit is the mask value."""
        return self.finite and self.largest <= tolerance and not self.choices and not self.unmasked

    def facts(self) -> dict[str, Any]:
        """Plain values for reports."""
        return {
            "rows": self.rows, "legal_logits": self.legal_logits, "probabilities": self.probabilities, "aux": dict(self.aux),
            "memory": self.memory, "choices_differing": self.choices, "illegal_not_masked": self.unmasked, "finite": self.finite,
        }  # fmt: skip


def compare(reference: Reference, expected: tuple[Answer, ...], found: tuple[Answer, ...]) -> ParityDifference:
    """Both sides answered ``reference``; an aux head that only one side has counts as an infinite difference."""
    logits, probabilities, memory, aux = [0.0], [0.0], [0.0], {name: 0.0 for answer in (*expected, *found) for name in answer.aux}
    choices = unmasked = 0
    finite = True
    for step, right, ours in zip(reference.steps, expected, found, strict=True):
        legal = step.batch["legal"]
        logits.append(_largest(right.logits[legal], ours.logits[legal]))
        probabilities.append(_largest(right.probabilities, ours.probabilities))
        memory.append(_largest(right.memory, ours.memory))
        for name in aux:
            both = name in right.aux and name in ours.aux
            aux[name] = max(aux[name], _largest(right.aux[name], ours.aux[name]) if both else np.inf)
        choices += int((right.choice != ours.choice).sum())
        unmasked += int((ours.logits[~legal] != np.float32(MASK_VALUE)).sum())
        finite &= all(bool(np.isfinite(values).all()) for values in (ours.logits, ours.memory, *ours.aux.values()))
    return ParityDifference(reference.rows, max(logits), max(probabilities), aux, max(memory), choices, unmasked, finite)


def _largest(left: Array, right: Array) -> float:
    if left.shape != right.shape:
        return float("inf")
    return float(np.abs(left.astype(np.float64) - right).max(initial=0.0))
