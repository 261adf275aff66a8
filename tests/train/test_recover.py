"""A run killed anywhere and started again ends with the same bits; another run is refused by name."""

import copy
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tcg_core.base.digest import sha256_file
from tcg_core.base.errors import IntegrityError
from tcg_core.base.home import Home
from tcg_core.train.board import FILE, events
from tcg_core.train.errors import RecoverRefused
from tcg_core.train.run import train
from tcg_core.train.runs import pointers
from tcg_core.train.runs.contract import EXACT, IDENTITY, refuse_other
from tests.train.toy import toy_home, toy_plan

ROOT = Path(__file__).resolve().parents[2]


def child(home: Home, plan: str, where: str = "never", number: int = 0) -> int:
    """Runs child.py; its exit status (-9: it died as asked)."""
    command = [sys.executable, "-m", "tests.train.child", str(home.root), plan, where, str(number)]
    return subprocess.run(
        command, cwd=ROOT, env=os.environ | {"OMP_NUM_THREADS": "1"}, capture_output=True, check=False
    ).returncode


def fingerprints(home: Home, plan: str) -> dict[str, str]:
    """Hashes of weights and moments behind every pointer."""
    run = home.checkpoints / plan
    found = {}
    for pointer in sorted(run.glob("*.json")):
        if pointer.name not in ("manifest.json", "recorded.json"):
            step = pointers.require(run, pointer.stem)
            found[pointer.stem] = sha256_file(step / "weights.safetensors") + sha256_file(step / "optimizer.safetensors")
    return found


def scalars(home: Home, plan: str) -> list[tuple[str, int, float]]:
    """(tag, step, value) of all scalars but those of the clock and the machine."""
    found = []
    for event in events(home.runs / plan / FILE):
        for value in event.summary.value:
            if value.HasField("simple_value"):
                found.append((value.tag, event.step, value.simple_value))
    return found


def test_killed_anywhere_and_continued_gives_the_same_bits(tmp_path: Path) -> None:
    whole = toy_home(tmp_path / "whole")
    plan = toy_plan(whole)
    assert plan.count(0) > 7
    killed = Home(tmp_path / "killed")
    shutil.copytree(whole.root, killed.root)
    assert child(whole, plan.id) == 0

    assert child(killed, plan.id, "update", 6) == -9
    state = json.loads((pointers.require(killed.checkpoints / plan.id, "latest") / "state.json").read_text())
    assert (state["progress"]["updates"], state["progress"]["microbatch"]) == (3, 3)
    assert (killed.checkpoints / plan.id / "step_00000003" / "memories.safetensors").is_file()
    assert child(killed, plan.id, "point", 2) == -9
    assert child(killed, plan.id, "validate", 2) == -9
    assert child(killed, plan.id) == 0

    assert fingerprints(killed, plan.id) == fingerprints(whole, plan.id)
    assert set(fingerprints(whole, plan.id)) == {"latest", "best", "epoch_0000", "epoch_0001"}
    ignored = ("train/step_time_ms", "sys/", "val/epoch_time_s", "cache_")
    both = [[s for s in scalars(home, plan.id) if not s[0].startswith(ignored)] for home in (killed, whole)]
    assert both[0] == both[1]
    keys = [(tag, step) for tag, step, _ in scalars(killed, plan.id)]
    assert len(keys) == len(set(keys))
    steps = {p["step"] for p in (json.loads(f.read_text()) for f in (whole.checkpoints / plan.id).glob("epoch_*.json"))}
    assert {int(step.name[5:]) for step in (whole.checkpoints / plan.id).glob("step_*")} == steps

    built = train(killed, plan.id, device="cpu")
    assert built.reused
    assert {check.name for check in built.checks} >= {"fp32", "processed_as_planned", "validation_once", "finite", "learned"}
    again = train(killed, plan.id, device="cpu")
    assert again.facts == built.facts


STATE: dict[str, Any] = {
    **dict.fromkeys(IDENTITY, 1),
    "run": "abc",
    "plan": {"id": "abc", "sha256": "00"},
    "arch_config": {"model": {"layers": 2, "ff": 8}},
    "accum_steps": 1,
    "environment": {"mlx": "0.32.4", "blas": "torch", "threads": 1, "device": "cpu", "compile": False, "code": "c"},
}


@pytest.mark.parametrize(
    ("path", "value", "words"),
    [
        (("plan", "sha256"), "11", r"plan\.sha256 is 00, its checkpoint has 11"),
        (("arch_config", "model", "layers"), 3, r"arch_config\.model\.layers is 2, its checkpoint has 3"),
        (("accum_steps",), 4, "accum_steps is 1, its checkpoint has 4"),
        (("cards_digest",), "x", "cards_digest"),
        (("schema_digest",), "x", "schema_digest"),
        (("optimizer_contract",), {"a": 1}, "optimizer_contract"),
        (("scheduler_contract",), {"a": 1}, "scheduler_contract"),
        (("seed",), 99, "seed is 1, its checkpoint has 99"),
        (("split_seed",), 99, "split_seed"),
    ],
)
def test_another_run_is_refused_by_name(path: tuple[str, ...], value: Any, words: str) -> None:
    found = copy.deepcopy(STATE)
    place = found
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    with pytest.raises(RecoverRefused, match=words):
        refuse_other(found, STATE, allow_inexact=True)
    refuse_other(copy.deepcopy(STATE), STATE, allow_inexact=False)


@pytest.mark.parametrize("key", EXACT)
def test_other_bits_are_refused_unless_allowed(key: str) -> None:
    found = copy.deepcopy(STATE)
    found["environment"][key] = "other"
    with pytest.raises(RecoverRefused, match=rf"{key} is .*, its checkpoint was made under other; .*allow-inexact"):
        refuse_other(found, STATE, allow_inexact=False)
    refuse_other(found, STATE, allow_inexact=True)


def test_a_run_that_does_not_name_its_code_is_refused_with_the_remedy() -> None:
    """As runs begun at 0.1.0 were."""
    found = copy.deepcopy(STATE)
    del found["environment"]["code"]
    with pytest.raises(RecoverRefused, match=r"its checkpoint was made before code was recorded; .*--allow-inexact"):
        refuse_other(found, STATE, allow_inexact=False)
    refuse_other(found, STATE, allow_inexact=True)


def test_pointers_are_verified_and_unpointed_steps_go(tmp_path: Path) -> None:
    from tcg_core.base.manifest import Manifest, write_manifest

    for number in (1, 2, 3):
        step = tmp_path / f"step_{number:08d}"
        step.mkdir()
        write_manifest(step, Manifest("checkpoint_step", "x", (), {}, "", {}, {"a": str(number)}))
    pointers.point(tmp_path, "latest", tmp_path / "step_00000002", 2)
    pointers.point(tmp_path, "epoch_0000", tmp_path / "step_00000001", 1)
    assert pointers.follow(tmp_path, "best") is None
    assert pointers.remove_unpointed(tmp_path) == ["step_00000003"]
    write_manifest(tmp_path / "step_00000002", Manifest("checkpoint_step", "x", (), {}, "", {}, {"a": "other"}))
    with pytest.raises(IntegrityError, match=r"latest\.json points to step_00000002 with content"):
        pointers.follow(tmp_path, "latest")
    shutil.rmtree(tmp_path / "step_00000001")
    with pytest.raises(IntegrityError, match=r"epoch_0000\.json points to step_00000001, which is missing"):
        pointers.follow(tmp_path, "epoch_0000")
