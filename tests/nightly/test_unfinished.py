"""Which run a night continues, and which ones are abandoned, with the reason."""

import dataclasses
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tcg_core.base.atomic import write_json
from tcg_core.base.checks import Check
from tcg_core.base.errors import ConfigError, IntegrityError
from tcg_core.base.home import VARIABLE, Home
from tcg_core.catalog import registry
from tcg_core.catalog.connection import catalog, transaction
from tcg_core.catalog.datasets import datasets_of, mark
from tcg_core.nightly import unfinished
from tcg_core.plan import again
from tcg_core.plan.again import plan_again
from tcg_core.plan.errors import PlanError
from tcg_core.train.errors import Unfinished
from tcg_core.train.run import train
from tcg_core.train.stop import Stop
from tests.train.test_recover import ROOT
from tests.train.toy import RECIPE, toy_home, toy_plan


def one_update(home: Home, run: str) -> None:
    """A start whose budget is used up at once: it brings the run one update further."""
    with pytest.raises(Unfinished):
        train(home, run, device="cpu", stop=Stop(1e-9))


@pytest.fixture
def begun(toy: Home) -> tuple[Home, str]:
    plan = toy_plan(toy)
    unfinished.begin(toy, plan.id, "2026-08-03", "digest")
    one_update(toy, plan.id)
    return toy, plan.id


@pytest.fixture
def toy(tmp_path: Path) -> Home:
    return toy_home(tmp_path / "home")


def test_a_run_that_was_stopped_goes_on_until_it_has_ended(begun: tuple[Home, str]) -> None:
    home, run = begun
    horizon = json.loads((home.plans / run / "summary.json").read_text())["facts"]["horizon"]
    found = unfinished.find(home)
    assert (found.continued.run, found.continued.digest) == (run, "digest")  # type: ignore[union-attr]
    told = f"after 0 epochs and update 1 of {horizon}"
    assert found.lines == (f"continues run {run}, begun in the night of 2026-08-03, {told}",)
    assert unfinished.lines_of(home) == [
        f"unfinished run {run}, begun in the night of 2026-08-03, {told}: the next night continues it"
    ]
    train(home, run, device="cpu")
    assert unfinished.lines_of(home) == []
    assert unfinished.find(home).continued is None
    assert not list(home.nights.iterdir()), "a run that has ended leaves no note"


def test_a_plan_for_another_trainer_is_not_trained_by_this_one(toy: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    run = toy_plan(toy).id
    real = again.code_version
    monkeypatch.setattr(again, "code_version", lambda asset: "another" if asset == "mlx_checkpoint" else real(asset))
    with pytest.raises(PlanError, match=rf"plan {run} was made by code {real('mlx_checkpoint')}, this is another"):
        plan_again(toy, run)


def test_a_run_that_died_before_its_first_checkpoint_is_begun_again(toy: Home) -> None:
    run = toy_plan(toy).id
    unfinished.begin(toy, run, "2026-08-03", "digest")
    assert "without a checkpoint yet: the next night" in unfinished.lines_of(toy)[0]
    found = unfinished.find(toy)
    assert found.continued is not None and found.continued.run == run
    assert found.lines == (f"continues run {run}, begun in the night of 2026-08-03, without a checkpoint yet",)
    unfinished.begin(toy, run, "2026-08-04", "digest")
    found = unfinished.find(toy)
    assert found.continued is None, "two starts without an update are enough"
    assert "2 starts brought it no further than after 0 epochs and update 0" in found.lines[0]


def test_starts_that_bring_it_no_further_are_counted_and_end_it(begun: tuple[Home, str]) -> None:
    home, run = begun
    for night in ("2026-08-04", "2026-08-05"):
        assert unfinished.find(home).continued is not None
        unfinished.begin(home, run, night, "digest")
    unfinished.told(home, run, "it crashed")
    found = unfinished.find(home)
    assert found.continued is None
    assert "2 starts brought it no further than after 0 epochs and update 1 of" in found.lines[0]
    assert found.lines[0].endswith("; the last: it crashed")
    # A night that plans the same again does not hold up the one after it either.
    unfinished.begin(home, run, "2026-08-06", "digest")
    assert unfinished.find(home).continued is None


def test_a_run_that_needs_many_nights_gets_them(begun: tuple[Home, str]) -> None:
    home, run = begun
    for number in range(4):
        assert unfinished.find(home).continued is not None
        unfinished.begin(home, run, f"2026-08-{4 + number:02d}", "digest")
        one_update(home, run)
    assert unfinished.find(home).place.updates == 5  # type: ignore[union-attr]


def test_a_start_that_met_another_trainer_does_not_count(begun: tuple[Home, str]) -> None:
    home, run = begun
    for _ in range(3):
        unfinished.begin(home, run, "2026-08-04", "digest")
        unfinished.take_back(home, run)
    assert unfinished.find(home).continued is not None


def test_the_one_begun_last_is_continued_and_the_others_are_abandoned(begun: tuple[Home, str]) -> None:
    home, old = begun
    new = toy_plan(home, dataclasses.replace(RECIPE, seed=5)).id
    unfinished.begin(home, new, "2026-08-04", "other")
    one_update(home, new)
    found = unfinished.find(home)
    assert found.continued.run == new  # type: ignore[union-attr]
    assert f"run {old} is abandoned: run {new} was begun after it" in found.lines


def _excluded(home: Home, run: str) -> None:
    with catalog(home) as connection, transaction(connection):
        [row] = datasets_of(connection, "2026-08-01")
        mark(connection, row.day, row.dataset_id, "excluded", "bad games")


def _gone(home: Home, run: str) -> None:
    for path in (home.days / "2026-08-02").rglob("rows.parquet"):
        path.unlink()


def _failed(home: Home, run: str) -> None:
    registry.record_checks(home, "work_plan", run, [Check("budgets", False, "too large")])


def _other_code(home: Home, run: str) -> None:
    path = home.plans / run / "manifest.json"
    write_json(path, json.loads(path.read_text()) | {"code": "0" * 16})


def _other_trainer(home: Home, run: str) -> None:
    [path] = (home.checkpoints / run).glob("step_*/manifest.json")
    write_json(path, json.loads(path.read_text()) | {"code": "0" * 16})


@pytest.mark.parametrize(
    ("harm", "reason"),
    [
        (_excluded, "day 2026-08-01 as it was planned is excluded now"),
        (_gone, "of day 2026-08-02 is missing"),
        (_failed, "check budgets failed"),
        (_other_code, "was made by code 0000000000000000, this is"),
        (_other_trainer, "its checkpoint was made by code 0000000000000000, this is"),
    ],
)
def test_what_cannot_be_continued_is_abandoned_with_its_reason(begun: tuple[Home, str], harm: Any, reason: str) -> None:
    home, run = begun
    harm(home, run)
    found = unfinished.find(home)
    assert found.continued is None
    assert found.lines[0].startswith(f"run {run} is abandoned: ")
    assert reason in found.lines[0]
    assert reason in unfinished.lines_of(home)[0]
    assert unfinished.find(home).lines == (), "it is told once"


def test_a_person_can_abandon_it(begun: tuple[Home, str]) -> None:
    home, run = begun
    unfinished.abandon(home, run, "not wanted")
    assert unfinished.find(home).continued is None
    assert unfinished.lines_of(home)[0].endswith("abandoned: not wanted")
    with pytest.raises(ConfigError, match="no nightly began run nothing"):
        unfinished.abandon(home, "nothing", "why")


def test_a_note_of_an_older_home_is_read(begun: tuple[Home, str]) -> None:
    home, run = begun
    note = home.nights / f"{run}.json"
    values = json.loads(note.read_text())
    assert values.pop("abandoned") == ""
    note.write_text(json.dumps(values | {"given_up": "not wanted"}))
    assert [item.abandoned for item in unfinished.begun_runs(home)] == ["not wanted"]
    assert unfinished.find(home).continued is None


def test_a_note_that_is_none_is_named(begun: tuple[Home, str]) -> None:
    home, run = begun
    (home.nights / f"{run}.json").write_text("{}")
    with pytest.raises(IntegrityError, match=rf"{run}\.json is no note"):
        unfinished.find(home)


def test_a_plan_is_materialized_again_as_it_is_even_when_newer_days_exist(begun: tuple[Home, str]) -> None:
    home, run = begun
    other = toy_plan(home, dataclasses.replace(RECIPE, seed=5)).id
    assert registry.latest_passed(home, "work_plan") == other
    built = plan_again(home, run)
    assert (built.id, built.reused, built.passed, len(built.checks)) == (run, True, True, 6)
    assert registry.latest_passed(home, "work_plan") == run
    _excluded(home, run)
    with pytest.raises(PlanError, match="is excluded now"):
        plan_again(home, run)


def test_the_commands_report_it_and_abandon_it(begun: tuple[Home, str]) -> None:
    home, run = begun
    environment = os.environ | {VARIABLE: str(home.root)}

    def tcg(*arguments: str) -> "subprocess.CompletedProcess[str]":
        command = [sys.executable, "-m", "tcg_assets.cli", *arguments]
        return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)

    line = f"unfinished run {run}, begun in the night of 2026-08-03, after 0 epochs and update 1 of"
    assert f"nightly: {line}" in tcg("status").stdout
    shown = tcg("nightly", "show")
    assert line in shown.stderr
    assert json.loads(shown.stdout)["night_budget_hours"] == 8.0
    assert tcg("nightly", "abandon", run, "--reason", "not wanted").returncode == 0
    assert "abandoned: not wanted" in tcg("nightly", "show").stderr
    refused = tcg("nightly", "abandon", "nothing")
    assert (refused.returncode, refused.stderr) == (2, "tcg: no nightly began run nothing, or it has ended\n")
