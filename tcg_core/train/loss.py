"""The loss, in one unit for training and validation.

Over an accumulation window: sum of cross-entropy / N_rows + sum over heads of weight * (sum of head loss / N_valid),
with N_rows and N_valid of the whole window from the plan. So K unequal microbatches give the gradient of one batch of
the same rows, and a window without valid rows adds nothing for the heads.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tcg_core.model.batch import Output
from tcg_core.model.bootstrap import mlx

if TYPE_CHECKING:
    import mlx.core as mx
else:
    mx = mlx().core

#: Head -> column of its target. ``ko`` and ``terminal`` are binary (BCE on logits), the others squared error.
TARGETS = {"ko": "aux_ko", "prize": "aux_prize_delta", "terminal": "aux_terminal", "value": "aux_return"}
BINARY = ("ko", "terminal")


@dataclass(frozen=True)
class Normalizer:
    """Counts of an accumulation window: its rows and its rows with aux_valid."""

    rows: int
    valid: int

    def heads(self, weights: Mapping[str, float]) -> dict[str, float]:
        """Factor of each head's summed loss."""
        return {head: weight / self.valid if self.valid else 0.0 for head, weight in weights.items()}


def cross_entropy(logits: "mx.array", target: "mx.array") -> "mx.array":
    """-log p(target) of each row, [B]; logits [B, O + 1] with illegal ones masked."""
    return mx.logsumexp(logits, axis=-1) - mx.take_along_axis(logits, target[:, None], axis=-1)[:, 0]


def head_loss(head: str, output: "mx.array", target: "mx.array") -> "mx.array":
    """Loss of an auxiliary head for each row, [B]."""
    if head in BINARY:
        return mx.logaddexp(output, 0.0) - output * target
    return mx.square(output - target)


def each_row(output: Output, labels: Mapping[str, "mx.array"]) -> dict[str, "mx.array"]:
    """Losses of each row, [B]: ``ce`` and every head's."""
    found = {"ce": cross_entropy(output.logits, labels["target"])}
    return found | {head: head_loss(head, predicted, labels[TARGETS[head]]) for head, predicted in output.aux.items()}


def sums(output: Output, labels: Mapping[str, "mx.array"]) -> dict[str, "mx.array"]:
    """Summed losses of a batch: ``ce`` over its rows (times ``weight`` where the labels have one: padding weighs 0), each head
    over its valid rows."""
    losses = each_row(output, labels)
    ce = losses.pop("ce")
    found = {"ce": (ce * labels["weight"] if "weight" in labels else ce).sum()}
    return found | {head: (loss * labels["aux_valid"]).sum() for head, loss in losses.items()}


def combine(total: Mapping[str, "mx.array"], rows: "mx.array | int", heads: Mapping[str, "mx.array | float"]) -> "mx.array":
    """The loss of summed parts under a window's counts; heads: factors of :meth:`Normalizer.heads`."""
    loss = total["ce"] / rows
    for head, value in total.items():
        if head != "ce":
            loss = loss + value * heads[head]
    return loss
