"""The nightly run's configuration: what it may say, and the commands that set and show it."""

import json
from dataclasses import replace
from datetime import date
from typing import Any

import pytest
from typer.testing import CliRunner

from tcg_assets.cli.main import app
from tcg_core.base.errors import ConfigError
from tcg_core.base.home import Home
from tcg_core.base.settings import from_dict
from tcg_core.nightly.settings import Nightly as Configured
from tcg_core.nightly.settings import load_nightly, save_nightly
from tcg_core.recipe import Recipe, Selection

RECIPE = Recipe(selection=Selection(all_days=True), epochs=2)


def test_one_night_of_the_week_is_a_full_retrain() -> None:
    sunday, monday = date(2026, 8, 2), date(2026, 8, 3)
    assert [Configured().mode_of(night) for night in (sunday, monday)] == ["full", "finetune"]
    assert Configured(mode="fresh", full_weekday="never").mode_of(sunday) == "fresh"


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"mode": "tune"}, "mode: expected one of finetune, fresh, full, found 'tune'"),
        ({"finetune": {"epoch": 1}}, r"unknown key finetune\.epoch"),
        ({"finetune": {"epochs": 0}}, r"finetune\.epochs is 0, which is too little"),
        ({"finetune": {"lr": 0.0}}, r"finetune\.lr is 0\.0"),
        ({"finetune": {"replay": -0.5}}, r"finetune\.replay is -0\.5"),
        (
            {"recipe": {"selection": {"all_days": True}, "split": {"holdout_days": ["2026-08-01"]}}},
            "holdout_days needs mode fresh",
        ),
        ({"recipe": {"selection": {"all_days": True}, "resume": {"run": "a"}}}, "recipe names a run to go on from"),
        ({"recipe": {"selection": {"all_days": True, "unseen_by": "a"}}}, "recipe names a run to go on from"),
    ],
)
def test_what_no_night_can_mean_is_refused(values: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        from_dict(Configured, values)


def test_the_command_sets_one_key_and_shows_the_rest(home: Home) -> None:
    for key, value in (("mode", "full"), ("finetune.replay", "0.25"), ("recipe.model.d_model", "64")):
        assert CliRunner().invoke(app, ["nightly", "set", key, value]).exit_code == 0
    set_now = load_nightly(home)
    assert (set_now.mode, set_now.finetune.replay, set_now.recipe.model.d_model) == ("full", 0.25, 64)
    assert set_now == replace(
        Configured(),
        mode="full",
        finetune=replace(Configured().finetune, replay=0.25),
        recipe=replace(Configured().recipe, model=replace(Configured().recipe.model, d_model=64)),
    )
    shown = json.loads(CliRunner().invoke(app, ["nightly", "show"]).stdout)
    assert (shown["mode"], shown["finetune"]["lr"], shown["recipe"]["epochs"]) == ("full", 1e-4, 3)
    refused = CliRunner().invoke(app, ["nightly", "set", "finetune.reply", "1"])
    assert isinstance(refused.exception, ConfigError)
    assert load_nightly(home) == set_now


def test_the_command_says_what_a_night_trains(home: Home) -> None:
    said = CliRunner().invoke(app, ["nightly", "tonight", "--date", "2026-08-03"]).stdout.splitlines()
    assert said[0] == (
        "fresh: fresh weights over the last 14 validated days: the champion is the built-in heuristic, which no run made"
    )
    assert said[1].startswith("no run of this network was measured yet")
    assert json.loads("\n".join(said[2:]))["selection"]["last_n_days"] == 14
    sunday = CliRunner().invoke(app, ["nightly", "tonight", "--date", "2026-08-02"]).stdout
    assert sunday.startswith("full: fresh weights over all validated days: Sunday is the night of the full retrain")


def test_the_configuration_is_read_back_as_it_was_written(home: Home) -> None:
    assert load_nightly(home) == Configured()
    other = Configured(at="01:15", zone="Europe/Berlin", recipe=RECIPE, opponents=("first",))
    save_nightly(home, other)
    assert load_nightly(home) == other
    assert other.when.cron == "15 1 * * *"
