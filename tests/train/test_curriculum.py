"""Phases in order: each goes on from the one before, what is done is not done again, what does not pass stops it."""

import json
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from tcg_assets.cli.main import app
from tcg_core.base.checks import Check
from tcg_core.base.errors import ConfigError, UnknownId
from tcg_core.base.home import VARIABLE, Home
from tcg_core.base.settings import from_dict, read_config, to_dict
from tcg_core.plan import build
from tcg_core.plan.curriculum import DEFAULT, Curriculum, merged, planned_phases
from tcg_core.plan.errors import CurriculumStopped, ResumeRefused
from tcg_core.train import checks
from tcg_core.train.curriculum import run_curriculum
from tcg_core.train.runs import pointers
from tests.train.toy import DAYS, RECIPE

BASE = {k: v for k, v in to_dict(RECIPE).items() if k not in ("selection", "phase_id", "resume")} | {"epochs": 1}
BROAD = {"phase_id": "broad", "selection": {"all_days": True}}
NARROW = {
    "phase_id": "narrow",
    "selection": {"days": list(DAYS)},
    "settings": {"optimizer": {"lr": 1e-4}, "resume": {"optimizer_state": "resume"}},
}


def made(*phases: dict[str, Any], base: dict[str, Any] | None = None) -> Curriculum:
    return from_dict(Curriculum, {"base": BASE if base is None else base, "phases": list(phases)})


def state(home: Home, run: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((pointers.require(home.checkpoints / run, "latest") / "state.json").read_text())
    return found


def test_phases_go_on_in_order_and_what_is_done_is_skipped(toy: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "learned", lambda progress, resumed: Check("learned", True, "a toy"))
    phases = made(BROAD, NARROW)
    (first,) = islice(run_curriculum(toy, phases, "cpu"), 1)
    assert not first.reused
    assert len(list(toy.plans.iterdir())) == 1, "the second phase is not planned before the first has passed"
    # Other days now would be another plan; what was begun is found by its note, not planned again.
    monkeypatch.setattr(build, "build_plan", refusing := Refusing(build.build_plan, {"broad"}))
    again, second = run_curriculum(toy, phases, "cpu")
    assert (again.id, again.reused, second.reused) == (first.id, True, False)
    found = state(toy, second.id)
    assert (found["phase_id"], found["parent"]["run"], found["parent"]["phase_id"]) == ("narrow", first.id, "broad")
    assert (found["start_epoch"], found["epoch"]) == (1, 1)
    assert found["optimizer_phase_step"] == found["gstep"] > found["scheduler_phase_step"]
    assert found["run_config"]["optimizer"]["lr"] == 1e-4
    refusing.names.add("narrow")
    assert [built.reused for built in run_curriculum(toy, phases, "cpu")] == [True, True]
    with pytest.raises(AssertionError, match="planned broad"):
        list(run_curriculum(toy, phases, "cpu", again=True))


def test_a_phase_out_of_time_says_where_it_ended_and_goes_on(toy: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, str(toy.root))
    file = tmp_path / "curriculum.json"
    file.write_text(json.dumps({"base": BASE, "phases": [BROAD]}))
    command = ["curriculum", str(file), "--device", "cpu", "--budget-hours", "1e-9"]
    for update in (1, 2):
        ended = CliRunner().invoke(app, command)
        assert ended.exit_code == 3
        assert f"tcg: unfinished: epoch 1, microbatch {update} of" in ended.stderr
    [run] = toy.checkpoints.iterdir()
    assert state(toy, run.name)["progress"]["updates"] == 2


class Refusing:
    """A stage that must not be asked for some phases."""

    def __init__(self, stage: Any, names: set[str]) -> None:
        self.stage, self.names = stage, names

    def __call__(self, home: Home, recipe: Any, cards_id: Any) -> Any:
        assert recipe.phase_id not in self.names, f"planned {recipe.phase_id}"
        return self.stage(home, recipe, cards_id)


def test_a_phase_that_does_not_pass_stops_it(toy: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "learned", lambda progress, resumed: Check("learned", False, "no better than chance"))
    with pytest.raises(CurriculumStopped, match=r"phase 1 of 2, broad: checkpoint .*: check learned failed: no better"):
        list(run_curriculum(toy, made(BROAD, NARROW), "cpu"))
    assert len(list(toy.plans.iterdir())) == 1


def test_the_next_phase_is_not_planned_before_the_one_before_is_trained(toy: Home) -> None:
    phases = planned_phases(toy, made(BROAD, NARROW))
    assert next(phases).title == "curriculum phase 1 of 2, broad"
    with pytest.raises((UnknownId, ResumeRefused)):
        next(phases)


def test_the_default_asks_for_nothing_a_home_may_lack() -> None:
    assert [phase.phase_id for phase in DEFAULT.phases] == ["broad", "recent"]
    assert from_dict(Curriculum, to_dict(DEFAULT)) == DEFAULT
    assert not any(phase.selection.top_elo or phase.selection.days for phase in DEFAULT.phases)
    assert DEFAULT.recipe(1, "a" * 16).resume.run == "a" * 16


@pytest.mark.parametrize(
    ("phases", "base", "words"),
    [
        ([], {}, "no phases"),
        ([BROAD, BROAD], {}, r"phases\[1\]\.phase_id is 'broad'"),
        ([BROAD | {"phase_id": ""}], {}, r"phases\[0\]\.phase_id is ''"),
        ([BROAD], {"selection": {"all_days": True}}, r"base\.selection"),
        ([BROAD, NARROW | {"settings": {"resume": {"run": "a"}}}], {}, r"phases\[1\]\.settings\.resume\.run"),
        ([BROAD, NARROW | {"settings": {"epoch": 3}}], {}, r"phases\[1\] \(narrow\): unknown key epoch"),
        ([BROAD | {"settings": {"model": {"d_model": 15}}}], {}, r"phases\[0\] \(broad\): model\.d_model 15"),
        ([BROAD | {"settings": {"resume": {"optimizer_state": "resume"}}}], {}, "there is nothing to resume"),
        ([BROAD | {"settings": 3}], {}, r"phases\[0\]\.settings: expected a table"),
        ([{"phase_id": "a", "selection": {}}], {}, "exactly one of days"),
        ([BROAD | {"rows": 3}], {}, r"unknown key phases\[0\]\.rows"),
    ],
)
def test_a_wrong_curriculum_names_phase_and_key(phases: list[Any], base: dict[str, Any], words: str, tmp_path: Path) -> None:
    file = tmp_path / "phases.json"
    file.write_text(json.dumps({"base": base, "phases": phases}))
    with pytest.raises(ConfigError, match=words):
        read_config(file, Curriculum)


def test_the_first_phase_may_go_on_from_a_run(tmp_path: Path) -> None:
    resume = {"run": "abc", "scheduler_state": "resume"}
    phases = made(BROAD | {"settings": {"resume": resume}}, NARROW, base={"resume": {"checkpoint": "best"}})
    assert to_dict(phases.recipe(0, "").resume) == {"checkpoint": "best", "optimizer_state": "reset"} | resume
    later = to_dict(phases.recipe(1, "def").resume)
    assert later == {"run": "def", "checkpoint": "best", "optimizer_state": "resume", "scheduler_state": "reset"}
    alone = made(BROAD, NARROW, base={"resume": {"checkpoint": "best"}})
    assert alone.recipe(0, "").resume.run == ""
    assert merged({"a": {"b": 1, "c": 2}}, {"a": {"b": 3}}) == {"a": {"b": 3, "c": 2}}


def test_the_command(tmp_path: Path, home: Home) -> None:
    result = CliRunner().invoke(app, ["curriculum", str(tmp_path / "nothing.json")])
    assert isinstance(result.exception, ConfigError)
    assert "nothing.json" in str(result.exception)
