"""Loss and gradients of a padded microbatch as one function compiled by MLX, once for each static shape.

Weights are inputs; the network's card tables are constants of what was compiled. Compilations are counted where they happen,
while MLX traces the function, and one more than planned is an error: without the bound a run would compile for ever.
"""

import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from tcg_core.model.bootstrap import mlx
from tcg_core.model.mlx_net import PolicyNet
from tcg_core.train.compiled.batch import Padded
from tcg_core.train.errors import TrainError
from tcg_core.train.loss import Normalizer, combine, each_row, sums
from tcg_core.train.unroll import StaticUnrolled

if TYPE_CHECKING:
    import mlx.core as mx
else:
    mx = mlx().core

#: Leaves by dotted name.
Leaves = dict[str, "mx.array"]


def serves(device: str) -> bool:
    """Whether training compiles on ``device``: on a GPU, unless MLX's own switch MLX_DISABLE_COMPILE is set."""
    return device == "gpu" and "MLX_DISABLE_COMPILE" not in os.environ


class Compiled:
    """The compiled functions of a network: gradients for training, losses for validation."""

    def __init__(self, net: PolicyNet, weights: Mapping[str, float], most: int) -> None:
        """weights: of the auxiliary losses; most: compilations planned."""
        self._net, self._weights, self._most = net, weights, most
        #: Compilations made.
        self.made = 0
        compile_function: Callable[[Any], Any] = mx.compile
        self._gradients = compile_function(self._trace_gradients)
        self._outputs = compile_function(self._trace_outputs)

    def gradients(
        self, padded: Padded, carried: "mx.array", normalizer: Normalizer
    ) -> tuple["mx.array", Leaves, "mx.array", Leaves]:
        """(loss, its parts, memory [S, R, d], gradient of each leaf) of a microbatch; carried [S, R, d].

        Raises :class:`TrainError` where a compilation was not planned.
        """
        heads = {head: mx.array(factor) for head, factor in normalizer.heads(self._weights).items()}
        rows = mx.array(float(normalizer.rows))
        loss, parts, memory, gradients = self._gradients(self._parameters(), on_device(padded.batch), carried, rows, heads)
        return loss, parts, memory, gradients

    def outputs(self, padded: Padded, carried: "mx.array") -> tuple[list[dict[str, Any]], "mx.array"]:
        """Of each group logits [T, R, O + 1], ``losses`` and ``aux`` by name [T, R]; and memory [S, R, d].

        Raises :class:`TrainError` where a compilation was not planned.
        """
        groups, memory = self._outputs(self._parameters(), on_device(padded.batch), carried)
        return groups, memory

    def _parameters(self) -> Leaves:
        # A compiled function is looked up by the structure of its inputs too, so their order is fixed.
        return dict(sorted(mlx().utils.tree_flatten(self._net.parameters())))

    def _count(self, batch: Mapping[str, Any]) -> None:
        if self.made == self._most:
            steps, slots = batch["active"].shape
            rows = [list(group["inputs"]["legal"].shape[1:]) for group in batch["groups"]]
            raise TrainError(
                f"compilation {self.made + 1} for {steps} steps, {slots} slots and groups of [rows, answers] {rows}, "
                f"planned were at most {self._most}"
            )
        self.made += 1

    def _trace_gradients(
        self, parameters: Leaves, batch: Mapping[str, Any], carried: "mx.array", rows: "mx.array", heads: Leaves
    ) -> tuple[Any, ...]:
        self._count(batch)

        def loss(parameters: Leaves) -> tuple[Any, Any, Any]:
            self._set(parameters)
            unrolled, total = StaticUnrolled(self._net, batch, carried), dict[str, Any]()
            for _, labels, output in unrolled:
                for name, value in sums(output, labels).items():
                    total[name] = total[name] + value if name in total else value
            return combine(total, rows, heads), total, unrolled.memory

        with_net = self._keeping(mx.value_and_grad(loss))
        (value, parts, memory), gradients = with_net(parameters)
        return value, parts, memory, gradients

    def _trace_outputs(self, parameters: Leaves, batch: Mapping[str, Any], carried: "mx.array") -> tuple[Any, Any]:
        self._count(batch)

        def run(parameters: Leaves) -> tuple[Any, Any]:
            self._set(parameters)
            unrolled = StaticUnrolled(self._net, batch, carried)
            found: list[list[dict[str, Any]]] = [[] for _ in batch["groups"]]
            for number, labels, output in unrolled:
                found[number].append({"logits": output.logits, "losses": each_row(output, labels), "aux": output.aux})
            stacked = [mlx().utils.tree_map(lambda *steps: mx.stack(steps), *steps) for steps in found]
            return stacked, unrolled.memory

        groups, memory = self._keeping(run)(parameters)
        return groups, memory

    def _set(self, parameters: Leaves) -> None:
        self._net.update(mlx().utils.tree_unflatten(list(parameters.items())))

    def _keeping(self, function: Callable[[Leaves], Any]) -> Callable[[Leaves], Any]:
        """``function``, after which the network has its own weights again, not those it was traced with."""

        def kept(parameters: Leaves) -> Any:
            own = self._net.parameters()
            try:
                return function(parameters)
            finally:
                self._net.update(own)

        return kept


def on_device(batch: Any) -> Any:
    """The same lists and dictionaries with MLX arrays."""
    if isinstance(batch, dict):
        return {name: on_device(value) for name, value in batch.items()}
    if isinstance(batch, list):
        return [on_device(value) for value in batch]
    return mx.array(np.ascontiguousarray(batch))
