"""A curriculum is one run for each phase: queued in order, each once, stopped by a failure, continued by the same launch."""

import logging
from collections.abc import Mapping
from typing import Any

import dagster as dg
import pytest
from dagster._core.test_utils import create_test_daemon_workspace_context
from dagster._core.workspace.load_target import ModuleTarget
from dagster._daemon.sensor import execute_sensor_iteration

from tcg_assets.assets.jobs import CURRICULUM_TAG
from tcg_assets.assets.resources import Workspace
from tcg_assets.automation.curriculum import LAUNCH_TAG, PHASE_TAG, CurriculumConfig, LaunchConfig, curriculum_sensor
from tcg_assets.definitions import defs
from tcg_assets.sync.instance import open_instance
from tcg_core.base.built import Built
from tcg_core.base.errors import IntegrityError
from tcg_core.base.home import Home
from tcg_core.nightly.settings import Nightly, save_nightly
from tcg_core.plan.curriculum import over
from tcg_core.plan.launched import launch, launched_curricula
from tcg_core.recipe import Recipe, Selection
from tests.assets.conftest import CHILD, ROOT, Run, failure_of, materialized
from tests.assets.fakes import Stages, checks_for, fake_built

NIGHTLY = Nightly(recipe=Recipe(Selection(last_n_days=5), epochs=2, seed=7), full_weekday="never", games=6)
PHASES = [
    {"phase_id": "broad", "selection": {"all_days": True}},
    {"phase_id": "late", "selection": {"last_n_days": 3}, "settings": {"optimizer": {"lr": 1e-5}}},
]
LAUNCH = {"launch_phases": {"curriculum": {"phases": PHASES}, "device": "cpu"}}


@pytest.fixture
def planned(stages: Stages, home: Home, monkeypatch: pytest.MonkeyPatch) -> list[Recipe]:
    """Recipes that were planned; a plan is named as its phase. The recipe of the home is NIGHTLY's."""
    made: list[Recipe] = []

    def stored(home: Home, id: str) -> Built:
        return fake_built(home, "work_plan", id, home.plans, checks_for("work_plan", failing=stages.failing), days=1)

    def build(home: Home, recipe: Recipe, cards: str) -> Built:
        made.append(recipe)
        return stored(home, f"plan-{recipe.phase_id}")

    stages.install("tcg_core.plan.build", build_plan=build, stored_plan=stored)
    save_nightly(home, NIGHTLY)
    return made


def tick(instance: dg.DagsterInstance) -> tuple[dg.RunRequest | None, str]:
    """One look of the sensor: the run that it asks for, else the reason."""
    with dg.build_sensor_context(instance=instance, resources={"workspace": Workspace()}, definitions=defs) as context:
        found = curriculum_sensor.evaluate_tick(context)
    requests = found.run_requests or []
    assert len(requests) < 2, "the trainer takes one at a time"
    return (requests[0] if requests else None), found.skip_message or ""


def execute(run: Run, request: dg.RunRequest, **more: Any) -> dg.ExecuteInProcessResult:
    """What the daemon does with a request, in this process."""
    ops: Mapping[str, Any] = {name: step["config"] for name, step in request.run_config["ops"].items()}
    tags = {**request.tags, "dagster/run_key": request.run_key}
    assert request.job_name
    return run(request.job_name, ops, tags=tags, **more)


def asked(instance: dg.DagsterInstance) -> dg.RunRequest:
    request, why = tick(instance)
    assert request is not None, why
    return request


def test_each_phase_is_a_run_of_its_own_and_the_last_one_goes_the_whole_chain(
    run: Run, stages: Stages, home: Home, planned: list[Recipe], instance: dg.DagsterInstance
) -> None:
    assert tick(instance) == (None, "no curriculum is under way")
    assert run("curriculum", LAUNCH).success
    first = asked(instance)
    assert (first.job_name, first.tags[PHASE_TAG]) == ("curriculum_phase", "1")
    assert materialized(execute(run, first)) == {"ratings", "card_features", "work_plan", "mlx_checkpoint"}
    assert [recipe.phase_id for recipe in planned] == ["broad"], "the second phase waits for the first"

    second = asked(instance)
    assert (second.job_name, second.tags[PHASE_TAG]) == ("nightly", "2")
    result = execute(run, second)
    assert "champion" in materialized(result)
    assert planned[1].resume.run == "plan-broad"
    assert [(r.seed, r.epochs, r.optimizer.lr) for r in planned] == [(7, 2, 5e-4), (7, 2, 1e-5)], "over the recipe of the home"
    assert stages.called("convert") == [("plan-late", "best")]
    assert second.run_config["ops"]["tournament"]["config"]["games"] == NIGHTLY.games
    made = instance.fetch_materializations(dg.AssetKey("mlx_checkpoint"), limit=10).records
    assert [r.asset_materialization.metadata["id"].value for r in made if r.asset_materialization] == ["plan-late", "plan-broad"]
    assert tick(instance)[1].startswith(f"curriculum {first.tags[CURRICULUM_TAG]} ended: curriculum phase 2 of 2, late")
    assert tick(instance) == (None, "no curriculum is under way")


def test_a_phase_is_asked_for_once_however_often_the_sensor_looks(
    run: Run, home: Home, planned: list[Recipe], instance: dg.DagsterInstance
) -> None:
    assert run("curriculum", LAUNCH).success
    request = asked(instance)
    assert asked(instance).run_key == request.run_key, "Dagster drops a key that it has seen"
    job = defs.resolve_job_def("curriculum_phase")
    begun = instance.create_run_for_job(job, tags=request.tags, status=dg.DagsterRunStatus.STARTED)
    waiting = f"curriculum phase 1 of 2, broad: run {begun.run_id[:8]} has not ended"
    assert tick(instance) == (None, waiting)
    again = run("curriculum", LAUNCH)
    assert again.success
    assert tick(instance) == (None, waiting), "launched twice is launched once"
    assert [item.launch for item in launched_curricula(home)] == [request.tags[LAUNCH_TAG]]


def test_it_waits_for_a_night_that_is_at_work(run: Run, planned: list[Recipe], instance: dg.DagsterInstance) -> None:
    assert run("curriculum", LAUNCH).success
    night = instance.create_run_for_job(defs.resolve_job_def("nightly"), status=dg.DagsterRunStatus.STARTED)
    assert tick(instance)[1] == f"curriculum phase 1 of 2, broad: waits, run {night.run_id[:8]} of nightly has not ended"
    instance.report_run_canceled(night)
    assert asked(instance).tags[PHASE_TAG] == "1"


def test_a_phase_that_did_not_learn_stops_it_with_its_reason(
    run: Run, planned: list[Recipe], home: Home, instance: dg.DagsterInstance
) -> None:
    assert run("curriculum", LAUNCH).success
    result = execute(run, asked(instance), child="stupid")
    assert not result.success
    why = f"phase 1 of 2, broad: run {result.run_id[:8]} failed: mlx_checkpoint: check learned failed: learned was looked at"
    assert why in tick(instance)[1]
    assert why in tick(instance)[1], "it is said for as long as it is so"
    assert tick(instance)[0] is None
    [stopped] = launched_curricula(home)
    assert (stopped.state, stopped.reason) == ("stopped", f"curriculum {why}")
    assert len(planned) == 1


def test_a_plan_that_does_not_pass_stops_it(
    run: Run, stages: Stages, planned: list[Recipe], instance: dg.DagsterInstance
) -> None:
    assert run("curriculum", LAUNCH).success
    stages.failing = "each_row_once"
    assert failure_of(execute(run, asked(instance)))[0] == "work_plan"
    assert "failed: work_plan: check each_row_once failed" in tick(instance)[1]


def test_a_cancelled_phase_stops_it(run: Run, planned: list[Recipe], instance: dg.DagsterInstance) -> None:
    assert run("curriculum", LAUNCH).success
    job = defs.resolve_job_def("curriculum_phase")
    begun = instance.create_run_for_job(job, tags=asked(instance).tags, status=dg.DagsterRunStatus.STARTED)
    instance.report_run_canceled(begun)
    assert f"run {begun.run_id[:8]} was cancelled; launch `curriculum` again" in tick(instance)[1]


def test_the_same_launch_continues_and_finished_phases_are_reused_as_they_were(
    run: Run, stages: Stages, planned: list[Recipe], home: Home, instance: dg.DagsterInstance
) -> None:
    assert run("curriculum", LAUNCH).success
    assert execute(run, asked(instance)).success
    assert failure_of(execute(run, asked(instance), child="crash"))[0] == "mlx_checkpoint"
    assert "stopped: curriculum phase 2 of 2, late: run " in tick(instance)[1]

    assert run("curriculum", LAUNCH).success
    request = asked(instance)
    assert (request.job_name, request.tags[PHASE_TAG]) == ("nightly", "2"), "the first phase is finished"
    assert execute(run, request).success
    assert [recipe.phase_id for recipe in planned] == ["broad", "late"], "a phase that has a plan is not planned again"
    assert "ended: curriculum phase 2 of 2" in tick(instance)[1]

    assert run("curriculum", LAUNCH).success
    assert execute(run, asked(instance)).success
    assert len(planned) == 2
    assert stages.called("convert") == [("plan-late", "best")] * 2


def test_a_changed_phase_is_another_curriculum_that_keeps_what_is_equal(
    run: Run, planned: list[Recipe], home: Home, instance: dg.DagsterInstance
) -> None:
    assert run("curriculum", LAUNCH).success
    first = asked(instance)
    assert execute(run, first).success
    assert execute(run, asked(instance)).success
    tick(instance)
    other = {"launch_phases": {"curriculum": {"phases": [PHASES[0], PHASES[1] | {"phase_id": "elite"}]}}}
    assert run("curriculum", other).success
    request = asked(instance)
    assert request.tags[PHASE_TAG] == "2" and request.tags[CURRICULUM_TAG] != first.tags[CURRICULUM_TAG]
    assert request.run_config["ops"]["work_plan"]["config"]["recipe"]["resume"]["run"] == "plan-broad"


def test_it_continues_after_the_daemon_and_its_history_are_gone(
    run: Run, planned: list[Recipe], home: Home, instance: dg.DagsterInstance
) -> None:
    assert run("curriculum", LAUNCH).success
    assert execute(run, asked(instance)).success
    with open_instance(home) as fresh:
        request = asked(fresh)
        assert (request.job_name, request.tags[PHASE_TAG]) == ("nightly", "2")
    with open_instance(home) as opened_again:
        assert asked(opened_again).run_key == request.run_key


def test_cards_that_the_launch_names_are_those_of_every_phase(
    run: Run, planned: list[Recipe], home: Home, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    named = {"launch_phases": {**LAUNCH["launch_phases"], "cards_id": "old-cards"}}
    assert "there is no card_features old-cards" in failure_of(run("curriculum", named))[1]
    assert launched_curricula(home) == [], "what is refused is not launched"
    fake_built(home, "card_features", "old-cards", home.cards, checks_for("card_features"))
    assert run("curriculum", named).success
    request = asked(instance)
    # A subset of the job's assets takes its resources from the code location, so the fake trainer comes by the environment.
    monkeypatch.setenv("PYTHONPATH", str(CHILD))
    monkeypatch.setenv("FAKE_TRAINER", "good")
    result = defs.resolve_job_def("curriculum_phase").execute_in_process(
        run_config=request.run_config, instance=instance, tags=request.tags, asset_selection=request.asset_selection
    )
    assert materialized(result) == {"ratings", "work_plan", "mlx_checkpoint"}
    [event] = [e for e in result.all_events if e.is_step_materialization and "card_features" in e.materialization.metadata]
    assert event.materialization.metadata["card_features"].value == "old-cards (named in the launchpad)"


def test_a_succeeded_run_without_its_checkpoint_stops_it(run: Run, planned: list[Recipe], instance: dg.DagsterInstance) -> None:
    assert run("curriculum", LAUNCH).success
    job = defs.resolve_job_def("curriculum_phase")
    instance.create_run_for_job(job, tags=asked(instance).tags, status=dg.DagsterRunStatus.SUCCESS)
    assert "succeeded, but the registry has no checkpoint of it that passed" in tick(instance)[1]


def test_only_a_phase_keeps_its_plan(run: Run, planned: list[Recipe], instance: dg.DagsterInstance) -> None:
    """A night of the same recipe plans anew: days may have been added."""
    recipe = {"selection": {"all_days": True}, "phase_id": "broad"}
    for _ in range(2):
        assert run("nightly", {"work_plan": {"recipe": recipe}}).success
    assert len(planned) == 2


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"phases": [PHASES[0], PHASES[0]]}, "phases[1].phase_id is 'broad'"),
        ({"base": {"epoch": 3}}, "unknown key epoch"),
        ({"phases": []}, "no phases"),
        ({"base": {"selection": {"all_days": True}}}, "base.selection: each phase says its own"),
    ],
)
def test_a_wrong_launch_fails_by_name_and_launches_nothing(
    run: Run, planned: list[Recipe], home: Home, given: dict[str, Any], words: str
) -> None:
    step, line = failure_of(run("curriculum", {"launch_phases": {"curriculum": given}}))
    assert step == "launch_phases"
    assert words in line
    assert launched_curricula(home) == []


def test_a_broken_note_is_named(run: Run, planned: list[Recipe], home: Home) -> None:
    assert run("curriculum", LAUNCH).success
    [note] = (home.curricula / "launched").iterdir()
    note.write_text("{}")
    with pytest.raises(IntegrityError, match=rf"{note.name} is no note of a launched curriculum"):
        launched_curricula(home)


def test_the_launchpad_says_what_each_key_means_and_runs_as_it_is(
    run: Run, planned: list[Recipe], instance: dg.DagsterInstance
) -> None:
    fields = {**CurriculumConfig.model_fields, **LaunchConfig.model_fields}
    assert [name for name, field in fields.items() if len(field.description or "") < 15] == []
    assert run("curriculum").success
    assert asked(instance).run_config["ops"]["work_plan"]["config"]["recipe"]["phase_id"] == "broad"


def test_it_is_on_by_default() -> None:
    assert defs.resolve_sensor_def("curriculum_sensor").default_status is dg.DefaultSensorStatus.RUNNING


@pytest.mark.slow
def test_the_real_daemon_queues_one_run_for_a_phase_and_a_restarted_one_no_second(home: Home) -> None:
    launch(home, over(NIGHTLY.recipe, {"phases": PHASES}), "cpu", "", "a launch")
    place = ModuleTarget("tcg_assets.definitions", None, str(ROOT), "tcg_assets")
    for _ in range(2):
        with open_instance(home) as instance, create_test_daemon_workspace_context(place, instance) as daemon:
            list(execute_sensor_iteration(daemon, logging.getLogger("test"), None, None))
            ticks = instance.all_instigator_state()
            [queued] = instance.get_runs()
            assert (queued.job_name, queued.status) == ("curriculum_phase", dg.DagsterRunStatus.QUEUED)
            assert queued.tags[PHASE_TAG] == "1"
            for state in ticks:
                # As if the interval had passed: the next look is due at once.
                instance.delete_instigator_state(state.instigator_origin_id, state.selector_id)
    assert queued.tags["dagster/run_key"].endswith(":1:a launch")
