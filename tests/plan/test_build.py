"""The stage on real recorded days: identity, storage, refusals."""

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest

from tcg_core.base.errors import IntegrityError, UnknownId
from tcg_core.base.home import Home
from tcg_core.catalog import registry
from tcg_core.catalog.connection import catalog
from tcg_core.catalog.errors import SelectionEmpty
from tcg_core.plan.build import build_plan
from tcg_core.plan.errors import PlanError
from tcg_core.plan.load import load_plan
from tcg_core.recipe import Selection, Split
from tcg_core.rows.reader import DayReader
from tests.train.toy import DAYS, RECIPE, toy_home


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return toy_home(tmp_path / "home")


def test_a_plan_is_stored_registered_and_reused(home: Home) -> None:
    first = build_plan(home, RECIPE)
    assert first.passed
    assert not first.reused
    again = build_plan(home, RECIPE)
    assert again.reused
    assert again.id == first.id
    assert again.facts == first.facts
    assert registry.latest_passed(home, "work_plan") == first.id
    assert first.plots["microbatches"].stat().st_size < 50_000
    names = {"lanes.parquet", "chunks.parquet", "slots.parquet", "microbatches.parquet", "summary.json", "manifest.json"}
    assert names <= {file.name for file in first.path.iterdir()}


def test_a_loaded_plan_says_what_the_days_hold(home: Home) -> None:
    plan = load_plan(home, build_plan(home, RECIPE).id)
    for number, day in enumerate(plan.days):
        columns = DayReader(home.root / day.path).read(("episode_id", "side", "step_id"))
        mine = plan.lanes.day == number
        assert plan.lanes.rows[mine].sum() == columns.rows
        at = plan.lanes.first_row[mine] - day.first_row
        assert np.array_equal(columns["episode_id"][at], plan.lanes.episode_id[mine])
        assert np.array_equal(columns["side"][at], plan.lanes.side[mine])
    assert plan.recipe == RECIPE
    assert plan.horizon == plan.summary["facts"]["horizon"]


def test_every_part_of_the_recipe_is_another_plan(home: Home) -> None:
    ids = {
        build_plan(home, recipe).id
        for recipe in (
            RECIPE,
            dataclasses.replace(RECIPE, seed=14),
            dataclasses.replace(RECIPE, epochs=1),
            dataclasses.replace(RECIPE, optimizer=dataclasses.replace(RECIPE.optimizer, lr=1e-3)),
            dataclasses.replace(RECIPE, selection=Selection(days=DAYS)),
            dataclasses.replace(RECIPE, work=dataclasses.replace(RECIPE.work, mode="stateless")),
        )
    }
    assert len(ids) == 6


def test_caps_keep_whole_episodes(home: Home) -> None:
    recipe = dataclasses.replace(RECIPE, selection=Selection(all_days=True, max_rows=500))
    plan = load_plan(home, build_plan(home, recipe).id)
    assert 0 < int(plan.lanes.rows.sum()) <= 500
    with catalog(home) as connection:
        rows = {row["episode_id"]: row["rows"] for row in connection.execute("SELECT episode_id, rows FROM episodes")}
    for episode in np.unique(plan.lanes.episode_id):
        assert plan.lanes.rows[plan.lanes.episode_id == episode].sum() == rows[int(episode)]


def test_holdout_days_are_validation_whole(home: Home) -> None:
    recipe = dataclasses.replace(RECIPE, split=Split(val_frac=0.0, holdout_days=DAYS[1:]))
    plan = load_plan(home, build_plan(home, recipe).id)
    assert np.array_equal(plan.lanes.validation.astype(bool), plan.lanes.day == 1)


@pytest.mark.parametrize(
    ("changes", "error", "words"),
    [
        ({"split": Split(val_frac=0.0)}, PlanError, "the validation side is empty"),
        ({"split": Split(val_frac=1.0)}, PlanError, "the training side is empty"),
        ({"split": Split(holdout_days=("2026-09-09",))}, PlanError, "2026-09-09 is not among the selected days"),
        ({"generations": ("v2",)}, SelectionEmpty, "v2"),
        ({"selection": Selection(days=("2026-09-09",))}, UnknownId, "2026-09-09"),
    ],
)
def test_refusals_leave_nothing(home: Home, changes: dict[str, object], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        build_plan(home, dataclasses.replace(RECIPE, **changes))  # type: ignore[arg-type]
    assert not home.plans.exists() or not list(home.plans.iterdir())


def test_a_damaged_plan_is_refused_by_file(home: Home) -> None:
    built = build_plan(home, RECIPE)
    summary = built.path / "summary.json"
    summary.write_text(json.dumps(json.loads(summary.read_text()) | {"cards": "other"}))
    with pytest.raises(IntegrityError, match=r"summary\.json"):
        load_plan(home, built.id)
    with pytest.raises(UnknownId, match="no work plan nothing"):
        load_plan(home, "nothing")
