"""What a launch of the chain means: the presets of the launchpad, what they refuse, and a curriculum within one run."""

import re
from dataclasses import replace
from typing import Any, get_args

import dagster as dg
import pytest

from tcg_assets.assets.recipes import Preset
from tcg_assets.assets.training import CurriculumConfig, WorkPlanConfig
from tcg_assets.assets.typed import config_class
from tcg_core.base.built import Built
from tcg_core.base.home import Home
from tcg_core.nightly.settings import FineTune, Nightly, save_nightly
from tcg_core.plan.errors import ChampionRefused
from tcg_core.recipe import Recipe, Selection
from tests.assets.conftest import Run, failure_of, materialized
from tests.assets.fakes import Stages, checks_for, fake_built

NIGHTLY = Nightly(recipe=Recipe(Selection(last_n_days=5), epochs=2, seed=7), full_weekday="never", night_budget_hours=0.0)
PHASES = [
    {"phase_id": "broad", "selection": {"all_days": True}},
    {"phase_id": "late", "selection": {"last_n_days": 3}, "settings": {"optimizer": {"lr": 1e-5}}},
]


def told(result: dg.ExecuteInProcessResult) -> dict[str, Any]:
    """Metadata of the plan as plain values."""
    [event] = [
        e for e in result.all_events if e.is_step_materialization and e.materialization.asset_key == dg.AssetKey("work_plan")
    ]
    return {name: getattr(value, "value", None) for name, value in event.materialization.metadata.items()}


def test_the_night_presets_take_the_recipe_of_the_home(run: Run, stages: Stages, home: Home) -> None:
    save_nightly(home, NIGHTLY)
    rules = {}
    for preset in ("nightly", "finetune", "weekly"):
        result = run("nightly", {"work_plan": {"preset": preset}})
        assert result.success, failure_of(result)
        rules[preset] = told(result)["rule"]
    night, finetune, weekly = (arguments[0] for arguments in stages.called("build_plan"))
    assert night == finetune == NIGHTLY.recipe, "while a baseline reigns a fine-tune starts afresh"
    assert rules["nightly"] == rules["finetune"]
    assert rules["finetune"].endswith("the last 5 validated days: the champion is the built-in heuristic, which no run made")
    assert weekly == replace(NIGHTLY.recipe, selection=Selection(all_days=True))
    assert rules["weekly"].startswith("full: fresh weights over all validated days")


def test_the_rule_of_the_schedule_is_shown_and_stored(run: Run, stages: Stages) -> None:
    recipe = {"selection": {"all_days": True, "unseen_by": "abc", "replay": 0.5}}
    assert told(run("nightly", {"work_plan": {"recipe": recipe, "because": "it is Monday"}}))["rule"] == "it is Monday"
    assert stages.called("build_plan")[0][0].selection == Selection(all_days=True, unseen_by="abc", replay=0.5)


def test_the_launchpad_says_what_each_key_means() -> None:
    nested = {**WorkPlanConfig.model_fields, **config_class(FineTune).model_fields, **CurriculumConfig.model_fields}
    nested |= {name: config_class(Selection).model_fields[name] for name in ("unseen_by", "replay")}
    assert [name for name, field in nested.items() if len(field.description or "") < 15] == []
    assert all(f"{preset}:" in (WorkPlanConfig.model_fields["preset"].description or "") for preset in get_args(Preset))


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"preset": "finetune", "recipe": {"epochs": 9}}, "work_plan.recipe is given, but preset finetune takes none"),
        ({"preset": "weekly", "night_budget_hours": 1.0}, "work_plan.night_budget_hours is given, but preset weekly"),
        ({"preset": "nightly", "because": "of me"}, "work_plan.because is given, but preset nightly"),
        ({"curriculum": {"phases": PHASES}}, "work_plan.curriculum is given, but preset all takes none"),
        ({"device": "cpu"}, "work_plan.device is given, but preset all takes none"),
        ({"preset": "curriculum", "recipe": {"epochs": 9}}, "work_plan.recipe is given, but preset curriculum"),
        ({"preset": "curriculum", "curriculum": {"phases": [PHASES[0], PHASES[0]]}}, "phases[1].phase_id is 'broad'"),
        ({"preset": "curriculum", "curriculum": {"base": {"epoch": 3}}}, "unknown key epoch"),
    ],
)
def test_nothing_given_is_ignored(run: Run, stages: Stages, given: dict[str, Any], words: str) -> None:
    step, line = failure_of(run("nightly", {"work_plan": given}))
    assert step == "work_plan"
    assert words in line
    assert not stages.called("build_plan")


def test_a_champion_that_cannot_be_gone_on_from_fails_the_plan_by_name(
    run: Run, stages: Stages, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*arguments: object) -> None:
        raise ChampionRefused("champion abc cannot be gone on from: model.layers is 2, it has 1; do this")

    monkeypatch.setattr("tcg_core.nightly.tonight.reigning", refuse)
    step, line = failure_of(run("nightly", {"work_plan": {"preset": "finetune"}}))
    assert (step, line) == ("work_plan", "champion abc cannot be gone on from: model.layers is 2, it has 1; do this")
    assert not stages.called("build_plan")


@pytest.fixture
def phased(stages: Stages, monkeypatch: pytest.MonkeyPatch) -> list[Recipe]:
    """Recipes that were planned; a plan is named as its phase."""
    planned: list[Recipe] = []

    def stored(home: Home, id: str) -> Built:
        return fake_built(home, "work_plan", id, home.plans, checks_for("work_plan"), days=1)

    def build(home: Home, recipe: Recipe, cards: str) -> Built:
        planned.append(recipe)
        return stored(home, f"plan-{recipe.phase_id}")

    stages.install("tcg_core.plan.build", build_plan=build, stored_plan=stored)
    return planned


def test_a_curriculum_is_one_run_and_its_last_phase_goes_the_whole_chain(
    run: Run, stages: Stages, home: Home, phased: list[Recipe], instance: dg.DagsterInstance
) -> None:
    save_nightly(home, NIGHTLY)
    ops = {"work_plan": {"preset": "curriculum", "curriculum": {"phases": PHASES}, "device": "cpu"}}
    killed = run("nightly", ops, child="crash")
    assert failure_of(killed)[0] == "work_plan"
    assert [recipe.phase_id for recipe in phased] == ["broad"], "the second phase waits for the first"

    result = run("nightly", ops)
    assert result.success, failure_of(result)
    assert [recipe.phase_id for recipe in phased] == ["broad", "late"], "what was begun is not planned again"
    assert phased[1].resume.run == "plan-broad"
    assert [(r.seed, r.epochs, r.optimizer.lr) for r in phased] == [(7, 2, 5e-4), (7, 2, 1e-5)], "over the recipe of the home"
    assert told(result)["id"] == "plan-late"
    phases = r"curriculum phase 1 of 2, broad: run plan-broad, \d+ s; curriculum phase 2 of 2, late: run plan-late"
    assert re.fullmatch(phases, told(result)["phases"])
    assert stages.called("convert") == [("plan-late", "best")]
    assert "champion" in materialized(result)
    shown = instance.fetch_materializations(dg.AssetKey("mlx_checkpoint"), limit=10).records
    assert [r.asset_materialization.metadata["id"].value for r in shown if r.asset_materialization] == ["plan-late", "plan-broad"]

    again = run("nightly", ops)
    assert again.success
    assert len(phased) == 2
    assert "broad: run plan-broad, done before" in told(again)["phases"]


def test_a_phase_that_did_not_learn_stops_the_curriculum(run: Run, stages: Stages, phased: list[Recipe]) -> None:
    step, line = failure_of(run("nightly", {"work_plan": {"preset": "curriculum"}}, child="stupid"))
    assert step == "work_plan"
    assert line.startswith("curriculum phase 1 of 2, broad: checkpoint plan-broad: check learned failed")
    assert len(phased) == 1
