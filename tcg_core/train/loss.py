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

    def head(self, weight: float) -> float:
        """Factor of a head's summed loss."""
        return weight / self.valid if self.valid else 0.0


def cross_entropy(logits: "mx.array", target: "mx.array") -> "mx.array":
    """-log p(target) of each row, [B]; logits [B, O + 1] with illegal ones masked."""
    return mx.logsumexp(logits, axis=-1) - mx.take_along_axis(logits, target[:, None], axis=-1)[:, 0]


def head_loss(head: str, output: "mx.array", target: "mx.array") -> "mx.array":
    """Loss of an auxiliary head for each row, [B]."""
    if head in BINARY:
        return mx.logaddexp(output, 0.0) - output * target
    return mx.square(output - target)


def sums(output: Output, labels: Mapping[str, "mx.array"]) -> dict[str, "mx.array"]:
    """Summed losses of a batch: ``ce`` over its rows, each head over its valid rows."""
    found = {"ce": cross_entropy(output.logits, labels["target"]).sum()}
    for head, predicted in output.aux.items():
        found[head] = (head_loss(head, predicted, labels[TARGETS[head]]) * labels["aux_valid"]).sum()
    return found


def combine(total: Mapping[str, "mx.array"], normalizer: Normalizer, weights: Mapping[str, float]) -> "mx.array":
    """The loss of summed parts under a window's counts."""
    loss = total["ce"] / normalizer.rows
    for head, value in total.items():
        if head != "ce":
            loss = loss + value * normalizer.head(weights[head])
    return loss
