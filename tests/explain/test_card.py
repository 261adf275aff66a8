"""The card of an artifact: its verdict follows its checks, its numbers its facts, and its picture stays small."""

from pathlib import Path

import pytest

from tcg_core.base.checks import Check
from tcg_core.explain.card import MOST_FIGURES, card_of, played_card
from tcg_core.explain.drawn import MOST_BYTES, bars, curve

CHECKPOINT = {
    "val_acc_unforced": 0.6547192,
    "baseline_acc_unforced": 0.32377,
    "val_equiv": 0.84108,
    "val_ce": 0.700959,
    "updates": 230,
}
RESULTS = {
    "heuristic": {"score": 0.45, "low": 0.3561, "high": 0.5476},
    "random": {"score": 0.93, "low": 0.8625, "high": 0.9657},
}


def test_numbers_have_three_or_four_digits_a_unit_and_a_meaning() -> None:
    made = card_of("mlx_checkpoint", CHECKPOINT, (Check("learned", True, "0.65"),))
    assert made.verdict == "Good: its check passed."
    assert made.figures[0] == "**65.5 %** right where there was a choice"
    assert made.figures[3] == "**0.701** nats: validation cross-entropy"
    assert len(made.figures) == MOST_FIGURES


def test_a_failed_check_is_the_verdict_and_a_warning_is_named() -> None:
    failed = card_of("mlx_checkpoint", CHECKPOINT, (Check("learned", False, "no better than chance"),))
    assert failed.verdict == "FAILED, not used: learned: no better than chance"
    assert card_of("ratings", {}, ()).verdict == "Made; no check is recorded with it."
    warned = card_of("mlx_checkpoint", {}, (Check("fp32", True, ""), Check("cache_hits", False, "62 %", "WARN")))
    assert warned.verdict == "Usable with a warning: cache_hits."


def test_what_a_stage_did_not_count_is_left_out() -> None:
    assert card_of("work_plan", {"days": True, "train_rows": "many"}, ()).figures == ()


def test_a_played_submission_shows_its_scores_and_whether_it_reigns() -> None:
    made = played_card(RESULTS, "no, rejected: it is weaker; heuristic reigns", 2)
    assert made.verdict == "Champion: no, rejected: it is weaker; heuristic reigns. 2 of its days changed since."
    assert made.figures[0] == "**45.0 %** against heuristic (35.6 % to 54.8 %)"
    assert made.picture.count("<rect") == 2
    assert played_card({}, "x" * 999, 2).verdict.endswith("…. 2 of its days changed since."), "long words hide no mark"


@pytest.mark.parametrize("updates", [2, 29, 230, 10_000])
def test_a_curve_of_any_length_stays_small(updates: int) -> None:
    made = curve([1e5 / (i + 1) for i in range(updates)], "training loss")
    assert made.startswith("<svg") and len(made.encode()) <= MOST_BYTES


def test_pictures_of_long_names_stay_small_and_literal() -> None:
    named = [("<b>&" * 20, 1e9 + i) for i in range(9)]
    assert 0 < len(bars(named).encode()) <= MOST_BYTES
    assert "<b>" not in bars(named)
    assert bars([("none", 0.0)]) == curve([1.0], "x") == ""


def test_a_run_without_a_checkpoint_has_no_curve(tmp_path: Path) -> None:
    assert card_of("mlx_checkpoint", CHECKPOINT, (), tmp_path).picture == ""
