"""The static shapes: every microbatch fits the one it gets, there are few, and more of them pad less."""

import dataclasses
import itertools
from typing import Any

import numpy as np
import pytest

from tcg_core.encode.collate import BatchShape
from tcg_core.plan.plan import Side
from tcg_core.train.compiled import plan as static_plan
from tcg_core.train.compiled import shapes as static_shapes
from tcg_core.train.compiled.batch import pad
from tcg_core.train.compiled.plan import StaticPlan, choose_shapes
from tcg_core.train.compiled.shapes import Shape, merge
from tcg_core.train.prepare import prepare
from tcg_core.train.session import Session
from tests.train.compiling import REWARDED
from tests.train.toy import RECIPE, toy_home, toy_session

FIXED = 7


def chosen(session: Session, most: int) -> StaticPlan:
    return choose_shapes(session.plan, session.train.readers, FIXED, most)


def fit_all(session: Session, found: StaticPlan) -> tuple[dict[Side, int], dict[Side, int]]:
    """Pads every microbatch of the plan; real and padded tokens of each side."""
    real: dict[Side, int] = {"train": 0, "validation": 0}
    padded: dict[Side, int] = {"train": 0, "validation": 0}
    sides: tuple[Side, ...] = ("train", "validation")
    for side in sides:
        for epoch in range(session.plan.recipe.epochs if side == "train" else 1):
            for batch in session.plan.microbatches(epoch, side):
                shape = found.shape(side, epoch, batch.index)
                made = pad(prepare(session.plan, batch, session.train, session.cards, shape), shape)
                real[side] += made.real_tokens + FIXED * made.n_rows
                padded[side] += shape.tokens(FIXED)
                assert made.padded_tokens == shape.tokens(0)
    return real, padded


@pytest.mark.parametrize(("most", "call_tokens"), [(1, REWARDED), (3, REWARDED), (3, static_shapes.CALL_TOKENS)])
def test_every_microbatch_fits_its_shape(
    session: Session, monkeypatch: pytest.MonkeyPatch, most: int, call_tokens: float
) -> None:
    monkeypatch.setattr(static_shapes, "CALL_TOKENS", call_tokens)
    found = chosen(session, most)
    for side in found.sides.values():
        assert 1 <= len(set(side.merged.shapes)) == len(side.merged.shapes) <= most
        assert set(side.merged.of.tolist()) == set(range(len(side.merged.shapes)))
    assert found.compilations == sum(len(side.merged.shapes) for side in found.sides.values())
    real, padded = fit_all(session, found)
    for side, shapes in found.sides.items():
        assert (shapes.real, shapes.padded) == (real[side], padded[side])
    assert f"at most {found.compilations} compilations; train: " in found.text()
    assert f"{padded['train'] / real['train']:.2f} padded tokens" in found.text()


def test_more_shapes_cost_less(session: Session) -> None:
    costs = [chosen(session, most).sides["train"].merged.cost for most in (1, 2, 4, 400)]
    assert costs == sorted(costs, reverse=True)
    assert costs[0] > costs[-1]


def test_a_second_group_is_used_where_it_pays(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    groups = []
    for call_tokens in (1e6, REWARDED):
        monkeypatch.setattr(static_shapes, "CALL_TOKENS", call_tokens)
        groups.append({len(shape.rows) for side in chosen(session, 3).sides.values() for shape in side.merged.shapes})
    assert groups[0] == {1}
    assert 2 in groups[1]


def test_the_bound_breaks_where_rows_are_overlooked(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    """The shapes are as tight as the plan allows: with the last row of every chunk left out, some microbatch does not fit."""
    original = static_plan._needs

    def short(plan: Any, *arguments: Any) -> Any:
        fewer = plan.chunks.decision_rows.copy()
        fewer[plan.chunks.decision_bounds[1:] - 1] -= 1
        return original(dataclasses.replace(plan, chunks=dataclasses.replace(plan.chunks, decision_rows=fewer)), *arguments)

    monkeypatch.setattr(static_plan, "_needs", short)
    with pytest.raises(Exception, match="its static shape has room for"):
        fit_all(session, chosen(session, 400))


def test_stateless_rows_fit_too(tmp_path: Any) -> None:
    recipe = dataclasses.replace(RECIPE, work=dataclasses.replace(RECIPE.work, mode="stateless"), epochs=1)
    session = toy_session(toy_home(tmp_path / "home"), recipe)
    found = chosen(session, 2)
    assert {shape.steps for side in found.sides.values() for shape in side.merged.shapes} == {1}
    fit_all(session, found)


def test_merging_is_least_padding_for_two(monkeypatch: pytest.MonkeyPatch) -> None:
    """Against all ways to split six microbatches into two shapes: never better than the best, and equal to it here."""
    monkeypatch.setattr(static_shapes, "CALL_TOKENS", 0.0)
    rng = np.random.default_rng(3)
    needs = np.concatenate([rng.integers(2, 6, (3, 8)), rng.integers(20, 26, (3, 8))])
    needs[:, static_shapes.NARROW] = 0

    def padded(members: tuple[int, ...]) -> int:
        top = needs[list(members)].max(axis=0)
        return len(members) * int(top[0] * top[3] * (FIXED + top[4] + top[5] + top[7]))

    everything = set(range(6))
    ways = [set(way) for size in range(1, 6) for way in itertools.combinations(range(6), size)]
    best = min(padded(tuple(way)) + padded(tuple(everything - way)) for way in ways)
    assert merge(needs, None, FIXED, 2).cost == best
    assert merge(needs, None, FIXED, 1).cost == padded(tuple(everything))
    assert merge(needs, None, FIXED, 6).cost == sum(padded((row,)) for row in everything)


def test_many_different_needs_are_rounded_up_first() -> None:
    needs = np.random.default_rng(4).integers(1, 60, (3000, 8))
    needs[:, static_shapes.STEPS] = 16
    merged = merge(needs, np.array([5, 5, 5, 5]), FIXED, 3)
    assert len(merged.shapes) <= 3
    for need, of in zip(needs[::50], merged.of[::50], strict=True):
        shape = merged.shapes[of]
        assert shape.slots >= need[1]
        assert shape.sizes[-1].cards >= need[4]
        assert sum(shape.rows) >= need[2] + need[3]


def test_a_step_is_cut_into_what_fits_the_narrow_group() -> None:
    narrow, wide = BatchShape(4, 2, 2, 3), BatchShape(9, 5, 4, 8)
    shape = Shape(1, 6, (3, 4), (narrow, wide))
    lengths = np.array([[4, 2, 2, 3], [5, 1, 1, 1], [1, 1, 1, 1], [1, 1, 3, 1], [4, 2, 1, 3], [1, 0, 0, 1]])
    cuts = shape.cut(lengths)
    assert [(part.tolist(), size) for part, size in cuts] == [([0, 2, 4], narrow), ([1, 3, 5], wide)]
    assert [(part.tolist(), size) for part, size in shape.cut(lengths[:1])] == [([0], narrow)]
    assert [(part.tolist(), size) for part, size in shape.cut(lengths[1:2])] == [([0], wide)]
    assert shape.tokens(10) == 3 * (10 + 4 + 2 + 3) + 4 * (10 + 9 + 5 + 8)
