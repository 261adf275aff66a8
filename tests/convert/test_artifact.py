"""From a real trained run to an artifact: the stage, its checks, and the gate that each kind of damage fails."""

import json
import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tcg_core.base.built import Built
from tcg_core.base.checks import Check
from tcg_core.base.errors import IntegrityError, UnknownId
from tcg_core.base.home import Home
from tcg_core.base.manifest import verify_files
from tcg_core.cards.features import card_features
from tcg_core.catalog import registry
from tcg_core.catalog.errors import ChecksNotPassed
from tcg_core.catalog.registry import HomeRegistrar
from tcg_core.convert import artifact
from tcg_core.convert.artifact import convert
from tcg_core.convert.checks import NAMES
from tcg_core.convert.errors import ConvertError
from tcg_core.convert.reload import main, reload
from tcg_core.days.build import build_day
from tcg_core.days.promote import promote_day
from tcg_core.days.take import add_archive, take_archive
from tcg_core.engine.cards import load_attacks, load_cards
from tcg_core.model.config import ModelConfig
from tcg_core.model.tensors import read_safetensors, safetensors_bytes
from tcg_core.model.torch_load import CONTRACT, REFERENCE, WEIGHTS, load_artifact
from tcg_core.plan.build import build_plan
from tcg_core.recipe import Recipe, Selection, Split, Work
from tcg_core.train.run import train

DAY = "2026-08-15"
GOLDEN = Path(__file__).parents[1] / "golden" / f"{DAY}.zip"


@dataclass(frozen=True)
class Converted:
    """A home with one trained run and its artifact."""

    home: Home
    run: str
    built: Built


@pytest.fixture(scope="module")
def converted(tmp_path_factory: pytest.TempPathFactory) -> Converted:
    """A short run over real games, through the real stages."""
    home = Home(tmp_path_factory.mktemp("convert") / "data").prepare()
    incoming = tmp_path_factory.mktemp("incoming") / GOLDEN.name
    shutil.copy(GOLDEN, incoming)
    add_archive(home, incoming)
    for stage in (take_archive, build_day, promote_day):
        assert stage(home, DAY).passed
    card_features(home, HomeRegistrar(home), {"v1": load_cards("v1")}, {"v1": load_attacks("v1")})
    recipe = Recipe(
        Selection(all_days=True), split=Split(val_frac=0.3), work=Work(batch_size=128, val_batch_size=128, tbptt_chunk=8),
        model=ModelConfig(16, 2, 1, 32, 2), epochs=1,
    )  # fmt: skip
    run = train(home, build_plan(home, recipe).id, device="cpu").id
    with pytest.raises(ChecksNotPassed, match="learned"):  # some dozens of updates teach nothing, and the stage says so
        convert(home, run)
    registry.record_checks(home, "checkpoint", run, [Check("learned", True, "not asked for here")])
    return Converted(home, run, convert(home, run))


def test_artifact_is_whole_and_proven(converted: Converted) -> None:
    built, home = converted.built, converted.home
    assert built.passed
    assert not built.reused
    assert tuple(check.name for check in built.checks) == NAMES
    assert registry.require_passed(home, "torch_artifact", built.id, NAMES) == built.path
    manifest = verify_files(built.path)
    assert [item.kind for item in manifest.inputs] == ["checkpoint", "card_features"]
    assert manifest.inputs[0].id == converted.run
    assert set(manifest.files) == {WEIGHTS, CONTRACT, REFERENCE, "checks.json"}
    parity = built.checks[2].facts
    assert parity["steps"] >= 10
    assert parity["decisions"] >= 20
    assert 0 < parity["legal_logits"] <= 1e-4
    _, tables, contract = load_artifact(built.path)
    assert contract["tolerance"] == 1e-4
    assert contract["generations"] == ["v1"]
    assert contract["origin"]["run"] == converted.run
    step = converted.home.checkpoints / converted.run / contract["origin"]["step"]
    weights = read_safetensors(built.path / WEIGHTS)
    trained = read_safetensors(step / WEIGHTS)
    assert set(weights) == set(trained)
    assert all(array.tobytes() == trained[name].tobytes() for name, array in weights.items())
    assert tables.digest == contract["tables"]


def test_converting_again_reuses(converted: Converted) -> None:
    before = (converted.built.path / "manifest.json").stat().st_mtime_ns
    again = convert(converted.home, converted.run)
    assert (again.id, again.reused, again.passed) == (converted.built.id, True, True)
    assert (converted.built.path / "manifest.json").stat().st_mtime_ns == before


def test_unknown_run_is_refused(converted: Converted) -> None:
    with pytest.raises(UnknownId, match="no checkpoint nowhere"):
        convert(converted.home, "nowhere")


def test_parity_beyond_the_tolerance_is_recorded_and_refused_later(converted: Converted, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(artifact, "TOLERANCE", 1e-12)
    built = convert(converted.home, converted.run)
    assert not built.passed
    assert {check.name for check in built.checks if check.blocks} == {"parity", "reload"}
    with pytest.raises(ChecksNotPassed, match="parity"):
        registry.require_passed(converted.home, "torch_artifact", built.id)
    monkeypatch.undo()
    assert registry.latest_passed(converted.home, "torch_artifact") == converted.built.id


def test_changed_checkpoint_is_refused(converted: Converted, tmp_path: Path) -> None:
    home = Home(tmp_path / "data")
    shutil.copytree(converted.home.root, home.root)
    state = next((home.checkpoints / converted.run).glob("step_*/state.json"))
    state.write_text(state.read_text() + " ")
    with pytest.raises(IntegrityError, match=r"state\.json"):
        convert(home, converted.run)


def damaged(converted: Converted, directory: Path, name: str, change: Any) -> Path:
    """A copy of the artifact with one array of its weights replaced by ``change`` of it."""
    shutil.copytree(converted.built.path, directory)
    arrays = read_safetensors(directory / WEIGHTS)
    arrays[name] = change(arrays[name])
    (directory / WEIGHTS).write_bytes(safetensors_bytes(arrays))
    return directory


def test_gate_runs_in_another_process_with_the_artifact_alone(converted: Converted, tmp_path: Path) -> None:
    alone = tmp_path / "elsewhere"
    shutil.copytree(converted.built.path, alone)
    report = reload(alone)
    assert report["passed"]
    assert report["process"] != os.getpid()
    assert report["framework"] == "torch"
    assert not report["other_framework"]
    assert report["probabilities"] <= 1e-4


def test_gate_fails_for_weights_that_are_not_those_converted(converted: Converted, tmp_path: Path) -> None:
    moved = damaged(converted, tmp_path / "moved", "model.option_hidden.weight", lambda array: array + np.float32(1e-2))
    report = reload(moved)
    assert not report["passed"]
    assert report["difference"] > 1e-4


def test_gate_refuses_what_cannot_be_loaded(converted: Converted, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    half = damaged(converted, tmp_path / "half", "model.card_count", lambda array: array.astype(np.float16))
    with pytest.raises(ConvertError, match="leaf 'card_count' is float16"):
        reload(half)
    assert main([str(half)]) == 2
    assert capsys.readouterr().err.count("\n") == 1
    step = converted.home.checkpoints / converted.run / str(converted.built.facts["step"])
    assert main([str(step)]) == 2
    assert "--reference and --tolerance" in capsys.readouterr().err
    assert main([str(converted.built.path), "--tolerance", "0.01"]) == 2
    assert "looser than" in capsys.readouterr().err


def test_gate_of_the_checkpoint_sees_another_reference(
    converted: Converted, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    step = converted.home.checkpoints / converted.run / str(converted.built.facts["step"])
    arguments = ["--tolerance", "1e-4", "--reference"]
    assert main([str(step), *arguments, str(converted.built.path / REFERENCE)]) == 0
    assert json.loads(capsys.readouterr().out)["framework"] == "mlx"
    arrays = read_safetensors(converted.built.path / REFERENCE)
    arrays["003.memory"] = arrays["003.memory"] + np.float32(1e-3)
    other = tmp_path / REFERENCE
    other.write_bytes(safetensors_bytes(arrays, {"lanes": '["a", "b"]'}))
    assert main([str(step), *arguments, str(other)]) == 1
