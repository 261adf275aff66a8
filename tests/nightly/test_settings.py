"""What fits into the night: the arithmetic, the cut, the refusal."""

import json
from dataclasses import asdict, replace
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from tcg_assets.cli.main import app
from tcg_core.base.atomic import publishing
from tcg_core.base.checks import Check
from tcg_core.base.errors import ConfigError
from tcg_core.base.home import Home
from tcg_core.base.manifest import Manifest, hash_files, read_manifest, write_manifest
from tcg_core.base.settings import from_dict, to_dict
from tcg_core.catalog import registry
from tcg_core.lineage.imported import record
from tcg_core.model.config import ModelConfig
from tcg_core.nightly.settings import Nightly as Configured
from tcg_core.nightly.settings import NightTooShort, fit, load_nightly, measured_rate, save_nightly
from tcg_core.recipe import Recipe, Selection

RECIPE = Recipe(selection=Selection(all_days=True), epochs=2)


@pytest.fixture(autouse=True)
def _days(monkeypatch: pytest.MonkeyPatch) -> None:
    class Day:
        rows = 450_000

    monkeypatch.setattr("tcg_core.catalog.selection.select_days", lambda *arguments: [Day(), Day()])


def _ran(home: Home, rate: float, recipe: Recipe = RECIPE, id: str = "a" * 16, passed: bool = True) -> None:
    directory = home.checkpoints / id
    with publishing(directory) as temporary:
        config: dict[str, Any] = {"recipe": to_dict(recipe)}
        facts = {"rows_per_second": rate}
        write_manifest(temporary, Manifest("checkpoint", id, (), config, "code", {}, hash_files(temporary), facts))
    registry.register(home, read_manifest(directory), directory)
    registry.record_checks(home, "checkpoint", id, [Check("learned", passed, "looked at")])


def test_without_a_measured_rate_or_a_limit_nothing_is_cut(home: Home) -> None:
    assert fit(home, RECIPE, 0.0, "refuse").recipe == RECIPE
    fitted = fit(home, RECIPE, 0.1, "refuse")
    assert (fitted.recipe, fitted.line.split(",")[0]) == (RECIPE, "no run of this network was measured yet")


def test_a_plan_that_fits_stays_as_it_is(home: Home) -> None:
    _ran(home, 500.0)  # 900,000 rows x 2 epochs / 500 rows/s = 3,600 s
    fitted = fit(home, RECIPE, 1.0, "refuse")
    assert fitted.recipe == RECIPE
    assert fitted.line == "900000 rows in 2 epochs at 500 rows/s are 1 h of 1 h"


def test_a_plan_that_does_not_fit_is_cut_or_refused(home: Home) -> None:
    _ran(home, 500.0)
    fitted = fit(home, RECIPE, 0.5, "cut")
    assert fitted.recipe.selection.max_rows == 450_000
    assert fitted.line.endswith(": cut to 450000 rows")
    assert asdict(fitted.recipe) | {"selection": None} == asdict(RECIPE) | {"selection": None}
    with pytest.raises(NightTooShort, match=r"1 h of 0\.5 h; raise night_budget_hours"):
        fit(home, RECIPE, 0.5, "refuse")
    with pytest.raises(NightTooShort):
        fit(home, RECIPE, 1e-4, "cut")


def test_only_a_passed_run_of_the_same_network_tells_the_rate(home: Home) -> None:
    _ran(home, 100.0)
    _ran(home, 200.0, Recipe(selection=Selection(all_days=True), model=ModelConfig(d_model=32, heads=4)), "b" * 16)
    _ran(home, 300.0, RECIPE, "c" * 16, passed=False)
    assert measured_rate(home, RECIPE) == 100.0
    _ran(home, 400.0, Recipe(selection=Selection(last_n_days=3), epochs=9), "d" * 16)
    assert measured_rate(home, RECIPE) == 400.0, "days and epochs do not change the rate"
    _ran(home, 900.0, RECIPE, "e" * 16)
    record(home, "e" * 16, Path("elsewhere"), ())
    assert measured_rate(home, RECIPE) == 400.0, "a run that was brought in tells of another machine"


def test_the_line_says_what_a_cut_of_unseen_days_means(home: Home) -> None:
    recipe = replace(RECIPE, selection=Selection(all_days=True, unseen_by="a" * 16, replay=0.5))
    _ran(home, 500.0)
    fitted = fit(home, recipe, 0.5, "cut")
    assert (fitted.recipe.selection.max_rows, fitted.recipe.selection.replay) == (450_000, 0.5)
    assert fitted.line.endswith(
        "cut to 450000 rows, of which the newest unseen days come first; whole days that do not fit stay unseen"
    )


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
    assert other.cron == "15 1 * * *"
