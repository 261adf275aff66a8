"""`tcg train --dry-run`: the size of the work as planned, a rate that is known or measured, and nothing written."""

from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tcg_assets.cli.main import app
from tcg_core.base.checks import Check
from tcg_core.base.home import Home
from tcg_core.catalog import registry
from tcg_core.plan.load import load_plan
from tcg_core.recipe import Work
from tcg_core.train.estimate import VALIDATION_SHARE, estimate
from tests.train.toy import RECIPE, toy_home, toy_plan
from tests.train.trained import trained


def files(home: Home) -> set[Path]:
    return {path for path in home.root.rglob("*") if "catalog.sqlite" not in path.name}


def test_a_fresh_plan_is_measured_and_nothing_is_written(tmp_path: Path) -> None:
    home = toy_home(tmp_path / "home")
    plan = toy_plan(home)
    before = files(home)
    found = estimate(home, plan.id, "cpu")
    assert files(home) == before
    assert found.updates_done == 0 and "measured now" in found.rate.source and found.rate.rows > 0
    work = plan.recipe.epochs * (plan.rows["train"] + VALIDATION_SHARE * plan.rows["validation"])
    assert found.seconds == pytest.approx(work / found.rate.rows)
    assert sum(found.parameters.values()) > 0 and set(found.parameters) == {"muon", "adamw"}


def test_the_rate_is_that_of_the_last_run_like_it_and_a_finished_run_has_nothing_left() -> None:
    home, run = trained()
    registry.record_checks(home, "checkpoint", run, (Check("toy", True, "for this test"),))
    (row,) = (row for row in registry.rows_of(home, "checkpoint") if row.id == run)
    found = estimate(home, run, "cpu")
    assert found.rate.rows == row.facts["rows_per_second"] and run in found.rate.source
    assert found.updates_done == found.plan.horizon and found.seconds == 0
    other = toy_plan(home, replace(RECIPE, work=Work(batch_size=32, val_batch_size=128, tbptt_chunk=4)))
    assert "measured now" in estimate(home, other.id, "cpu").rate.source


def test_the_command_prints_plan_cost_and_time(monkeypatch: pytest.MonkeyPatch) -> None:
    home, run = trained()
    monkeypatch.setenv("TCG_DATA", str(home.root))
    done = CliRunner().invoke(app, ["train", run, "--dry-run", "--device", "cpu"])
    assert done.exit_code == 0, done.output
    plan = load_plan(home, run)
    sizes = f"train: {plan.rows['train']} rows", f"updates: {plan.horizon} in 2 epochs"
    for words in (f"plan {run}", *sizes, "parameters: ", "rows/s"):
        assert words in done.output
    assert '"tbptt_chunk": 8' in done.output and "the run is finished" in done.output
