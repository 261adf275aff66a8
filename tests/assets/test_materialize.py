"""Jobs run end to end over fake stages: what is recorded, what stops what, which id is handed over."""

import base64
from typing import Any

import dagster as dg
import pytest

from tcg_assets.checks import severity_of
from tcg_core.base.checks import Check
from tcg_core.base.errors import TcgError
from tcg_core.base.home import Home
from tcg_core.catalog import registry
from tests.assets.conftest import Run, failure_of, materialized
from tests.assets.fakes import PNG, Stages, fake_built

DAY = "2026-08-01"
CHAIN = {"ratings", "card_features", "work_plan", "mlx_checkpoint", "torch_artifact", "submission", "tournament", "champion"}


def test_a_good_day_is_promoted_with_its_checks_and_metadata(run: Run, stages: Stages) -> None:
    result = run("ingest_day", partition_key=DAY)
    assert result.success
    assert materialized(result) == {"day_archive", "day_catalog", "staged_day", "parquet_day", "field_drift"}
    checked = {(check.asset_key.to_user_string(), check.check_name) for check in result.get_asset_check_evaluations()}
    assert checked == {(asset, name) for asset in materialized(result) for name in severity_of(asset)}
    metadata = _metadata(result, "parquet_day")
    assert metadata["dagster/partition_row_count"].value == 2
    columns = {column.name: column for column in metadata["columns"].value.columns}
    assert columns["episode_id"].type == "int64"
    assert columns["episode_id"].description == "Kaggle's EpisodeId"
    assert base64.b64encode(PNG).decode() in metadata["plot_curve"].value
    assert len(metadata["content_sha256"].value) == 64


def test_a_failed_blocking_check_of_the_staged_day_holds_promotion_back(run: Run, stages: Stages) -> None:
    stages.failing = "legal_labels"
    result = run("ingest_day", partition_key=DAY)
    assert not result.success
    assert materialized(result) == {"day_archive", "day_catalog", "staged_day"}
    assert not stages.called("promote_day")
    failed = [check.check_name for check in result.get_asset_check_evaluations() if not check.passed]
    assert failed == ["legal_labels"]


def test_a_refusal_is_one_failure_of_one_line(run: Run, stages: Stages) -> None:
    def refuse(home: Home, day: str) -> None:
        raise TcgError(f"inbox/{day}.zip is not a zip archive")

    stages.install("tcg_core.days.take", take_archive=refuse)
    result = run("ingest_day", partition_key=DAY)
    assert failure_of(result) == ("day_archive", f"inbox/{DAY}.zip is not a zip archive")


def test_another_set_of_checks_than_declared_is_an_error(run: Run, stages: Stages) -> None:
    def take(home: Home, day: str) -> Any:
        return fake_built(home, "day_archive", "a", home.archives / day, (Check("surprise", True, "new"),))

    stages.install("tcg_core.days.take", take_archive=take)
    step, line = failure_of(run("ingest_day", partition_key=DAY))
    assert step == "day_archive"
    assert "surprise" in line


def test_the_chain_hands_over_the_ids_made_in_the_run(run: Run, stages: Stages) -> None:
    result = run("nightly", {"tournament": {"games": 10, "opponents": ["first"]}, "submission": {"deck": "mine"}})
    assert result.success, failure_of(result)
    assert materialized(result) == CHAIN
    assert stages.called("build_plan")[0][1] == "card_features-1"
    assert stages.called("convert") == [("work_plan-1", "best")]
    assert stages.called("pack") == [("torch_artifact-1", "mine")]
    assert stages.called("tournament")[0][:4] == ("submission-1", ("first", "heuristic"), 10, 13), "the champion plays too"
    assert stages.called("crown") == [("tournament-1",)]
    assert _metadata(result, "tournament")["submission"].value == "submission-1 (made in this run)"


def test_a_best_of_three_is_asked_for_in_the_launchpad(run: Run, stages: Stages) -> None:
    assert run("nightly", {"tournament": {"best_of": 3, "generation": "v2"}}).success
    [(_, _, asked)] = [call for call in stages.calls if call[0] == "tournament"]
    assert (asked["best_of"], asked["generation"]) == (3, "v2")


def test_the_plan_gets_the_recipe_of_the_launchpad(run: Run, stages: Stages) -> None:
    ops = {"work_plan": {"recipe": {"epochs": 7, "work": {"batch_size": 64}, "selection": {"days": [DAY]}}}}
    assert run("nightly", ops).success
    recipe = stages.called("build_plan")[0][0]
    assert (recipe.epochs, recipe.work.batch_size, recipe.work.tbptt_chunk, recipe.selection.days) == (7, 64, 16, (DAY,))


def test_a_recipe_without_a_selection_means_every_validated_day(run: Run, stages: Stages) -> None:
    assert run("nightly").success
    assert stages.called("build_plan")[0][0].selection.all_days


@pytest.mark.parametrize("recipe", [{"epoch": 3}, {"work": {"mode": "batches"}}, {"optimizer": {"lr": "fast"}}])
def test_an_unknown_key_or_value_is_refused_before_anything_runs(run: Run, stages: Stages, recipe: dict[str, Any]) -> None:
    with pytest.raises(dg.DagsterInvalidConfigError):
        run("nightly", {"work_plan": {"recipe": recipe}})
    assert not stages.calls


def test_a_value_only_the_core_can_refuse_is_a_clear_failure(run: Run, stages: Stages) -> None:
    result = run("nightly", {"work_plan": {"recipe": {"model": {"d_model": 30, "heads": 4}}}})
    assert failure_of(result) == ("work_plan", "recipe: model.d_model 30 is not a multiple of model.heads 4")


@pytest.mark.parametrize(
    ("child", "says"),
    [("crash", "External execution process failed with code -6"), ("refuse", "plan work_plan-1: the cards table is gone")],
)
def test_a_trainer_that_dies_or_refuses_fails_its_step(run: Run, stages: Stages, child: str, says: str) -> None:
    result = run("nightly", child=child)
    step, line = failure_of(result)
    assert step == "mlx_checkpoint"
    assert says in line
    assert not stages.called("convert")


def test_a_policy_that_did_not_learn_is_not_converted(run: Run, stages: Stages) -> None:
    result = run("nightly", child="stupid")
    assert not result.success
    assert "mlx_checkpoint" in materialized(result)
    assert not stages.called("convert")


def test_alone_an_asset_takes_the_launchpads_id_else_the_latest_that_passed(run: Run, stages: Stages, home: Home) -> None:
    assert run("nightly").success
    fake_built(home, "submission", "newer", home.submissions, (Check("plays", True, "fine"),))
    alone = {"asset_selection": [dg.AssetKey("tournament")]}
    latest = run("nightly", **alone)
    assert _metadata(latest, "tournament")["submission"].value == "newer (the latest whose checks passed)"
    named = run("nightly", {"tournament": {"submission_id": "submission-1"}}, **alone)
    assert _metadata(named, "tournament")["submission"].value == "submission-1 (named in the launchpad)"


def test_an_id_whose_checks_failed_is_refused_even_when_named(run: Run, stages: Stages, home: Home) -> None:
    fake_built(home, "submission", "bad", home.submissions, (Check("plays", False, "an exception"),))
    result = run("nightly", {"tournament": {"submission_id": "bad"}}, asset_selection=[dg.AssetKey("tournament")])
    assert failure_of(result) == ("tournament", "submission bad: check plays failed: an exception")
    assert registry.rows_of(home, "submission")[0].id == "bad"
    assert not stages.called("tournament")


def _metadata(result: dg.ExecuteInProcessResult, asset: str) -> Any:
    [event] = [e for e in result.all_events if e.is_step_materialization and e.materialization.asset_key == dg.AssetKey(asset)]
    return event.materialization.metadata
