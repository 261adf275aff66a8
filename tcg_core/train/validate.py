"""Validation with memory: the temporal plan of the validation side, each row scored exactly once."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tcg_core.encode.columns import Array
from tcg_core.model.bootstrap import mlx
from tcg_core.model.mlx_net import PolicyNet
from tcg_core.plan.plan import Plan
from tcg_core.train.baseline import RankCounts
from tcg_core.train.compiled.batch import Padded
from tcg_core.train.compiled.loss import Compiled
from tcg_core.train.errors import Diverged, TrainError
from tcg_core.train.loss import each_row
from tcg_core.train.metrics import Counters
from tcg_core.train.prefetch import ahead
from tcg_core.train.prepare import Group, Prepared
from tcg_core.train.unroll import Loaded, Unrolled, gather_memory, keep_memory

if TYPE_CHECKING:
    import mlx.core as mx
else:
    mx = mlx().core

#: A group and, of each of its rows, ``logits``, ``losses`` and ``aux``.
Scored = tuple[Group, dict[str, Any]]


@dataclass(frozen=True)
class Validated:
    """counters: sums from which the metrics follow; rows scored, all of the validation side, each once."""

    counters: Counters
    rows: int


def validate(
    net: PolicyNet,
    plan: Plan,
    make: Callable[[int], Prepared],
    ranks: RankCounts,
    advance: Callable[[int], None],
    compiled: Compiled | None = None,
) -> Validated:
    """Scores the validation side; ``make`` prepares its n-th microbatch, ``advance`` is told of each one done; ``compiled``
    computes those padded to a static shape.

    Raises :class:`TrainError` naming a row that was not scored exactly once, :class:`Diverged` for a loss that is not finite.
    """
    counters = Counters(ranks)
    memories: dict[int, Array] = {}
    scored: list[Array] = []
    for prepared in ahead(make, list(range(plan.count(0, "validation")))):
        memory = score(net, prepared, memories, counters, compiled)
        keep_memory(prepared, memory, memories)
        scored.extend(group.rows for step in prepared.steps for group in step.groups)
        advance(1)
    rows = np.concatenate(scored)
    check_coverage(plan, rows)
    return Validated(counters, len(rows))


def score(
    net: PolicyNet, prepared: Prepared, memories: dict[int, Array], counters: Counters, compiled: Compiled | None = None
) -> Array:
    """Adds one microbatch to the counters; returns the memory of every slot, float32 [slots, R, d]."""
    carried = gather_memory(prepared, memories, net.architecture.memory_shape)
    if not isinstance(prepared, Padded):
        found, memory = _by_group(net, prepared, carried)
    elif compiled is not None:
        found, memory = _by_shape(compiled, prepared, carried)
    else:
        raise TrainError(f"validation microbatch {prepared.index} is padded to a static shape, but nothing compiles here")
    for group, of_rows in found:
        if not np.isfinite(of_rows["losses"]["ce"]).all():
            raise Diverged(f"validation microbatch {prepared.index}: cross-entropy is not finite")
        counters.add(of_rows["logits"], of_rows["losses"], of_rows["aux"], group.inputs, group.labels)
    return memory


def _by_group(net: PolicyNet, prepared: Prepared, carried: "mx.array") -> tuple[list[Scored], Array]:
    unrolled = Unrolled(net, Loaded(prepared), carried)
    found = [
        (group, {"logits": output.logits, "losses": each_row(output, labels), "aux": output.aux})
        for group, labels, output in unrolled
    ]
    mx.eval([of_rows for _, of_rows in found], unrolled.memory)
    return [(group, mlx().utils.tree_map(np.array, of_rows)) for group, of_rows in found], np.array(unrolled.memory)


def _by_shape(compiled: Compiled, padded: Padded, carried: "mx.array") -> tuple[list[Scored], Array]:
    """The same in a static shape, of which only the rows are handed on, not the padding."""
    outputs, memory = compiled.outputs(padded, carried)
    mx.eval(outputs, memory)
    plain = mlx().utils.tree_map(np.array, outputs)
    found = []
    for t, step in enumerate(padded.steps):
        for group in step.groups:
            rows = slice(0, len(group.rows))
            found.append(
                (group, mlx().utils.tree_map(lambda array, t=t, rows=rows: array[t, rows], plain[padded.position(group)]))
            )
    return found, np.array(memory)


def check_coverage(plan: Plan, rows: Array) -> None:
    """Raises :class:`TrainError` unless ``rows`` (global numbers, any order) are the validation rows, each once."""
    side = plan.lanes.validation.astype(bool)
    sizes = plan.lanes.rows[side].astype(np.int64)
    ends = np.cumsum(sizes)
    expected = np.arange(ends[-1]) + np.repeat(plan.lanes.first_row[side] - (ends - sizes), sizes)
    found = np.sort(rows)
    if not np.array_equal(found, np.sort(expected)):
        odd = np.setxor1d(found, expected)
        what = (
            f"row {int(odd[0])} is missing or foreign"
            if len(odd)
            else f"row {int(found[:-1][np.diff(found) == 0][0])} was scored twice"
        )
        raise TrainError(f"validation: {what}; {len(found)} scored, {len(expected)} planned")
