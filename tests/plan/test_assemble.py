"""The plan's core on synthetic rows: contract, refusals, packing, speed."""

import dataclasses
import re
import time
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tcg_core.plan.assemble import assemble
from tcg_core.plan.checks import check_plan
from tcg_core.plan.errors import PlanError
from tcg_core.plan.lanes import find_lanes
from tcg_core.plan.plan import Side
from tcg_core.plan.rows import IdentityRows
from tcg_core.plan.split import position, validation_episodes
from tcg_core.recipe import Optimizer, Schedule, Split
from tests.plan.rows import identity, plan_of, recipe


def changed(rows: IdentityRows, name: str, at: Any, value: Any) -> IdentityRows:
    """A copy with one column changed at some rows."""
    column = getattr(rows, name).copy()
    column[at] = value
    return dataclasses.replace(rows, **{name: column})


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    chunk=st.integers(1, 20),
    batch=st.integers(4, 300),
    window=st.integers(1, 5),
    accum=st.integers(1, 4),
)
def test_every_plan_keeps_the_contract(seed: int, chunk: int, batch: int, window: int, accum: int) -> None:
    rows = identity(12, seed, validation=0.3)
    rows = changed(rows, "validation", rows.episode_id == 1000, True)
    rows = changed(rows, "validation", rows.episode_id == 1001, False)
    work = {"tbptt_chunk": chunk, "batch_size": batch, "val_batch_size": batch, "open_row_groups": window, "accum_steps": accum}
    plan = plan_of(rows, recipe(**work))
    assert [check.message for check in check_plan(plan, rows) if not check.passed] == []
    assert plan.horizon == sum(-(-plan.count(epoch) // accum) for epoch in range(2))
    for epoch in range(2):
        batches = plan.microbatches(epoch)
        assert sum(batch.n_rows for batch in batches) == plan.rows["train"]
        assert all(len(set(b.lane.tolist())) == len(b.lane) for b in batches)
        opened = [b for b in batches if b.resets_memory.any()]
        assert sum(int(b.resets_memory.sum()) for b in opened) == int((~plan.lanes.validation).sum())


def test_open_row_groups_are_bounded_and_counted() -> None:
    rows = identity(80, group_rows=200)
    plan = plan_of(rows, recipe(open_row_groups=3, batch_size=60))
    order, group = plan.orders["train"][0], plan.lanes.group[plan.chunks.lane]
    window = int(3 / (1 - rows.validation.mean()))
    assert window == 3
    batch = np.repeat(np.arange(len(order)), np.diff(order.bounds))
    groups = group[order.chunks]
    first, last = {}, {}
    for when, number in zip(batch.tolist(), groups.tolist(), strict=True):
        first.setdefault(number, when)
        last[number] = when
    for when in range(len(order)):
        begun = sum(first[number] <= when <= last[number] for number in first)
        assert begun <= window
    assert order.open_groups.max() <= window


def test_no_tail_of_tiny_microbatches() -> None:
    plan = plan_of(identity(300, decisions=(20, 60), group_rows=2000), recipe(batch_size=256))
    for epoch in range(2):
        sizes = [batch.n_rows for batch in plan.microbatches(epoch)]
        assert sum(sizes) / (len(sizes) * 256) > 0.9
        assert min(sizes) > 256 * 0.4


def test_a_batch_mixes_openings_and_endgames() -> None:
    plan = plan_of(identity(300, decisions=(20, 60), group_rows=1000), recipe(batch_size=256, tbptt_chunk=8))
    middle = plan.microbatches(0)[10:-10]
    mixed = [len(set(plan.chunks.index[batch.chunk].tolist())) for batch in middle]
    assert np.mean(mixed) > 2


def test_epochs_differ_and_a_seed_repeats() -> None:
    rows = identity(40)
    first, second = plan_of(rows, recipe(batch_size=64)), plan_of(rows, recipe(batch_size=64))
    other = plan_of(rows, dataclasses.replace(recipe(batch_size=64), seed=14))
    for epoch in range(2):
        assert np.array_equal(first.orders["train"][epoch].chunks, second.orders["train"][epoch].chunks)
    assert not np.array_equal(first.orders["train"][0].chunks, first.orders["train"][1].chunks)
    assert not np.array_equal(first.orders["train"][0].chunks, other.orders["train"][0].chunks)


def test_ambient_random_state_changes_nothing() -> None:
    rows = identity(20)
    before = plan_of(rows, recipe(batch_size=64))
    np.random.seed(5)
    after = plan_of(rows, recipe(batch_size=64))
    assert np.array_equal(before.orders["train"][0].chunks, after.orders["train"][0].chunks)


def test_a_returning_step_id_names_the_lane() -> None:
    rows = identity(4)
    starts = np.flatnonzero(rows.new_episode)
    lane = slice(starts[2], starts[3])
    steps = rows.step_id[lane]
    bad = changed(rows, "step_id", np.arange(lane.start, lane.stop)[-1], steps[0])
    with pytest.raises(PlanError, match=rf"episode 1001 game 0 side 0: step_id {steps[0]} returns after a gap"):
        find_lanes(bad)


def test_a_decreasing_step_id_is_refused() -> None:
    rows = identity(4)
    bad = changed(rows, "step_id", np.flatnonzero(rows.new_episode)[1] - 1, -5)
    with pytest.raises(PlanError, match="episode 1000 game 0 side 0: step_id -5 comes after"):
        find_lanes(bad)


def test_new_episode_must_agree_with_lane_starts() -> None:
    rows = identity(4)
    start = int(np.flatnonzero(rows.new_episode)[1])
    with pytest.raises(PlanError, match="side 1: new_episode must be set on its first row"):
        find_lanes(changed(rows, "new_episode", start, False))
    with pytest.raises(PlanError, match="side 0: new_episode must be clear after its first row"):
        find_lanes(changed(rows, "new_episode", start - 1, True))


def test_a_lane_in_two_places_is_refused() -> None:
    rows = identity(4)
    with pytest.raises(PlanError, match="episode 1000 game 0 side 0: its rows are in 2 separate places"):
        find_lanes(changed(rows, "episode_id", rows.episode_id == 1002, 1000))


def test_a_lane_over_two_row_groups_is_refused() -> None:
    rows = identity(4)
    with pytest.raises(PlanError, match="episode 1000 game 0 side 0: its rows are not one run inside one row group"):
        find_lanes(changed(rows, "group", 0, 99))


@pytest.mark.parametrize(("validation", "setting"), [(False, "batch_size"), (True, "val_batch_size")])
def test_a_decision_larger_than_the_budget_says_what_would_do(validation: bool, setting: str) -> None:
    rows = identity(6)
    start = int(np.flatnonzero(rows.new_episode & (rows.validation == validation))[0])
    episode = rows.episode_id[start]
    rows = changed(rows, "step_id", np.arange(start, start + 8), rows.step_id[start])
    rows = changed(rows, "step_id", np.arange(start + 8, len(rows)), 1000 + np.arange(len(rows) - start - 8))
    sizes = {"batch_size": 100, "val_batch_size": 100} | {setting: 5}
    with pytest.raises(
        PlanError, match=rf"episode {episode} game 0 side 0: decision 0 has .* {setting} (\d+) would do"
    ) as refused:
        assemble(rows, recipe(**sizes))
    would = re.search(rf"{setting} (\d+) would do", str(refused.value))
    assert would
    assemble(rows, recipe(**(sizes | {setting: int(would[1])})))


@pytest.mark.parametrize("side", [True, False])
def test_an_empty_side_is_an_error(side: bool) -> None:
    rows = identity(4)
    word = "training" if side else "validation"
    with pytest.raises(PlanError, match=f"the {word} side is empty"):
        assemble(changed(rows, "validation", slice(None), side), recipe())


@pytest.mark.parametrize("name", ["tbptt_chunk", "batch_size", "val_batch_size", "accum_steps", "open_row_groups"])
def test_a_setting_below_one_is_refused(name: str) -> None:
    with pytest.raises(PlanError, match=rf"work\.{name} is 0"):
        assemble(identity(4), recipe(**{name: 0}))


@pytest.mark.parametrize("name", ["epochs", "latest_every_updates", "checkpoint_every_epochs"])
def test_a_count_below_one_is_refused(name: str) -> None:
    with pytest.raises(PlanError, match=f"{name} is 0"):
        assemble(identity(4), dataclasses.replace(recipe(), **{name: 0}))  # type: ignore[arg-type]


def test_a_rate_that_cannot_train_is_refused() -> None:
    with pytest.raises(PlanError, match=r"optimizer\.lr is -1"):
        assemble(identity(4), dataclasses.replace(recipe(), optimizer=Optimizer(lr=-1.0)))
    with pytest.raises(PlanError, match="lr_min_ratio 2"):
        assemble(identity(4), dataclasses.replace(recipe(), schedule=Schedule(lr_min_ratio=2.0)))


def test_stateless_counts_are_exact() -> None:
    rows = identity(30, group_rows=100)
    plan = plan_of(rows, recipe(mode="stateless", batch_size=64, val_batch_size=50))
    sides: tuple[tuple[Side, int], ...] = (("train", 64), ("validation", 50))
    for side, size in sides:
        assert plan.count(0, side) == -(-plan.rows[side] // size)
    assert all(check.passed for check in check_plan(plan, rows))
    batch = plan.microbatch(0, 0)
    assert batch.resets_memory.all()
    assert batch.last_of_lane.all()
    assert batch.n_rows == 64


def test_split_follows_content_not_the_days_around_it() -> None:
    contents = {episode: f"{episode:064x}" for episode in range(2000)}
    chosen = validation_episodes(Split(val_frac=0.1), "2026-08-01", contents)
    assert 140 < len(chosen) < 260
    some = {episode: contents[episode] for episode in range(0, 2000, 3)}
    assert validation_episodes(Split(val_frac=0.1), "2026-08-09", some) == chosen & set(some)
    assert chosen < validation_episodes(Split(val_frac=0.3), "2026-08-01", contents)
    assert validation_episodes(Split(val_frac=0.1, split_seed=1), "2026-08-01", contents) != chosen
    assert validation_episodes(Split(val_frac=0.0, holdout_days=("2026-08-01",)), "2026-08-01", contents) == set(contents)
    assert position(1, "a") != position(2, "a")


def test_800_000_rows_in_two_seconds() -> None:
    rows = identity(2800, decisions=(60, 180), validation=0.1, group_rows=4000)
    assert len(rows) > 750_000
    began = time.process_time()
    assemble(rows, recipe())
    assert time.process_time() - began < 2
