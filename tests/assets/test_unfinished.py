"""Nights whose training did not end: what the run page says, what is noted, and which run the next night continues."""

import json
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import dagster as dg
import pytest
from dagster._core.definitions.schedule_definition import ScheduleExecutionData

from tcg_assets.assets.jobs import DIGEST_TAG, NIGHT_TAG
from tcg_assets.assets.resources import Workspace
from tcg_assets.automation.alerts import incidents_of
from tcg_assets.automation.nightly import nightly_schedule
from tcg_assets.definitions import defs
from tcg_assets.sync.instance import open_instance
from tcg_core.base.home import VARIABLE, Home
from tcg_core.days.build import build_day
from tcg_core.days.promote import promote_day
from tcg_core.days.take import take_archive
from tcg_core.model.config import ModelConfig
from tcg_core.nightly import unfinished
from tcg_core.nightly.settings import Nightly, save_nightly
from tcg_core.recipe import Optimizer, Recipe, Schedule, Selection, Split, Work
from tcg_core.replay.record_day import record_day
from tcg_core.train.runs import pointers
from tests.assets.conftest import QUIET, ROOT, Run, failure_of, materialized
from tests.assets.fakes import Stages
from tests.train.test_recover import child, fingerprints

NIGHT = {NIGHT_TAG: "2026-08-03", DIGEST_TAG: "digest"}
LINE = "unfinished: epoch 1, microbatch 2 of 9, update 2 of 27 (its budget of 8 h is used up); started again it goes on"


def _notes(home: Home) -> list[unfinished.Begun]:
    return unfinished.begun_runs(home)


def test_a_run_out_of_time_fails_its_step_in_one_line_and_nothing_is_made_of_it(
    run: Run, stages: Stages, instance: dg.DagsterInstance, home: Home
) -> None:
    result = run("nightly", {"mlx_checkpoint": {"budget_hours": 8.0}}, child="unfinished", tags=NIGHT)
    assert failure_of(result) == ("mlx_checkpoint", LINE)
    assert "mlx_checkpoint" not in materialized(result)
    assert not stages.called("convert")
    [event] = [event for event in result.all_events if event.is_step_failure]
    assert event.step_failure_data.user_failure_data.metadata["outcome"].value == "unfinished"  # type: ignore[union-attr]
    assert event.step_failure_data.user_failure_data.metadata["update"].value == 2  # type: ignore[union-attr]
    [note] = _notes(home)
    assert (note.run, note.digest, note.last, note.starts[0].night) == ("work_plan-1", "digest", LINE, "2026-08-03")
    [told] = incidents_of(instance, instance.get_run_by_id(result.run_id), "failed")  # type: ignore[arg-type]
    assert (told.what, told.first.split(":")[0]) == (LINE, "nothing")


def test_only_what_a_night_began_is_noted_and_what_ended_is_forgotten(run: Run, stages: Stages, home: Home) -> None:
    run("nightly", child="unfinished")
    assert not _notes(home)
    run("nightly", child="crash", tags=NIGHT)
    assert "External execution process failed" in _notes(home)[0].last
    assert run("nightly", tags=NIGHT).success
    assert not _notes(home)


@pytest.mark.parametrize(("how", "abandoned"), [("inexact", "cannot be recovered exactly"), ("refuse", ""), ("busy", None)])
def test_a_refused_recovery_is_abandoned_another_refusal_is_not(
    run: Run, stages: Stages, home: Home, how: str, abandoned: str | None
) -> None:
    assert not run("nightly", child=how, tags=NIGHT).success
    if abandoned is None:
        assert not _notes(home), "the trainer never got to it"
    else:
        [note] = _notes(home)
        assert bool(note.abandoned) == bool(abandoned) and abandoned in note.abandoned


def test_a_plan_to_go_on_with_takes_no_other_key(run: Run, stages: Stages) -> None:
    result = run("nightly", {"work_plan": {"plan_id": "work_plan-1", "recipe": {"epochs": 2}}})
    step, line = failure_of(result)
    assert step == "work_plan"
    assert "leave the other keys out" in line
    assert not stages.called("build_plan")


RECIPE = Recipe(
    selection=Selection(all_days=True),
    split=Split(val_frac=0.3),
    work=Work(tbptt_chunk=8, batch_size=128),
    model=ModelConfig(d_model=32, heads=4, layers=1, ff=64, registers=4),
    optimizer=Optimizer(lr=5e-3),
    schedule=Schedule(warmup_steps=3),
    epochs=6,
)
TRAINING = [dg.AssetKey(key) for key in ("card_features", "work_plan", "mlx_checkpoint", "torch_artifact")]


@pytest.fixture
def real(tmp_path: Path) -> Iterator[Home]:
    """A home with one validated day, and the budget of a night that is over at once."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(VARIABLE, str(tmp_path / "home"))
        home = Home.resolve().prepare()
        _day(home, "2026-08-01", 24)
        save_nightly(home, Nightly(recipe=RECIPE, night_budget_hours=1e-7, device="cpu", full_weekday="never"))
        yield home


def _day(home: Home, day: str, episodes: int) -> None:
    record_day(home, day, episodes)
    take_archive(home, day)
    assert build_day(home, day).passed
    assert promote_day(home, day).passed


def _tick(instance: dg.DagsterInstance, night: int) -> ScheduleExecutionData:
    at = datetime(2026, 8, night, 3, tzinfo=UTC)
    built = dg.build_schedule_context(instance=instance, scheduled_execution_time=at, resources={"workspace": Workspace()})
    with built as context:
        return nightly_schedule.evaluate_tick(context)


def _night(instance: dg.DagsterInstance, night: int) -> tuple[dg.RunRequest, dg.ExecuteInProcessResult]:
    """What the daemon does in a night, up to the artifact: evaluates the tick and executes the run it asks for."""
    [request] = _tick(instance, night).run_requests or []
    chosen = {key.to_user_string() for key in TRAINING}
    ops = {name: values for name, values in request.run_config["ops"].items() if name in chosen}
    result = defs.resolve_job_def("nightly").execute_in_process(
        run_config={"ops": ops} | QUIET, instance=instance, tags=request.tags, asset_selection=TRAINING, raise_on_error=False
    )
    return request, result


def test_a_night_that_ran_out_of_time_is_finished_by_the_next_ones_to_the_same_bits(real: Home, tmp_path: Path) -> None:
    with open_instance(real) as instance:
        first, ended = _night(instance, 3)
        step, line = failure_of(ended)
        assert step == "mlx_checkpoint"
        assert line.startswith("unfinished: epoch 1, microbatch 1 of ") and "its budget of 1e-07 h is used up" in line
        assert materialized(ended) == {"card_features", "work_plan"}
        [plan] = real.checkpoints.iterdir()
        assert pointers.require(plan, "latest").name == "step_00000001"
        whole = Home(tmp_path / "whole")
        shutil.copytree(real.root, whole.root)
        shutil.rmtree(whole.checkpoints / plan.name)

        # A newer day does not draw the night away from what was begun.
        _day(real, "2026-08-02", 4)
        second, ended = _night(instance, 4)
        assert second.run_config["ops"]["work_plan"]["config"] == {"plan_id": plan.name}
        assert second.tags[DIGEST_TAG] == first.tags[DIGEST_TAG]
        assert "update 2 of " in failure_of(ended)[1]

        save_nightly(real, Nightly(recipe=RECIPE, night_budget_hours=0.0, device="cpu", full_weekday="never"))
        _, ended = _night(instance, 5)
        assert ended.success, failure_of(ended)
        assert materialized(ended) == {key.to_user_string() for key in TRAINING}
        assert child(whole, plan.name) == 0
        assert fingerprints(real, plan.name) == fingerprints(whole, plan.name)
        assert not _notes(real)

        # Its digest was that of its own days: the newer one is still new.
        [request] = _tick(instance, 6).run_requests or []
        assert request.tags[DIGEST_TAG] != first.tags[DIGEST_TAG]
        assert "plan_id" not in request.run_config["ops"]["work_plan"]["config"]


def test_a_cancelled_night_saves_frees_its_slot_and_goes_on(real: Home) -> None:
    """A cancelled run is marked, its process gets SIGINT, and Dagster's client passes that on to the trainer."""
    save_nightly(real, Nightly(recipe=RECIPE, night_budget_hours=0.0, device="cpu", full_weekday="never"))
    code = (
        "from tcg_assets.sync.instance import open_instance\n"
        "from tcg_core.base.home import Home\n"
        "from tests.assets.test_unfinished import _night\n"
        "with open_instance(Home.resolve()) as instance:\n"
        "    _night(instance, 3)\n"
    )
    process = subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, stderr=subprocess.PIPE, text=True)
    until = time.monotonic() + 120
    while not list(real.runs.glob("*/events*")) and process.poll() is None and time.monotonic() < until:
        time.sleep(0.02)
    [directory] = real.checkpoints.iterdir()
    with open_instance(real) as instance:
        instance.report_run_canceling(instance.get_runs(dg.RunsFilter(job_name="nightly"))[0])
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert "(asked to by SIGINT); started again it goes on" in said, said[-2000:]
    with open_instance(real) as instance:
        [run] = instance.get_runs(dg.RunsFilter(job_name="nightly"))
        assert run.status is dg.DagsterRunStatus.CANCELED
        assert not instance.event_log_storage.get_concurrency_info("trainer").claimed_slots
    assert not list(real.root.rglob(".tmp-*"))
    [note] = _notes(real)
    assert (note.run, note.abandoned) == (directory.name, "")
    latest = pointers.follow(directory, "latest")
    if latest is not None:
        state = json.loads((latest / "state.json").read_text())
        assert state["progress"]["updates"] > 0
        assert unfinished.find(real).continued is not None
