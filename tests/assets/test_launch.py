"""Launches in process: recorded for the UI, skipped when current, clear about what failed."""

from collections.abc import Iterator

import dagster as dg
import pytest

from tcg_assets.automation.launch import run_chain, run_day
from tcg_assets.automation.news import News
from tcg_core.base.errors import TcgError
from tcg_core.base.home import Home, NotADay
from tcg_core.recipe import Recipe, Selection
from tests.assets.fakes import Stages

DAY = "2026-08-01"


@pytest.fixture(autouse=True)
def _trainer_of_tests(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    from tests.assets.conftest import CHILD

    monkeypatch.setenv("PYTHONPATH", str(CHILD))
    monkeypatch.setenv("FAKE_TRAINER", "good")
    monkeypatch.setattr("tcg_assets.automation.launch.news", lambda home, recipe: News((DAY,), "0123456789abcdef"))
    yield


def test_a_day_is_a_recorded_run_with_its_partition(instance: dg.DagsterInstance, home: Home, stages: Stages) -> None:
    launched = run_day(instance, home, DAY)
    assert launched.success
    assert launched.failures == ()
    assert list(instance.get_dynamic_partitions("days")) == [DAY]
    run = instance.get_run_by_id(launched.run_id)
    assert run is not None
    assert (run.job_name, run.status, run.tags["dagster/partition"]) == ("ingest_day", dg.DagsterRunStatus.SUCCESS, DAY)
    assert run.tags[".dagster/repository"] == "__repository__@tcg_assets", "the UI files it under the code location"
    assert launched.made["parquet_day"]["id"] == f"parquet_day-{DAY}"


def test_a_failed_day_says_which_step_and_why(instance: dg.DagsterInstance, home: Home, stages: Stages) -> None:
    def refuse(home: Home, day: str) -> None:
        raise TcgError(f"inbox/{day}.zip is not a zip archive")

    stages.install("tcg_core.days.take", take_archive=refuse)
    launched = run_day(instance, home, DAY)
    assert not launched.success
    assert launched.failures == (f"day_archive: inbox/{DAY}.zip is not a zip archive",)


def test_a_failed_check_is_named_in_the_failure(instance: dg.DagsterInstance, home: Home, stages: Stages) -> None:
    stages.failing = "row_coverage"
    [failure] = run_day(instance, home, DAY).failures
    assert failure == f"build_day: check row_coverage of staged_day failed: {DAY}: row_coverage was looked at"


def test_a_name_that_is_no_day_is_refused_before_anything(instance: dg.DagsterInstance, home: Home, stages: Stages) -> None:
    with pytest.raises(NotADay):
        run_day(instance, home, "2026-02-30")
    assert not instance.get_dynamic_partitions("days")
    assert not stages.calls


def test_a_current_day_is_skipped_with_its_reason(
    instance: dg.DagsterInstance, home: Home, stages: Stages, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tcg_assets.automation.launch.why_current", lambda home, day: "it is current")
    launched = run_day(instance, home, DAY)
    assert (launched.success, launched.skipped, launched.run_id) == (True, "it is current", "")
    assert not stages.calls
    assert run_day(instance, home, DAY, again=True).run_id


def test_the_chain_carries_recipe_and_tournament(instance: dg.DagsterInstance, home: Home, stages: Stages) -> None:
    recipe = Recipe(selection=Selection(days=(DAY,)), epochs=2)
    launched = run_chain(instance, home, recipe, opponents=("first",), games=4, workers=1)
    assert launched.success, launched.failures
    assert stages.called("build_plan") == [(recipe, "card_features-1")]
    [played] = [call for call in stages.calls if call[0] == "tournament"]
    assert played[1][1:] == ("submission-1",)
    assert played[2] == {
        "opponents": ("first", "heuristic"),
        "games": 4,
        "seed": 13,
        "workers": 1,
        "nonce": "1",
        "opponent_deck": "sample",
        "best_of": 1,
        "generation": "",
    }
    assert launched.made["mlx_checkpoint"]["device"] == "auto"
    run = instance.get_run_by_id(launched.run_id)
    assert run is not None
    assert run.tags["tcg/training_digest"] == "0123456789abcdef"
