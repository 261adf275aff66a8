"""One temporal microbatch through the network: decision after decision, memory carried, gradient within the chunk only.

At step t all substeps of a lane's t-th decision read the same memory; the last substep's output is committed
(`design.md` §6). What comes in from the chunk before is a constant, so the gradient stops at the border.
"""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from tcg_core.encode.columns import Array
from tcg_core.model.batch import Output
from tcg_core.model.bootstrap import mlx
from tcg_core.model.mlx_net import PolicyNet, as_mx
from tcg_core.train.prepare import Group, Prepared

if TYPE_CHECKING:
    import mlx.core as mx
else:
    mx = mlx().core


#: Labels that only metrics read.
NUMPY_ONLY = ("opt_group", "is_attack", "forced")


class Loaded:
    """The arrays of a prepared microbatch on the device: inputs and float labels of each group, step by step."""

    def __init__(self, prepared: Prepared) -> None:
        self.prepared = prepared
        self.inputs = [[as_mx(group.inputs) for group in step.groups] for step in prepared.steps]
        self.labels = [
            [{name: mx.array(group.labels[name]) for name in group.labels if name not in NUMPY_ONLY} for group in step.groups]
            for step in prepared.steps
        ]
        self.lanes = [[mx.array(group.lane) for group in step.groups] for step in prepared.steps]
        self.last = [mx.array(step.last) for step in prepared.steps]
        self.resets = mx.array(prepared.resets)[:, None, None]


class Unrolled:
    """Iterates over (group, labels, output) of a microbatch; afterwards ``memory`` is that of every slot, [slots, R, d]."""

    def __init__(self, net: PolicyNet, loaded: Loaded, carried: "mx.array") -> None:
        """carried: memory of each slot from the chunk before, [slots, R, d]; that of resetting slots is not read."""
        self._net, self._loaded = net, loaded
        # Weights stay as they are within a microbatch, so its tables are made once; their gradient is summed before it is
        # carried through the projections.
        self._lookup = net.lookup()
        self.memory = mx.where(loaded.resets, net.initial_memory()[None], carried)

    def __iter__(self) -> Iterator[tuple[Group, dict[str, "mx.array"], Output]]:
        steps = self._loaded.prepared.steps
        ended: list[mx.array] = []
        memory = self.memory
        for t, step in enumerate(steps):
            if step.active < memory.shape[0]:
                ended.append(memory[step.active :])
                memory = memory[: step.active]
            committed = []
            for g, group in enumerate(step.groups):
                output = self._net(self._loaded.inputs[t][g], memory[self._loaded.lanes[t][g]], self._lookup)
                committed.append(output.memory)
                yield group, self._loaded.labels[t][g], output
            rows = committed[0] if len(committed) == 1 else mx.concatenate(committed)
            memory = rows[self._loaded.last[t]]
        self.memory = mx.concatenate([memory, *ended[::-1]]) if ended else memory


class StaticUnrolled:
    """The same over a batch in a static shape (:class:`tcg_core.train.compiled.batch.Padded`, on the device): iterates over
    (number of the group, labels, output); all shapes are those of the batch, so that it can be traced."""

    def __init__(self, net: PolicyNet, batch: Mapping[str, Any], carried: "mx.array") -> None:
        """carried: memory of each slot, padding slots too, [slots, R, d]."""
        self._net, self._batch = net, batch
        self._lookup = net.lookup()
        self.memory = mx.where(batch["resets"][:, None, None], net.initial_memory()[None], carried)

    def __iter__(self) -> Iterator[tuple[int, dict[str, "mx.array"], Output]]:
        batch, memory = self._batch, self.memory
        for t in range(batch["active"].shape[0]):
            committed = []
            for number, group in enumerate(batch["groups"]):
                inputs = {name: array[t] for name, array in group["inputs"].items()}
                output = self._net(inputs, memory[group["lane"][t]], self._lookup)
                committed.append(output.memory)
                yield number, {name: array[t] for name, array in group["labels"].items()}, output
            rows = committed[0] if len(committed) == 1 else mx.concatenate(committed)
            memory = mx.where(batch["active"][t][:, None, None], rows[batch["last"][t]], memory)
        self.memory = memory


def gather_memory(prepared: Prepared, memories: dict[int, Array], shape: tuple[int, int]) -> "mx.array":
    """The carried memory of each slot; zeros (never read) where the slot resets. Raises KeyError for a lane without one."""
    found = np.zeros((prepared.slots, *shape), np.float32)
    for slot, (lane, resets) in enumerate(zip(prepared.lanes.tolist(), prepared.resets.tolist(), strict=True)):
        if not resets:
            found[slot] = memories[lane]
    return mx.array(found)


def keep_memory(prepared: Prepared, memory: Array, memories: dict[int, Array]) -> None:
    """Stores the memory after a microbatch, float32 [slots, R, d], by lane; a lane that has ended is dropped."""
    for slot, (lane, done) in enumerate(zip(prepared.lanes.tolist(), prepared.done.tolist(), strict=True)):
        if done:
            memories.pop(lane, None)
        else:
            memories[lane] = memory[slot]
