"""Metrics and baselines on rows worked out by hand."""

from dataclasses import asdict
from typing import Any

import numpy as np
import pytest

from tcg_core.rows.cache import CacheCounters
from tcg_core.train.baseline import RankCounts
from tcg_core.train.checks import MARGIN, aux_heads, aux_share, cache_hits, finite, grad_norm, learned
from tcg_core.train.metrics import Counters
from tcg_core.train.runs.state import CURVE_POINTS, Progress

MASK = -1e9


def counted() -> Counters:
    """Three rows with up to three options and STOP: right; wrong but equivalent, attack; forced STOP."""
    counters = Counters(RankCounts((10, 30, 5), 20))
    logits = np.array([[2.0, 0.0, MASK, MASK], [1.0, 0.5, 0.0, -1.0], [MASK, MASK, MASK, 0.0]], np.float32)
    legal = logits > -1e8
    target = np.array([0, 2, 3], np.int32)
    ce = np.log(np.exp(logits.astype(np.float64)).sum(1)) - logits[np.arange(3), target]
    labels = {
        "target": target,
        "opt_group": np.array([[0, 1, 0], [0, 1, 0], [0, 0, 0]], np.int32),
        "forced": np.array([False, False, True]),
        "is_attack": np.array([False, True, False]),
        "aux_valid": np.array([1, 1, 0], np.float32),
        "aux_ko": np.array([1, 0, 0], np.float32),
        "aux_prize_delta": np.array([1, -1, 0], np.float32),
    }
    losses = {"ce": ce.astype(np.float32), "ko": np.array([0.2, 0.9, 50.0]), "prize": np.array([0.25, 1.0, 50.0])}
    aux = {"ko": np.array([1.0, 2.0, 3.0]), "prize": np.array([0.5, 0.0, 9.0])}
    inputs = {"legal": legal, "select_type": np.array([0, 0, 5], np.int32)}
    counters.add(logits, losses, aux, inputs, labels)
    return counters


def test_definitions() -> None:
    found = counted().result()
    unforced = found["unforced"]
    assert (found["rows"], unforced["rows"]) == (3, 2)
    assert found["acc"] == pytest.approx(2 / 3)
    assert unforced["acc"] == pytest.approx(1 / 2)
    assert unforced["equiv"] == 1.0
    assert found["top3"] == 1.0
    assert found["atk"] == 0.0
    assert found["ko"] == pytest.approx(1 / 2)
    assert found["ko_bce"] == pytest.approx((0.2 + 0.9) / 2)
    assert found["mean_ko_bce"] == pytest.approx(np.log(2))
    assert found["prize_mse"] == pytest.approx(0.625)
    assert found["mean_prize_mse"] == pytest.approx(1.0)
    assert found["terminal_bce"] is None
    assert unforced["uniform_ce"] == pytest.approx((np.log(2) + np.log(4)) / 2)
    assert unforced["rank_baseline"] == 0.0
    assert found["rank_baseline"] == pytest.approx(1 / 3)
    assert unforced["first_legal"] == pytest.approx(1 / 2)
    assert found["by_select_type"] == {"0": {"rows": 2, "acc": 0.5}, "5": {"rows": 1, "acc": 1.0}}
    assert 0 < found["ece"] < 1


def test_stop_is_equivalent_to_nothing_else() -> None:
    counters = Counters(RankCounts((1,), 0))
    labels = {
        "target": np.array([1], np.int32),
        "opt_group": np.array([[0]], np.int32),
        "forced": np.array([False]),
        "is_attack": np.array([False]),
        "aux_valid": np.array([0], np.float32),
        "aux_ko": np.array([0], np.float32),
    }
    inputs = {"legal": np.ones((1, 2), bool), "select_type": np.array([0])}
    counters.add(np.array([[1.0, 0.0]], np.float32), {"ce": np.array([1.3])}, {}, inputs, labels)
    assert counters.result()["equiv"] == 0.0
    assert counters.result()["ko"] is None


def test_equal_logits_are_ranked_by_position() -> None:
    counters = Counters(RankCounts((1,), 0))
    labels = {
        "target": np.array([0, 3], np.int32),
        "opt_group": np.zeros((2, 4), np.int32),
        "forced": np.zeros(2, bool),
        "is_attack": np.zeros(2, bool),
        "aux_valid": np.zeros(2, np.float32),
        "aux_ko": np.zeros(2, np.float32),
    }
    inputs = {"legal": np.ones((2, 5), bool), "select_type": np.zeros(2, int)}
    counters.add(np.zeros((2, 5), np.float32), {"ce": np.full(2, np.log(5))}, {}, inputs, labels)
    assert counters.result()["top3"] == 0.5


def test_the_rank_baseline_takes_the_most_frequent_legal_rank() -> None:
    ranks = RankCounts((10, 30, 5), 20)
    legal = np.array([[1, 1, 1, 1, 1], [1, 0, 1, 1, 1], [1, 0, 1, 1, 0], [0, 0, 0, 1, 0]], bool)
    assert ranks.predict(legal).tolist() == [1, 4, 0, 3]
    assert RankCounts.from_dict(ranks.to_dict()) == ranks


def progress(acc: float, baseline: float = 0.4, ce: float = 0.8, rows: int = 400, fell: bool = True) -> Progress:
    """A finished one-epoch run with these numbers."""
    unforced = {"rows": rows, "acc": acc, "rank_baseline": baseline, "first_legal": 0.2, "ce": ce, "uniform_ce": 1.5}
    heads = {"ko_bce": 0.6, "mean_ko_bce": 0.5, "prize_mse": None, "mean_prize_mse": None}
    heads |= {"terminal_bce": 0.1, "mean_terminal_bce": 0.2, "return_mse": None, "mean_return_mse": None}
    curve = [[update, 2.0 - update / 10 if fell else 2.0, 1] for update in range(1, 11)]
    counters = {"train": asdict(CacheCounters(hits=95, misses=5)), "val": asdict(CacheCounters(hits=9, misses=1))}
    entry = {"epoch": 0, "validation": {"unforced": unforced, **heads}, "train_loss": 1.2, "train_aux_loss": 0.8}
    entry |= {"clipped_share": 0.2, "grad_norm_preclip": 0.7, "cache": counters}
    return Progress(history=[entry], curve=curve, best={"epoch": 0, "update": 10, "acc": acc, "ce": ce})


def test_learned_demands_a_margin_a_lower_entropy_and_a_falling_loss() -> None:
    needed = 0.4 + MARGIN * (0.4 * 0.6 / 400) ** 0.5
    assert learned(progress(needed + 0.001)).passed
    assert not learned(progress(needed - 0.001)).passed
    assert not learned(progress(0.9, ce=1.6)).passed
    assert not learned(progress(0.9, fell=False)).passed
    assert learned(progress(0.9, fell=False), resumed=True).passed
    assert not learned(progress(needed - 0.001, fell=False), resumed=True).passed
    assert not learned(progress(0.9, rows=0)).passed


def test_a_head_no_better_than_its_mean_is_shown_not_blocking() -> None:
    check = aux_heads(progress(0.9))
    assert not check.passed
    assert not check.blocks
    assert "ko_bce" in check.message.split(";")[0]
    assert "terminal_bce" not in check.message.split(";")[0]


@pytest.mark.parametrize(
    ("check", "change", "words"),
    [
        (aux_share, {"train_aux_loss": 4.8}, "auxiliary losses are 80%"),
        (grad_norm, {"grad_norm_preclip": 7.1, "clipped_share": 1.0}, "0.7 in the first epoch, 7.1 in the last, 100% of its"),
        (
            cache_hits,
            {"cache": dict.fromkeys(("train", "val"), asdict(CacheCounters(hits=7, ssd_hits=2, misses=1, evictions=3)))},
            "70.0% from memory, 3 evicted, 20% from disk",
        ),
    ],
)
def test_what_a_person_should_look_at_is_shown_not_blocking(check: Any, change: dict[str, Any], words: str) -> None:
    good = progress(0.9)
    assert check(good).passed
    good.history.append(good.history[0] | change)
    found = check(good)
    assert not found.passed
    assert not found.blocks
    assert words in found.message


def test_a_curve_with_nan_is_not_finite() -> None:
    good = progress(0.9)
    assert finite(good).passed
    good.curve[3][1] = float("nan")
    assert "update 4" in finite(good).message
    bad = progress(float("inf"))
    assert "unforced.acc" in finite(bad).message


def test_the_curve_is_bounded_and_keeps_its_mean() -> None:
    long = Progress()
    for update in range(1, 5001):
        long.updates = update
        long.point(float(update))
    assert len(long.curve) < 2 * CURVE_POINTS
    assert sum(p[1] * p[2] for p in long.curve) / sum(p[2] for p in long.curve) == pytest.approx(2500.5)
    assert Progress.from_dict(long.to_dict()) == long
