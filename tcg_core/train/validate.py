"""Validation with memory: the temporal plan of the validation side, each row scored exactly once."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tcg_core.encode.columns import Array
from tcg_core.model.bootstrap import mlx
from tcg_core.model.mlx_net import PolicyNet
from tcg_core.plan.plan import Plan
from tcg_core.train.baseline import RankCounts
from tcg_core.train.errors import Diverged, TrainError
from tcg_core.train.loss import TARGETS, cross_entropy, head_loss
from tcg_core.train.metrics import Counters
from tcg_core.train.prefetch import ahead
from tcg_core.train.prepare import Prepared
from tcg_core.train.unroll import Loaded, Unrolled, gather_memory, keep_memory

if TYPE_CHECKING:
    import mlx.core as mx
else:
    mx = mlx().core


@dataclass(frozen=True)
class Validated:
    """counters: sums from which the metrics follow; rows scored, all of the validation side, each once."""

    counters: Counters
    rows: int


def validate(
    net: PolicyNet, plan: Plan, make: Callable[[int], Prepared], ranks: RankCounts, advance: Callable[[int], None]
) -> Validated:
    """Scores the validation side; ``make`` prepares its n-th microbatch, ``advance`` is told of each one done.

    Raises :class:`TrainError` naming a row that was not scored exactly once, :class:`Diverged` for a loss that is not finite.
    """
    counters = Counters(ranks)
    memories: dict[int, Array] = {}
    scored: list[Array] = []
    for prepared in ahead(make, list(range(plan.count(0, "validation")))):
        memory = score(net, prepared, memories, counters)
        keep_memory(prepared, memory, memories)
        scored.extend(group.rows for step in prepared.steps for group in step.groups)
        advance(1)
    rows = np.concatenate(scored)
    check_coverage(plan, rows)
    return Validated(counters, len(rows))


def score(net: PolicyNet, prepared: Prepared, memories: dict[int, Array], counters: Counters) -> Array:
    """Adds one microbatch to the counters; returns the memory of every slot, float32 [slots, R, d]."""
    loaded = Loaded(prepared)
    unrolled = Unrolled(net, loaded, gather_memory(prepared, memories, net.architecture.memory_shape))
    found = []
    for group, labels, output in unrolled:
        losses = {"ce": cross_entropy(output.logits, labels["target"])}
        losses |= {head: head_loss(head, predicted, labels[TARGETS[head]]) for head, predicted in output.aux.items()}
        found.append((group, output.logits, losses, output.aux))
    mx.eval([(logits, losses, aux) for _, logits, losses, aux in found], unrolled.memory)
    for group, logits, losses, aux in found:
        plain = {name: np.array(value) for name, value in losses.items()}
        if not np.isfinite(plain["ce"]).all():
            raise Diverged(f"validation microbatch {prepared.index}: cross-entropy is not finite")
        counters.add(np.array(logits), plain, {name: np.array(value) for name, value in aux.items()}, group.inputs, group.labels)
    return np.array(unrolled.memory)


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
