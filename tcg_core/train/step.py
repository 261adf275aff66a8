"""One optimizer update: gradients of the microbatches of a window, summed, clipped once, applied."""

from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tcg_core.encode.columns import Array
from tcg_core.model.bootstrap import mlx
from tcg_core.model.mlx_net import PolicyNet
from tcg_core.model.names import Group
from tcg_core.recipe import Recipe
from tcg_core.train.compiled.batch import Padded
from tcg_core.train.compiled.loss import Compiled
from tcg_core.train.errors import Diverged, TrainError
from tcg_core.train.loss import Normalizer, combine, sums
from tcg_core.train.optimizer import Leaves, clip, update
from tcg_core.train.prepare import Prepared
from tcg_core.train.unroll import Loaded, Unrolled, gather_memory, keep_memory

if TYPE_CHECKING:
    import mlx.core as mx
else:
    mx = mlx().core


@dataclass(frozen=True)
class Updated:
    """What an update did. Sums over the window: rows, valid rows, cross-entropy, each head's loss; norms of the gradient
    before and after the clip."""

    rows: int
    valid: int
    ce: float
    heads: dict[str, float]
    norm: float
    clipped: float


class Stepper:
    """Holds network and moments, and applies updates to them."""

    def __init__(self, net: PolicyNet, state: Leaves, routes: Mapping[str, Group], recipe: Recipe) -> None:
        self.net, self.state, self.routes = net, state, routes
        self._settings = recipe.optimizer
        self._weights = asdict(recipe.aux)
        #: Held open around the update itself: the row-group cache evicts nothing meanwhile.
        self.guard: Callable[[], AbstractContextManager[None]] = nullcontext
        #: What computes padded microbatches, where MLX compiles.
        self.compiled: Compiled | None = None
        self._gradient = mx.value_and_grad(self._loss)
        check_float32(flat(net.parameters()), "parameter")
        check_float32(state, "moment")

    def apply(
        self, window: Iterable[Prepared], normalizer: Normalizer, memories: dict[int, Array], rate: float, step: int
    ) -> Updated:
        """The ``step``-th update, from the microbatches of one accumulation window whose counts are known from the plan;
        ``memories`` is brought forward.

        Raises :class:`Diverged` naming the tensor that is not finite; parameters and moments then stay as they were.
        """
        total: Leaves = {}
        parts: dict[str, float] = {}
        for prepared in window:
            gradients, found = self._accumulate(prepared, normalizer, memories)
            total = gradients if not total else {name: total[name] + gradients[name] for name in total}
            mx.eval(total)
            for name, value in found.items():
                parts[name] = parts.get(name, 0.0) + value
        if not total:
            raise TrainError(f"update {step}: the accumulation window holds no microbatch")
        check_float32(total, "gradient")
        clipped, norm = clip(total, self._settings.max_grad_norm)
        before = float(np.array(norm))
        if not np.isfinite(before):
            raise Diverged(f"update {step}: {_name_of_not_finite(total, 'gradient')}")
        parameters = flat(self.net.parameters())
        with self.guard():
            fresh, state = update(parameters, clipped, self.state, self.routes, self._settings, rate, step)
            mx.eval(fresh, state)
        self.net.update(mlx().utils.tree_unflatten(list(fresh.items())))
        self.state = state
        heads = {name: value for name, value in parts.items() if name != "ce"}
        return Updated(normalizer.rows, normalizer.valid, parts["ce"], heads, before, min(before, self._settings.max_grad_norm))

    def _accumulate(
        self, prepared: Prepared, normalizer: Normalizer, memories: dict[int, Array]
    ) -> tuple[Leaves, dict[str, float]]:
        carried = gather_memory(prepared, memories, self.net.architecture.memory_shape)
        loss, parts, memory, gradients = self._gradients(prepared, carried, normalizer)
        mx.eval(loss, parts, memory, gradients)
        found = {name: float(np.array(value)) for name, value in parts.items()}
        for name, value in found.items():
            if not np.isfinite(value):
                raise Diverged(f"microbatch {prepared.index}: loss {name} is {value}")
        keep_memory(prepared, np.array(memory), memories)
        return gradients, found

    def _gradients(
        self, prepared: Prepared, carried: "mx.array", normalizer: Normalizer
    ) -> tuple["mx.array", Leaves, "mx.array", Leaves]:
        """(loss, its parts, memory, gradients) of a microbatch, not yet computed."""
        if isinstance(prepared, Padded):
            if self.compiled is None:
                raise TrainError(f"microbatch {prepared.index} is padded to a static shape, but nothing compiles here")
            return self.compiled.gradients(prepared, carried, normalizer)
        parameters = self.net.parameters()
        (loss, parts, memory), gradients = self._gradient(parameters, Loaded(prepared), carried, normalizer)
        self.net.update(parameters)
        return loss, parts, memory, flat(gradients)

    def _loss(self, parameters: Any, loaded: Loaded, carried: "mx.array", normalizer: Normalizer) -> tuple[Any, Any, Any]:
        self.net.update(parameters)
        unrolled = Unrolled(self.net, loaded, carried)
        total: dict[str, mx.array] = {}
        for _, labels, output in unrolled:
            for name, value in sums(output, labels).items():
                total[name] = total[name] + value if name in total else value
        return combine(total, normalizer.rows, normalizer.heads(self._weights)), total, unrolled.memory


def flat(tree: Any) -> Leaves:
    """Leaves by dotted name."""
    return dict(mlx().utils.tree_flatten(tree))


def check_float32(leaves: Leaves, what: str) -> None:
    """Raises :class:`TrainError` naming the first leaf that is not float32."""
    for name, leaf in leaves.items():
        if leaf.dtype != mx.float32:
            raise TrainError(f"{what} {name} is {leaf.dtype}, expected float32: training does not go on")


def check_finite(leaves: Leaves, what: str) -> None:
    """Raises :class:`Diverged` naming the first leaf with NaN or infinity."""
    finite = mx.stack([mx.isfinite(leaf).all() for leaf in leaves.values()])
    if not bool(finite.all().item()):
        raise Diverged(_name_of_not_finite(leaves, what))


def _name_of_not_finite(leaves: Leaves, what: str) -> str:
    for name, leaf in leaves.items():
        bad = int(np.array((~mx.isfinite(leaf)).sum()))
        if bad:
            return f"{what} {name} has {bad} of {leaf.size} values that are not finite"
    return f"the norm over all of {what} is not finite, each leaf is"
