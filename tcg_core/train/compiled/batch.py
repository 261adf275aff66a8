"""A microbatch padded to a static shape, as numpy only, so that a thread may do it ahead.

Padding rows read slot 0 and are committed to none; they weigh 0 in every loss. Padding slots take part in no step.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from tcg_core.encode.collate import BatchShape
from tcg_core.model.batch import INPUTS, WOULD_KO_INPUTS, check_batch
from tcg_core.train.compiled.shapes import Shape
from tcg_core.train.errors import TrainError
from tcg_core.train.prepare import Group, Prepared
from tcg_core.train.unroll import NUMPY_ONLY

#: Label of a static batch: 1 for rows, 0 for padding.
WEIGHT = "weight"


@dataclass(frozen=True)
class Padded(Prepared):
    """A microbatch and its form in ``shape``: T steps, S slots, groups of R rows.

    batch: ``groups``, a list of {inputs: name -> [T, R, ...], labels: name -> [T, R], lane: int32 [T, R]}; ``last`` int32 and
    ``active`` bool [T, S]: row (of all groups, one after the other) whose memory a slot takes over at a step, and whether it
    does; ``resets`` bool [S].
    """

    shape: Shape
    batch: Mapping[str, Any]

    @property
    def slots(self) -> int:
        """Slots that memory is carried for, padding among them."""
        return self.shape.slots

    def position(self, group: Group) -> int:
        """Which of the batch's groups holds the rows of ``group``."""
        return _position(self, group, self.shape)


def pad(prepared: Prepared, shape: Shape) -> Padded:
    """Pads a microbatch that ``shape`` has cut. Raises :class:`TrainError` naming what of it does not fit, and what
    ``check_batch`` raises."""
    _fit(prepared, "steps", len(prepared.steps), shape.steps)
    _fit(prepared, "slots", len(prepared.lanes), shape.slots)
    groups = [_empty(prepared.steps[0].groups[0], shape.steps, rows, size) for rows, size in _groups(shape)]
    last = np.zeros((shape.steps, shape.slots), np.int32)
    active = np.zeros((shape.steps, shape.slots), np.bool_)
    bases = np.cumsum([0, *shape.rows])[:-1]
    for t, step in enumerate(prepared.steps):
        places = []
        for group in step.groups:
            position = _position(prepared, group, shape)
            _fit(prepared, f"rows of step {t}", len(group.rows), shape.rows[position])
            _fill(groups[position], t, group)
            places.append(bases[position] + np.arange(len(group.rows)))
        last[t, : step.active] = np.concatenate(places)[step.last]
        active[t, : step.active] = True
    resets = np.zeros(shape.slots, np.bool_)
    resets[: len(prepared.lanes)] = prepared.resets
    batch = {"groups": groups, "last": last, "active": active, "resets": resets}
    kept = {field.name: getattr(prepared, field.name) for field in fields(Prepared)} | {"padded_tokens": shape.tokens(0)}
    return Padded(**kept, shape=shape, batch=batch)


def _groups(shape: Shape) -> list[tuple[int, BatchShape]]:
    return list(zip(shape.rows, shape.sizes, strict=True))


def _empty(like: Group, steps: int, rows: int, size: BatchShape) -> dict[str, Any]:
    """A group of padding only, with the inputs and labels of ``like``: zeros, and STOP for the legal and right answer."""
    lengths = {"C": size.cards, "U": size.units, "A": size.attached, "O": size.options, "S": size.options + 1}
    forms = INPUTS | WOULD_KO_INPUTS
    inputs = {}
    for name in sorted(like.inputs):
        dtype, axes = forms[name]
        shape = [axis if isinstance(axis, int) else lengths[axis] for axis in axes[1:]]
        inputs[name] = np.zeros((steps, rows, *shape), dtype)
    inputs["legal"][..., -1] = True
    names = sorted(name for name in like.labels if name not in NUMPY_ONLY)
    labels = {name: np.zeros((steps, rows), like.labels[name].dtype) for name in names}
    labels["target"][:] = size.options
    labels[WEIGHT] = np.zeros((steps, rows), np.float32)
    return {"inputs": inputs, "labels": labels, "lane": np.zeros((steps, rows), np.int32)}


def _fill(into: dict[str, Any], t: int, group: Group) -> None:
    check_batch(group.inputs)
    rows = len(group.rows)
    for name, array in group.inputs.items():
        into["inputs"][name][t, :rows] = array
    for name, array in into["labels"].items():
        array[t, :rows] = 1 if name == WEIGHT else group.labels[name]
    into["lane"][t, :rows] = group.lane


def _position(prepared: Prepared, group: Group, shape: Shape) -> int:
    found = BatchShape(*(group.inputs[name].shape[1] for name in ("card_zone", "unit_zone", "attached_kind", "option_type")))
    if found not in shape.sizes:
        raise TrainError(f"microbatch {prepared.index}: a group of {found} is none of its static shape {shape}")
    return shape.sizes.index(found)


def _fit(prepared: Prepared, what: str, found: int, room: int) -> None:
    if found > room:
        raise TrainError(f"microbatch {prepared.index}: {found} {what}, its static shape has room for {room}")
