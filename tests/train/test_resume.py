"""A new run that goes on from a finished one: exactly where it was told to, and refused by name where the two do not fit."""

import copy
import dataclasses
import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tcg_core.base.checks import Check
from tcg_core.base.errors import ConfigError, IntegrityError, UnknownId
from tcg_core.base.home import Home
from tcg_core.base.manifest import read_manifest
from tcg_core.catalog import registry
from tcg_core.catalog.errors import ChecksNotPassed
from tcg_core.lineage.walk import walk_back
from tcg_core.plan.build import build_plan
from tcg_core.plan.errors import ResumeRefused
from tcg_core.plan.load import load_plan
from tcg_core.plan.parent import find_parent, refuse_unfit
from tcg_core.plan.plan import Plan
from tcg_core.recipe import Recipe, Resume, Selection
from tcg_core.train.board import FILE, events
from tcg_core.train.run import train
from tcg_core.train.runs import pointers
from tcg_core.train.runs.checkpoint import Payload, read_step
from tcg_core.train.runs.contract import RESUMED, refuse_parent
from tcg_core.train.session import open_session
from tcg_core.train.step import Stepper, flat
from tests.catalog.helpers import users_of
from tests.train.toy import DAYS, RECIPE, toy_home, toy_plan

TOTAL = 400
LONG = dataclasses.replace(RECIPE, schedule=dataclasses.replace(RECIPE.schedule, total_steps=TOTAL), latest_every_updates=4)


@dataclasses.dataclass
class Parent:
    """A finished run of two epochs under a schedule of ``TOTAL`` updates, counted as passed."""

    home: Home
    plan: Plan

    def child(self, **changes: Any) -> Recipe:
        """A recipe of one epoch more that resumes everything, but for ``changes``; those of ``resume`` by name."""
        resume = {"run": self.plan.id, "optimizer_state": "resume", "scheduler_state": "resume"} | changes.pop("resume", {})
        return dataclasses.replace(LONG, epochs=1, resume=Resume(**resume), **changes)

    def state(self) -> dict[str, Any]:
        """``state.json`` of its last checkpoint."""
        step = pointers.require(self.home.checkpoints / self.plan.id, "latest")
        found: dict[str, Any] = json.loads((step / "state.json").read_text())
        return found


def passed(home: Home, plan: Plan) -> Payload:
    """Trains a plan and counts it as passed, since toys need not learn; its last checkpoint."""
    built = train(home, plan.id, device="cpu")
    assert {check.name for check in built.checks if check.blocks} <= {"learned"}
    registry.record_checks(home, "checkpoint", plan.id, [Check("learned", True, "a toy")])
    return read_step(pointers.require(home.checkpoints / plan.id, "latest"))


@pytest.fixture(scope="module")
def parent(tmp_path_factory: pytest.TempPathFactory) -> Parent:
    home = toy_home(tmp_path_factory.mktemp("parent") / "home")
    plan = toy_plan(home, LONG)
    passed(home, plan)
    return Parent(home, plan)


def test_resuming_everything_is_as_if_it_had_never_ended(parent: Parent, tmp_path: Path, monkeypatch: Any) -> None:
    """Two epochs, then one that resumes moments and schedule, in a run interrupted once: the bits of three epochs at once."""
    whole = Home(tmp_path / "whole")
    shutil.copytree(parent.home.root, whole.root)
    expected = passed(whole, toy_plan(whole, dataclasses.replace(LONG, epochs=3)))

    plan = toy_plan(parent.home, parent.child(phase_id="more"))
    apply, calls = Stepper.apply, iter(range(100))

    def interrupted(self: Stepper, *arguments: Any) -> Any:
        if next(calls) == 6:
            raise KeyboardInterrupt
        return apply(self, *arguments)

    monkeypatch.setattr(Stepper, "apply", interrupted)
    with pytest.raises(KeyboardInterrupt):
        train(parent.home, plan.id, device="cpu")
    monkeypatch.undo()
    found = passed(parent.home, plan)

    for arrays in ("weights", "optimizer"):
        for name, value in getattr(expected, arrays).items():
            assert np.array_equal(getattr(found, arrays)[name], value), name
    for key in ("epoch", "gstep", "optimizer_phase_step", "scheduler_phase_step", "scheduler_total_steps", "scheduler_state"):
        assert found.state[key] == expected.state[key], key
    assert found.state["epoch"] == 2
    before = parent.state()
    assert found.state["start_epoch"] == before["epoch"] + 1 == 2
    assert found.state["local_epochs"] == 1
    assert found.state["phase_id"] == "more"
    assert found.state["parent"]["run"] == parent.plan.id
    assert found.state["parent"]["sha256"] == plan.parent.sha256  # type: ignore[union-attr]
    assert found.state["progress"]["best"]["epoch"] == 0, "the best of a run is one of its own epochs"
    assert found.state["scheduler_phase_step"] == before["scheduler_phase_step"] + plan.horizon

    shown = {(v.tag, e.step): v.simple_value for e in events(parent.home.runs / plan.id / FILE) for v in e.summary.value}
    assert shown["train/gstep", 1] == found.state["gstep"]
    assert shown["train/scheduler_phase_step", 1] == before["scheduler_phase_step"] + 1
    assert shown["train/lr", 1] == pytest.approx(shown["train/lr", 2], rel=0.05), "no second warm-up"


def test_reset_takes_the_weights_only_and_another_plan(parent: Parent) -> None:
    work = dataclasses.replace(LONG.work, batch_size=96, accum_steps=2)
    slower = dataclasses.replace(LONG.optimizer, lr=1e-4, max_grad_norm=0.5)
    recipe = parent.child(
        resume={"optimizer_state": "reset", "scheduler_state": "reset", "checkpoint": "epoch_0000"},
        work=work,
        optimizer=slower,
        schedule=RECIPE.schedule,
        selection=Selection(days=DAYS),
    )
    plan = toy_plan(parent.home, recipe)
    from tcg_core.train.data import open_cards

    session = open_session(parent.home, plan, open_cards(parent.home, plan), "cpu", False)
    weights = read_step(pointers.require(parent.home.checkpoints / parent.plan.id, "epoch_0000")).weights
    assert all(np.array_equal(np.array(value), weights[name]) for name, value in flat(session.stepper.net.parameters()).items())
    assert not any(np.array(value).any() for value in session.stepper.state.values())
    assert session.horizon.total == plan.horizon
    assert (session.base.epoch, session.base.optimizer, session.base.scheduler) == (1, 0, 0)
    assert session.base.gstep == parent.plan.updates(0)
    assert session.progress.best is None


@pytest.mark.parametrize(
    ("state", "total_steps", "expected"),
    [("reset", 0, "own"), ("reset", 77, 77), ("resume", 0, TOTAL), ("resume", TOTAL, TOTAL)],
)
def test_whose_horizon_a_run_has(parent: Parent, state: Any, total_steps: int, expected: Any) -> None:
    """That of the recipe, else its own updates; a resumed schedule keeps the parent's. It is what the checkpoint records."""
    schedule = dataclasses.replace(LONG.schedule, total_steps=total_steps)
    plan = toy_plan(parent.home, parent.child(resume={"scheduler_state": state}, schedule=schedule))
    assert plan.parent is not None and plan.parent.scheduler_total_steps == TOTAL != plan.horizon
    from tcg_core.train.data import open_cards

    session = open_session(parent.home, plan, open_cards(parent.home, plan), "cpu", False)
    wanted = plan.horizon if expected == "own" else expected
    assert session.horizon.total == session.contract["scheduler_total_steps"] == wanted
    assert session.contract["scheduler_contract"]["total_steps"] == wanted
    assert session.base.scheduler == (parent.plan.horizon if state == "resume" else 0)


def test_the_parent_is_part_of_the_identity(parent: Parent, tmp_path: Path) -> None:
    latest = toy_plan(parent.home, parent.child())
    earlier = toy_plan(parent.home, parent.child(resume={"checkpoint": "epoch_0000"}))
    assert len({latest.id, earlier.id, toy_plan(parent.home, dataclasses.replace(LONG, epochs=1)).id}) == 3
    manifest = read_manifest(parent.home.plans / latest.id)
    assert ("checkpoint", parent.plan.id) in {(item.kind, item.id) for item in manifest.inputs}
    assert manifest.config["parent"]["sha256"] == latest.parent.sha256  # type: ignore[union-attr]
    assert ("work_plan", latest.id) in users_of(parent.home, "checkpoint", parent.plan.id)
    # Its orders go on too: the first epoch of the child is not the first of the parent again.
    first, again = latest.orders["train"][0].chunks, parent.plan.orders["train"][0].chunks
    assert sorted(first.tolist()) == sorted(again.tolist())
    assert first.tolist() != again.tolist()
    assert load_plan(parent.home, latest.id).parent == latest.parent
    chain = {(node.kind, node.id): node.state for node in walk_back(parent.home, parent.home.plans / latest.id)}
    assert chain["checkpoint", parent.plan.id] == "intact"
    assert chain["work_plan", parent.plan.id] == "intact"


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"model": dataclasses.replace(LONG.model, layers=2)}, r"model\.layers is 2, it has 1"),
        ({"aux": dataclasses.replace(LONG.aux, ko=0.0)}, "aux heads is"),
        ({"optimizer": dataclasses.replace(LONG.optimizer, adamw_beta2=0.99)}, r"optimizer\.adamw_beta2 is 0.99, it has 0.999"),
        ({"split": dataclasses.replace(LONG.split, split_seed=5)}, r"split\.split_seed is 5, it has 20260616"),
        ({"work": dataclasses.replace(LONG.work, accum_steps=2)}, r"accum_steps is 2, it has 1; reset the schedule"),
        ({"optimizer": dataclasses.replace(LONG.optimizer, lr=0.1)}, r"optimizer\.lr is 0.1, it has 0.003; reset the schedule"),
        (
            {"schedule": dataclasses.replace(LONG.schedule, total_steps=401)},
            r"total_steps is 401, it has 400; reset",
        ),
        ({"schedule": dataclasses.replace(LONG.schedule, warmup_steps=5)}, r"schedule\.warmup_steps is 5, it has 4; reset"),
        ({"resume": {"checkpoint": "epoch_0009"}}, "has no checkpoint epoch_0009, it has best, epoch_0000, epoch_0001, latest"),
    ],
)
def test_what_does_not_fit_is_refused_by_name(parent: Parent, changes: dict[str, Any], words: str) -> None:
    before = set(parent.home.plans.iterdir())
    with pytest.raises(ResumeRefused, match=words):
        build_plan(parent.home, parent.child(**changes))
    assert set(parent.home.plans.iterdir()) == before


def test_a_schedule_with_too_few_steps_left_is_refused(parent: Parent) -> None:
    done = parent.plan.horizon
    epochs = TOTAL // parent.plan.updates(0) + 1
    recipe = dataclasses.replace(parent.child(), epochs=epochs)
    with pytest.raises(ResumeRefused, match=rf"makes \d+ updates, its schedule has {TOTAL - done} of {TOTAL} left"):
        build_plan(parent.home, recipe)
    build_plan(parent.home, dataclasses.replace(recipe, resume=dataclasses.replace(recipe.resume, scheduler_state="reset")))


def test_a_parent_must_be_there_whole_and_passed(parent: Parent, tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    shutil.copytree(parent.home.root, home.root)
    with pytest.raises(UnknownId, match="no checkpoint nothing"):
        build_plan(home, parent.child(resume={"run": "nothing"}))
    plan = toy_plan(home, parent.child())
    step = home.checkpoints / parent.plan.id / plan.parent.step  # type: ignore[union-attr]
    shutil.move(step, tmp_path / "away")
    with pytest.raises(IntegrityError, match=r"goes on from .*, which is missing"):
        train(home, plan.id, device="cpu")
    shutil.move(tmp_path / "away", step)
    (step / "optimizer.safetensors").write_bytes(b"")
    with pytest.raises(IntegrityError, match=r"optimizer\.safetensors"):
        train(home, plan.id, device="cpu")
    registry.record_checks(home, "checkpoint", parent.plan.id, [Check("learned", False, "no better than chance")])
    with pytest.raises(ChecksNotPassed, match="no better than chance"):
        build_plan(home, parent.child())
    registry.record_checks(home, "checkpoint", parent.plan.id, [Check("learned", True, "")])
    (home.checkpoints / parent.plan.id / "manifest.json").unlink()
    with pytest.raises(ResumeRefused, match="is not finished"):
        find_parent(home, parent.child())


def test_a_checkpoint_inside_an_epoch_is_refused(parent: Parent) -> None:
    state = parent.state()
    refuse_unfit(parent.child(), state, "run/latest")
    state["progress"]["microbatch"] = 3
    with pytest.raises(ResumeRefused, match="run/latest was written in the middle of epoch 1"):
        refuse_unfit(parent.child(), state, "run/latest")


def test_a_checkpoint_of_another_encoder_is_refused_before_anything_is_planned(parent: Parent) -> None:
    with pytest.raises(ResumeRefused, match=r"run/latest cannot be resumed: encoder schema is \w+, it has other"):
        refuse_unfit(parent.child(), parent.state() | {"schema_digest": "other"}, "run/latest")


@pytest.mark.parametrize("key", [*RESUMED, "accum_steps", "scheduler_contract"])
def test_the_trainer_compares_the_whole_contract(parent: Parent, key: str) -> None:
    state = parent.state()
    wanted = copy.deepcopy(state) | {"parent": {"scheduler_state": "resume"}}
    refuse_parent(state, wanted, "run/latest")
    state[key] = "other"
    with pytest.raises(ResumeRefused, match=f"run/latest cannot be resumed: {key}"):
        refuse_parent(state, wanted, "run/latest")
    if key not in RESUMED:
        refuse_parent(state, wanted | {"parent": {"scheduler_state": "reset"}}, "run/latest")


def test_no_setting_of_resume_is_inert() -> None:
    with pytest.raises(ConfigError, match=r"resume\.scheduler_state is 'resume' without resume\.run"):
        Resume(scheduler_state="resume")
    with pytest.raises(ConfigError, match=r"resume\.checkpoint is 'newest'"):
        Resume(run="a", checkpoint="newest")
