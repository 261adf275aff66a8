"""Reference decisions: real rows of several lanes over several recurrent steps, and what the network said of them.

A step holds all rows (substeps) of one decision of each lane still running; its rows read the lane's memory as the step
began, and the last row of a decision writes it. Replaying a reference therefore proves memory too.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tcg_core.base.atomic import write_bytes
from tcg_core.convert.errors import ConvertError
from tcg_core.model.batch import INPUTS, WOULD_KO
from tcg_core.model.tensors import read_with_metadata, safetensors_bytes

Array = npt.NDArray[Any]
_NAME = re.compile(r"(\d{3})\.(?:(in|aux)\.)?(\w+)")


@dataclass(frozen=True)
class ReferenceStep:
    """One recurrent step: the padded batch (``model.batch.INPUTS``, and ``WOULD_KO`` for a network that reads it), the lane of
    each row, int32 [B], and whether the row is the last of its decision, whose memory is kept, bool [B]."""

    batch: Mapping[str, Array]
    lane: Array
    commits: Array

    @property
    def rows(self) -> int:
        """Rows of the step."""
        return len(self.lane)


@dataclass(frozen=True)
class Reference:
    """Lanes by name (day, episode, game, side) and their steps in order."""

    lanes: tuple[str, ...]
    steps: tuple[ReferenceStep, ...]

    @property
    def rows(self) -> int:
        """Rows of all steps."""
        return sum(step.rows for step in self.steps)

    @property
    def decisions(self) -> int:
        """Decisions of all steps."""
        return int(sum(step.commits.sum() for step in self.steps))


@dataclass(frozen=True)
class Answer:
    """What a network said at one step: logits and unrounded probabilities float32 [B, O + 1], the chosen option int32 [B]
    (O is STOP), aux head -> float32 [B], memory float32 [B, R, d]."""

    logits: Array
    probabilities: Array
    choice: Array
    aux: Mapping[str, Array]
    memory: Array


_PLAIN = ("logits", "probabilities", "choice", "memory")


def write_reference(path: Path, reference: Reference, answers: tuple[Answer, ...]) -> None:
    """Stores both in one safetensors file, atomically."""
    arrays: dict[str, Array] = {}
    for number, (step, answer) in enumerate(zip(reference.steps, answers, strict=True)):
        head = f"{number:03d}."
        names = (*INPUTS, WOULD_KO) if WOULD_KO in step.batch else tuple(INPUTS)
        arrays |= {f"{head}in.{name}": step.batch[name] for name in names}
        arrays |= {f"{head}lane": step.lane, f"{head}commits": step.commits}
        arrays |= {head + name: getattr(answer, name) for name in _PLAIN}
        arrays |= {f"{head}aux.{name}": values for name, values in answer.aux.items()}
    write_bytes(path, safetensors_bytes(arrays, {"lanes": json.dumps(reference.lanes)}))


def read_reference(path: Path) -> tuple[Reference, tuple[Answer, ...]]:
    """Strict inverse of :func:`write_reference`; raises :class:`ConvertError` naming file and array."""
    arrays, metadata = read_with_metadata(path)
    numbers: dict[int, dict[tuple[str, str], Array]] = {}
    for name, array in arrays.items():
        found = _NAME.fullmatch(name)
        if not found:
            raise ConvertError(f"{path}: array {name!r} is not of a reference")
        numbers.setdefault(int(found[1]), {})[found[2] or "", found[3]] = array
    if sorted(numbers) != list(range(len(numbers))) or not numbers or "lanes" not in metadata:
        raise ConvertError(f"{path}: no lanes or no whole sequence of steps")
    inputs = (*INPUTS, WOULD_KO) if any(("in", WOULD_KO) in parts for parts in numbers.values()) else tuple(INPUTS)
    plain = {("", name) for name in (*_PLAIN, "lane", "commits")} | {("in", name) for name in inputs}
    steps, answers = [], []
    for number in range(len(numbers)):
        parts = numbers[number]
        for group, name in plain - set(parts):
            raise ConvertError(f"{path}: step {number} lacks {f'{group}.{name}'.lstrip('.')}")
        steps.append(ReferenceStep({name: parts["in", name] for name in inputs}, parts["", "lane"], parts["", "commits"]))
        aux = {name: array for (group, name), array in parts.items() if group == "aux"}
        logits, probabilities, choice, memory = (parts["", name] for name in _PLAIN)
        answers.append(Answer(logits, probabilities, choice, aux, memory))
    return Reference(tuple(json.loads(metadata["lanes"])), tuple(steps)), tuple(answers)


def softmax(logits: Array) -> Array:
    """Probabilities float32 [B, S] of float32 logits; the one arithmetic for both frameworks."""
    shifted = np.exp(logits - logits.max(axis=1, keepdims=True))
    return np.asarray(shifted / shifted.sum(axis=1, keepdims=True), np.float32)
