import pytest

from tcg_core.base.progress import PlannedMismatch, phase, track


def test_a_phase_that_does_another_count_than_planned_raises() -> None:
    with pytest.raises(PlannedMismatch, match="train: planned 3 steps, processed 2"), phase("train", 3) as advance:
        advance(2)


def test_track_yields_every_item_and_counts_them() -> None:
    assert list(track([1, 2], "x", 2)) == [1, 2]
    with pytest.raises(PlannedMismatch):
        list(track([1, 2], "x", 3))


def test_an_error_inside_is_not_hidden_by_the_count() -> None:
    with pytest.raises(KeyError), phase("x", 5):
        raise KeyError("inner")
