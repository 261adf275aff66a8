"""Static shapes on a machine without a GPU: compiling as MLX does it, but for the kernels."""

from collections.abc import Callable
from typing import Any

import numpy as np

from tcg_core.model.bootstrap import mlx
from tcg_core.train.compiled.batch import Padded
from tcg_core.train.loss import Normalizer
from tcg_core.train.session import Session

mx = mlx().core
#: Worth of a second forward call a step under which it is taken whatever the games are.
REWARDED = -2000.0


def as_if_compiled(function: Any) -> Callable[..., Any]:
    """``mx.compile`` of a method of ``Compiled`` where compiling is off: the function runs at every call, but is counted only for
    inputs of a structure, shape or type not seen before, as MLX would trace it."""
    seen: set[Any] = set()

    def call(*arguments: Any) -> Any:
        form = tuple((name, tuple(leaf.shape), str(leaf.dtype)) for name, leaf in mlx().utils.tree_flatten(list(arguments)))
        if form in seen:
            function.__self__.made -= 1
        seen.add(form)
        return function(*arguments)

    return call


def padded_train(session: Session, index: int) -> Padded:
    """A training microbatch of a session that compiles."""
    prepared = session.prepare_train(index)
    assert isinstance(prepared, Padded)
    return prepared


def accumulate(session: Session, index: int, memories: dict[int, Any]) -> tuple[dict[str, Any], dict[str, float]]:
    """Gradients by leaf and loss parts of a training microbatch; ``memories`` is brought forward."""
    batch = session.plan.microbatch(session.progress.epoch, index)
    normalizer = Normalizer(batch.n_rows, batch.n_valid)
    gradients, parts = session.stepper._accumulate(session.prepare_train(index), normalizer, memories)
    return {name: np.array(value) for name, value in gradients.items()}, parts


def farthest(found: dict[Any, Any], expected: dict[Any, Any]) -> float:
    """The largest absolute difference; both must have the same keys."""
    assert set(found) == set(expected)
    return max(float(np.abs(np.asarray(found[key]) - np.asarray(expected[key])).max()) for key in expected)
