"""What a launch of the chain means: the presets of the launchpad and what they refuse."""

from dataclasses import replace
from typing import Any, get_args

import dagster as dg
import pytest

from tcg_assets.assets.launchpad import config_class
from tcg_assets.assets.recipes import Preset
from tcg_assets.assets.training import WorkPlanConfig
from tcg_core.base.home import Home
from tcg_core.nightly.settings import FineTune, Nightly, save_nightly
from tcg_core.plan.errors import ChampionRefused
from tcg_core.recipe import Recipe, Selection
from tests.assets.conftest import Run, failure_of
from tests.assets.fakes import Stages

NIGHTLY = Nightly(recipe=Recipe(Selection(last_n_days=5), epochs=2, seed=7), full_weekday="never", night_budget_hours=0.0)


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
    nested = {**WorkPlanConfig.model_fields, **config_class(FineTune).model_fields}
    nested |= {name: config_class(Selection).model_fields[name] for name in ("unseen_by", "replay")}
    assert [name for name, field in nested.items() if len(field.description or "") < 15] == []
    assert all(f"{preset}:" in (WorkPlanConfig.model_fields["preset"].description or "") for preset in get_args(Preset))


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"preset": "finetune", "recipe": {"epochs": 9}}, "work_plan.recipe is given, but preset finetune takes none"),
        ({"preset": "weekly", "night_budget_hours": 1.0}, "work_plan.night_budget_hours is given, but preset weekly"),
        ({"preset": "nightly", "because": "of me"}, "work_plan.because is given, but preset nightly"),
        ({"preset": "nightly", "device": "cpu"}, "work_plan.device is given, but preset nightly"),
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
