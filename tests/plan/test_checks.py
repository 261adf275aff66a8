"""Each check of the plan fires when what it holds to is broken."""

import dataclasses
from typing import Any

import numpy as np
import pytest

from tcg_core.plan import checks
from tcg_core.plan.pack import Order
from tcg_core.plan.plan import Plan
from tests.plan.rows import identity, plan_of, recipe

ROWS = identity(20)
PLAN = plan_of(ROWS, recipe(batch_size=64, val_batch_size=64))


def with_order(chunks: Any, bounds: Any = None) -> Plan:
    """The plan with another first epoch."""
    first = PLAN.orders["train"][0]
    order = Order(np.asarray(chunks, np.int32), first.bounds if bounds is None else bounds, first.open_groups)
    return dataclasses.replace(PLAN, orders={**PLAN.orders, "train": (order, PLAN.orders["train"][1])})


def test_all_pass_as_made() -> None:
    found = checks.check_plan(PLAN, ROWS)
    assert [check.name for check in found] == ["each_row_once", "decisions_whole", "budgets", "lane_order", "split_disjoint"]
    assert all(check.passed for check in found)


def test_a_missing_and_a_repeated_row() -> None:
    chunks = PLAN.orders["train"][0].chunks.copy()
    chunks[0] = chunks[1]
    check = checks.each_row_once(with_order(chunks), ROWS)
    assert not check.passed
    assert "train epoch 0" in check.message
    assert "0 rows missing" not in check.message


def test_a_row_that_was_not_selected() -> None:
    fewer = ROWS.take(np.flatnonzero(ROWS.row != ROWS.row[-1]))
    check = checks.each_row_once(PLAN, fewer)
    assert not check.passed
    assert "1 not selected" in check.message


def test_a_cut_decision() -> None:
    border = int(np.flatnonzero(PLAN.chunks.index == 1)[0])
    row = int(np.searchsorted(ROWS.row, PLAN.chunks.first_row[border]))
    steps = ROWS.step_id.copy()
    steps[row] = steps[row - 1]
    check = checks.decisions_whole(PLAN, dataclasses.replace(ROWS, step_id=steps))
    assert not check.passed
    assert f"episode {ROWS.episode_id[row]}" in check.message


@pytest.mark.parametrize("smaller", [{"tbptt_chunk": 3}, {"batch_size": 20}, {"val_batch_size": 20}])
def test_a_budget_not_kept(smaller: dict[str, int]) -> None:
    tighter = dataclasses.replace(PLAN.recipe, work=dataclasses.replace(PLAN.recipe.work, **smaller))
    assert not checks.budgets(dataclasses.replace(PLAN, recipe=tighter)).passed


def test_a_lane_out_of_order() -> None:
    chunks = PLAN.orders["train"][0].chunks[::-1]
    check = checks.lane_order(with_order(chunks))
    assert not check.passed
    assert "is out of order" in check.message


def test_a_lane_twice_in_a_microbatch() -> None:
    order = PLAN.orders["train"][0]
    joined = np.concatenate([order.bounds[:1], order.bounds[-1:]])
    assert not checks.lane_order(with_order(order.chunks, joined)).passed


def test_an_episode_on_both_sides() -> None:
    side = ROWS.validation.copy()
    side[ROWS.episode_id == ROWS.episode_id[~side][0]] = ROWS.side[ROWS.episode_id == ROWS.episode_id[~side][0]] == 1
    check = checks.split_disjoint(PLAN, dataclasses.replace(ROWS, validation=side))
    assert not check.passed
    assert "both sides" in check.message
