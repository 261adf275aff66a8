"""A run that is told to end, by its budget or by a signal, ends where a checkpoint holds it and goes on to the same bits."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tcg_core.base.errors import ConfigError
from tcg_core.base.home import Home
from tcg_core.train.errors import Unfinished
from tcg_core.train.run import train
from tcg_core.train.runs import pointers
from tcg_core.train.stop import Stop
from tests.train.test_recover import ROOT, fingerprints
from tests.train.toy import toy_home, toy_plan


class Looked(Stop):
    """A budget that is used up at the ``number``-th look."""

    def __init__(self, number: int) -> None:
        ticks: Iterator[int] = iter(range(10**6))
        super().__init__(number / 3600, lambda: float(next(ticks)))


class Signalled(Stop):
    """Asked to by a signal after ``number`` looks at it."""

    def __init__(self, number: int) -> None:
        self._left = number
        super().__init__()

    @property
    def signalled(self) -> str:
        self._left -= 1
        return "SIGINT" if self._left < 0 else ""

    @signalled.setter
    def signalled(self, value: str) -> None:
        assert not value


def _stopped(home: Home, plan: str, stop: Stop) -> Unfinished:
    with pytest.raises(Unfinished) as ended:
        train(home, plan, device="cpu", stop=stop)
    assert not list((home.checkpoints / plan).glob(".tmp-*"))
    assert not (home.checkpoints / plan / "manifest.json").exists()
    return ended.value


def test_a_budget_is_looked_at_after_each_update_and_the_run_goes_on_to_the_same_bits(tmp_path: Path) -> None:
    whole = toy_home(tmp_path / "whole")
    plan = toy_plan(whole)
    home = Home(tmp_path / "home")
    shutil.copytree(whole.root, home.root)
    expected = train(whole, plan.id, device="cpu")
    count = plan.count(0)

    ended = _stopped(home, plan.id, Looked(2))
    first = f"unfinished: epoch 1, microbatch 2 of {count}, update 2 of {plan.horizon} "
    assert str(ended) == first + "(its budget of 0.000556 h is used up); started again it goes on"
    latest = pointers.require(home.checkpoints / plan.id, "latest")
    assert latest.name == "step_00000002"
    assert (latest / "memories.safetensors").is_file()
    # One that is used up from the start still does one update, so that every night brings the run forward.
    assert _stopped(home, plan.id, Looked(1)).progress["update"] == 3
    # The last update of an epoch: its validation is left to the next start.
    ended = _stopped(home, plan.id, Looked(count - 3))
    assert (ended.progress["microbatch"], ended.progress["epoch"]) == (count, 1)
    assert pointers.require(home.checkpoints / plan.id, "latest").name == f"step_{count:08d}_open"
    # A validation that was begun is done whole; the run ends behind it.
    ended = _stopped(home, plan.id, Looked(1))
    assert (ended.progress["microbatch"], ended.progress["epoch"], ended.progress["update"]) == (0, 2, count)
    step = pointers.require(home.checkpoints / plan.id, "latest")
    assert step.name == f"step_{count:08d}"
    assert pointers.require(home.checkpoints / plan.id, "best") == step
    assert not step.with_name(f"{step.name}_open").exists()

    built = train(home, plan.id, device="cpu")
    assert fingerprints(home, plan.id) == fingerprints(whole, plan.id)
    differing = {name for name, value in built.facts.items() if value != expected.facts[name]}
    assert differing <= {"train_seconds", "rows_per_second", "data_wait_pct"}


def test_a_signal_ends_it_before_the_first_update_and_within_a_validation(tmp_path: Path, toy: Home) -> None:
    plan = toy_plan(toy)
    whole = Home(tmp_path / "whole")
    shutil.copytree(toy.root, whole.root)
    train(whole, plan.id, device="cpu")
    ended = _stopped(toy, plan.id, Signalled(0))
    assert ended.progress["update"] == 0
    assert "(asked to by SIGINT)" in str(ended)
    assert pointers.follow(toy.checkpoints / plan.id, "latest") is None, "there is nothing to save yet"
    # Each update looks twice (before and after it), then each microbatch of the validation once.
    ended = _stopped(toy, plan.id, Signalled(2 * plan.count(0)))
    assert (ended.progress["epoch"], ended.progress["update"]) == (1, plan.count(0))
    assert pointers.require(toy.checkpoints / plan.id, "latest").name.endswith("_open")
    ended = _stopped(toy, plan.id, Signalled(0))
    assert ended.progress["epoch"] == 1, "the validation was begun again and left again"
    train(toy, plan.id, device="cpu")
    assert fingerprints(toy, plan.id) == fingerprints(whole, plan.id)


def test_the_time_of_every_part_of_an_epoch_counts(toy: Home) -> None:
    """The rate by which a night's budget is compared must not forget what was trained before the run was stopped."""
    plan = toy_plan(toy)
    _stopped(toy, plan.id, Looked(plan.count(0) - 2))
    step = pointers.require(toy.checkpoints / plan.id, "latest")
    before = json.loads((step / "state.json").read_text())["progress"]["running"]["seconds"]
    assert before > 0
    train(toy, plan.id, device="cpu")
    state = json.loads((pointers.require(toy.checkpoints / plan.id, "latest") / "state.json").read_text())
    assert state["progress"]["history"][0]["train_seconds"] > before


def test_the_second_signal_acts_at_once_and_afterwards_all_is_as_before() -> None:
    stop, before = Stop(), signal.getsignal(signal.SIGTERM)
    # A shell that starts the tests in the background has them ignore SIGINT.
    inherited = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt), stop.on_signals():
            os.kill(os.getpid(), signal.SIGINT)
            assert (stop.signalled, stop.reason) == ("SIGINT", "asked to by SIGINT")
            os.kill(os.getpid(), signal.SIGINT)
    finally:
        signal.signal(signal.SIGINT, inherited)
    assert signal.getsignal(signal.SIGTERM) == before


def test_a_negative_budget_is_refused() -> None:
    with pytest.raises(ConfigError, match="budget_hours is -1"):
        Stop(-1)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_real_signal_to_a_real_process(tmp_path: Path, number: signal.Signals) -> None:
    home = toy_home(tmp_path / "home")
    plan = toy_plan(home)
    command = [
        sys.executable,
        "-m",
        "tcg_core.train",
        plan.id,
        "--home",
        str(home.root),
        "--device",
        "cpu",
        "--latest-every",
        "1",
    ]
    process = subprocess.Popen(
        command, cwd=ROOT, env=os.environ | {"OMP_NUM_THREADS": "1"}, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    latest = home.checkpoints / plan.id / "latest.json"
    until = time.monotonic() + 60
    while not latest.exists() and process.poll() is None and time.monotonic() < until:
        time.sleep(0.01)
    process.send_signal(number)
    said, error = process.communicate(timeout=60)
    assert process.returncode == 3, error
    assert said == ""
    line = error.strip().splitlines()[-1]
    assert line.startswith("unfinished: epoch ") and f"(asked to by {number.name})" in line
    state = json.loads((pointers.require(latest.parent, "latest") / "state.json").read_text())
    assert f"update {state['progress']['updates']} of {plan.horizon}" in line
    assert not list(home.root.rglob(".tmp-*"))
    assert not (home.spill / plan.id).exists()


def test_the_budget_of_a_real_process(tmp_path: Path) -> None:
    home = toy_home(tmp_path / "home")
    plan = toy_plan(home)
    command = [sys.executable, "-m", "tcg_core.train", plan.id, "--home", str(home.root), "--device", "cpu"]
    ended = subprocess.run(
        [*command, "--budget-hours", "1e-7"],
        cwd=ROOT,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 3, ended.stderr
    assert "update 1 of" in ended.stderr
    assert pointers.require(home.checkpoints / plan.id, "latest").name == "step_00000001"
