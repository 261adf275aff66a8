"""Validation metrics, as counters only: nothing is kept per row.

Each is given over all rows and, under ``unforced``, over rows with more than one legal answer.

ce: mean of -log p(recorded answer); acc: the most probable legal answer is the recorded one; equiv: it means the same
(equal ``opt_group``; STOP only equals STOP); top3: the recorded answer is among the three most probable; atk: acc on
rows with ``is_attack``; ko: accuracy of the KO head (logit > 0) against ``aux_ko`` on rows with ``aux_valid``.
aux: ko_bce, prize_mse, terminal_bce, return_mse, means over rows with ``aux_valid``; ``mean_*`` the same for a constant
answer, the mean of the target over those rows. ece: expected calibration error over 15 equal bins of the probability of
the chosen answer. by_select_type: accuracy and rows of each SelectType.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tcg_core.encode.columns import Array
from tcg_core.train.baseline import RankCounts
from tcg_core.train.loss import BINARY, TARGETS

BINS = 15
AUX_NAMES = {"ko": "ko_bce", "prize": "prize_mse", "terminal": "terminal_bce", "value": "return_mse"}


@dataclass
class Counters:
    """Running sums of one validation pass. ``ranks``: baseline of the training rows."""

    ranks: RankCounts
    sums: dict[str, float] = field(default_factory=dict)
    bins: Array = field(default_factory=lambda: np.zeros((3, BINS)))
    kinds: Array = field(default_factory=lambda: np.zeros((2, 32), np.int64))

    def add(
        self,
        logits: Array,
        losses: Mapping[str, Array],
        aux: Mapping[str, Array],
        inputs: Mapping[str, Array],
        labels: Mapping[str, Array],
    ) -> None:
        """Adds B rows: logits [B, O + 1], losses ce and heads [B], aux head outputs [B], the collated inputs and labels."""
        target, legal = labels["target"], inputs["legal"]
        hits = _hits(logits, legal, labels, self.ranks)
        hits["ce"] = losses["ce"].astype(np.float64)
        hits["uniform_ce"] = np.log(legal.sum(axis=1))
        for prefix, mask in (("", np.ones(len(target), bool)), ("unforced.", ~labels["forced"])):
            self._add(f"{prefix}rows", mask.sum())
            for name, value in hits.items():
                self._add(prefix + name, value[mask].sum())
            attack = mask & labels["is_attack"]
            self._add(f"{prefix}atk_rows", attack.sum())
            self._add(f"{prefix}atk", hits["acc"][attack].sum())
            valid = mask & (labels["aux_valid"] > 0)
            self._add(f"{prefix}valid", valid.sum())
            if "ko" in aux:
                self._add(f"{prefix}ko", ((aux["ko"] > 0) == (labels["aux_ko"] > 0))[valid].sum())
            for head in aux:
                wanted = labels[TARGETS[head]][valid].astype(np.float64)
                self._add(f"{prefix}loss.{head}", losses[head].astype(np.float64)[valid].sum())
                self._add(f"{prefix}target.{head}", wanted.sum())
                self._add(f"{prefix}square.{head}", np.square(wanted).sum())
        self._calibrate(logits, hits["acc"])
        np.add.at(self.kinds[0], inputs["select_type"], hits["acc"].astype(np.int64))
        np.add.at(self.kinds[1], inputs["select_type"], 1)

    def result(self) -> dict[str, Any]:
        """The metrics; None where there is no row to measure on (no attack row, no valid row, no such head)."""
        found = self._side("") | {"unforced": self._side("unforced.")}
        filled = self.bins[0] > 0
        gap = np.abs(self.bins[1][filled] - self.bins[2][filled]).sum()
        found["ece"] = float(gap / max(self.bins[0].sum(), 1))
        found["by_select_type"] = {
            str(kind): {"rows": int(self.kinds[1][kind]), "acc": float(self.kinds[0][kind] / self.kinds[1][kind])}
            for kind in np.flatnonzero(self.kinds[1])
        }
        return found

    def _side(self, prefix: str) -> dict[str, Any]:
        s = {name.removeprefix(prefix): value for name, value in self.sums.items() if name.startswith(prefix)}
        rows, valid = s.get("rows", 0.0), s.get("valid", 0.0)
        found: dict[str, Any] = {"rows": int(rows), "valid": int(valid), "attack_rows": int(s.get("atk_rows", 0))}
        for name in ("ce", "uniform_ce", "acc", "equiv", "top3", "rank_baseline", "first_legal"):
            found[name] = s[name] / rows if rows else None
        found["atk"] = s["atk"] / s["atk_rows"] if s.get("atk_rows") else None
        found["ko"] = s["ko"] / valid if valid and "ko" in s else None
        for head, name in AUX_NAMES.items():
            known = bool(valid) and f"loss.{head}" in s
            found[name] = s[f"loss.{head}"] / valid if known else None
            found[f"mean_{name}"] = (
                _constant_loss(head, s[f"target.{head}"] / valid, s[f"square.{head}"] / valid) if known else None
            )
        return found

    def _add(self, name: str, value: Any) -> None:
        self.sums[name] = self.sums.get(name, 0.0) + float(value)

    def _calibrate(self, logits: Array, hit: Array) -> None:
        wide = logits.astype(np.float64)
        confidence = 1.0 / np.exp(wide - wide.max(axis=1, keepdims=True)).sum(axis=1)
        place = np.minimum((confidence * BINS).astype(np.int64), BINS - 1)
        for row, value in enumerate((1.0, confidence, hit)):
            np.add.at(self.bins[row], place, value)


def _hits(logits: Array, legal: Array, labels: Mapping[str, Array], ranks: RankCounts) -> dict[str, Array]:
    target = labels["target"]
    rows = np.arange(len(target))
    best = logits.argmax(axis=1)
    of_target = logits[rows, target][:, None]
    # Ties go to the lower position, as argmax does.
    before = (logits > of_target) | ((logits == of_target) & (np.arange(logits.shape[1])[None] < target[:, None]))
    # STOP stands for itself: a group number no option has.
    groups = np.concatenate([labels["opt_group"], np.full((len(target), 1), -1, labels["opt_group"].dtype)], axis=1)
    return {
        "acc": (best == target).astype(np.float64),
        "equiv": ((best == target) | ((groups[rows, best] == groups[rows, target]) & (groups[rows, target] >= 0))).astype(
            np.float64
        ),
        "top3": (before.sum(axis=1) < 3).astype(np.float64),
        "rank_baseline": (ranks.predict(legal) == target).astype(np.float64),
        "first_legal": (legal.argmax(axis=1) == target).astype(np.float64),
    }


def _constant_loss(head: str, mean: float, square: float) -> float:
    if head not in BINARY:
        return max(square - mean * mean, 0.0)
    if mean <= 0.0 or mean >= 1.0:
        return 0.0
    return float(-(mean * np.log(mean) + (1 - mean) * np.log(1 - mean)))
