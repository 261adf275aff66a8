"""``resume PATH``: what a path means, and a run of another data home imported whole."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tcg_core.base.atomic import write_json
from tcg_core.base.checks import Check
from tcg_core.base.errors import ConfigError, IntegrityError, TcgError, UnknownId
from tcg_core.base.home import Home
from tcg_core.base.manifest import read_manifest
from tcg_core.base.settings import to_dict
from tcg_core.catalog import registry
from tcg_core.catalog.errors import ChecksNotPassed
from tcg_core.days.build import build_day
from tcg_core.days.promote import promote_day
from tcg_core.days.take import take_archive
from tcg_core.lineage.walk import walk_back
from tcg_core.plan.build import build_plan
from tcg_core.plan.errors import ResumeRefused
from tcg_core.plan.load import load_plan
from tcg_core.recipe import Resume, Selection
from tcg_core.replay.record_day import record_day
from tcg_core.train.errors import BringRefused
from tcg_core.train.run import train
from tcg_core.train.runs import bring_in as bringing
from tcg_core.train.runs import pointers
from tcg_core.train.runs.bring_in import bring_in
from tcg_core.train.runs.resume_path import locate, resumed, take
from tests.train.test_recover import ROOT
from tests.train.test_resume import Parent, passed
from tests.train.toy import RECIPE, toy_home, toy_plan


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Parent:
    """A home with a finished run that passed and one that goes on from it; only to be read."""
    home = toy_home(tmp_path_factory.mktemp("source") / "home")
    plan = toy_plan(home)
    passed(home, plan)
    return Parent(home, plan)


@pytest.fixture
def source(finished: Parent, tmp_path: Path) -> Home:
    shutil.copytree(finished.home.root, tmp_path / "source")
    return Home(tmp_path / "source")


@pytest.fixture
def empty(tmp_path: Path) -> Home:
    """Another home, which knows nothing of the run but has a day of its own."""
    home = Home(tmp_path / "other").prepare()
    record_day(home, "2026-09-01", 8)
    take_archive(home, "2026-09-01")
    assert build_day(home, "2026-09-01").passed
    assert promote_day(home, "2026-09-01").passed
    return home


def test_a_path_means_a_run_and_a_checkpoint_of_it(finished: Parent, tmp_path: Path) -> None:
    run = finished.home.checkpoints / finished.plan.id
    first = pointers.require(run, "epoch_0000")
    for path, checkpoint in ((run, "latest"), (run / "best.json", "best"), (first, first.name)):
        found = locate(path)
        assert (found.home.root, found.run, found.checkpoint) == (finished.home.root.resolve(), run.name, checkpoint)
    (tmp_path / "link").symlink_to(first)
    assert locate(tmp_path / "link").checkpoint == first.name
    for wrong in (run / "manifest.json", run / "curves.png", run / "step_00009999", finished.home.plans / run.name, tmp_path):
        with pytest.raises(UnknownId, match="is no checkpoint"):
            locate(wrong)


def test_what_cannot_be_resumed_says_why(source: Home, finished: Parent, tmp_path: Path) -> None:
    run = source.checkpoints / finished.plan.id
    shutil.copytree(run, tmp_path / "alone")
    with pytest.raises(ResumeRefused, match="does not lie in a data home"):
        locate(tmp_path / "alone")
    (run / "step_00000001_open").mkdir()
    with pytest.raises(ResumeRefused, match="before its epoch was validated"):
        locate(run / "step_00000001_open")
    (run / "manifest.json").unlink()
    with pytest.raises(ResumeRefused, match=rf"is not finished: recover it \(tcg train {run.name}\) before"):
        locate(run)


def test_a_step_is_resumed_by_its_name_whether_a_pointer_names_it_or_not(source: Home, finished: Parent) -> None:
    run = source.checkpoints / finished.plan.id
    first = pointers.require(run, "epoch_0000")
    (run / "epoch_0000.json").unlink()
    found = resumed(source, first, changes={"epochs": 1})
    assert (found.recipe.resume, found.recipe.epochs) == (Resume(finished.plan.id, first.name), 1)
    assert found.brought is None
    plan = load_plan(source, build_plan(source, found.recipe, found.cards).id)
    assert (plan.parent.step, plan.parent.epoch) == (first.name, 0)  # type: ignore[union-attr]
    stray = run / "step_00000077"
    shutil.copytree(first, stray)
    with pytest.raises(ResumeRefused, match=rf"has no checkpoint step_00000077, it has best, epoch_0001, latest, {first.name}"):
        build_plan(source, resumed(source, stray).recipe)
    (first / "weights.safetensors").write_bytes(b"")
    write_json(first / "manifest.json", _rehashed(first))
    with pytest.raises(IntegrityError, match=r"weights\.safetensors is not the file that run"):
        build_plan(source, found.recipe)


def _rehashed(step: Path) -> dict[str, Any]:
    from dataclasses import replace

    from tcg_core.base.manifest import hash_files

    manifest = replace(read_manifest(step), files=hash_files(step))
    return manifest.to_dict()


def test_the_recipe_is_the_given_one_or_that_of_the_run(finished: Parent) -> None:
    path = finished.home.checkpoints / finished.plan.id
    own = resumed(finished.home, path, changes={"optimizer_state": "resume", "scheduler_state": None})
    assert own.recipe.resume == Resume(finished.plan.id, "latest", "resume", "reset")
    assert to_dict(own.recipe) | {"resume": 0} == to_dict(RECIPE) | {"resume": 0}
    assert own.cards == finished.plan.cards_id
    with pytest.raises(ConfigError, match=r"resume\.run is other, but .* is run"):
        resumed(finished.home, path, finished.child(resume={"run": "other"}))


def test_a_run_of_another_home_is_brought_in_with_its_lineage_and_trains_on(
    source: Home, finished: Parent, empty: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = finished.plan.id
    # Killed after each part was published: the same call continues.
    real, calls = bringing._publish, iter(range(100))

    def killed(home: Home, part: Any) -> bool:
        if next(calls) == 1:
            raise KeyboardInterrupt
        return real(home, part)

    monkeypatch.setattr(bringing, "_publish", killed)
    with pytest.raises(KeyboardInterrupt):
        bring_in(empty, source, run)
    assert not (empty.checkpoints / run).exists()
    monkeypatch.undo()

    found = resumed(empty, source.checkpoints / run, changes={"epochs": 1})
    assert found.brought is not None
    assert found.brought.copied == (("work_plan", run), ("checkpoint", run))
    assert found.brought.days_elsewhere == tuple(day.day for day in finished.plan.days)
    for kind in ("card_features", "work_plan", "checkpoint"):
        id = finished.plan.cards_id if kind == "card_features" else run
        assert registry.require_passed(empty, kind, id)
        assert registry.checks_of(empty, kind, id) == registry.checks_of(source, kind, id)
    assert registry.latest_passed(empty, "checkpoint") == run
    assert bring_in(empty, source, run).copied == ()

    recipe = resumed(empty, empty.checkpoints / run, finished.child(selection=Selection(all_days=True)))
    assert recipe.brought is None, "it lies here now"
    plan = build_plan(empty, _on_own_day(found.recipe), found.cards)
    assert plan.passed
    shutil.rmtree(source.root)
    assert train(empty, plan.id, device="cpu").facts["epochs"] == 1
    chain = {(node.kind, node.id): node for node in walk_back(empty, empty.checkpoints / plan.id)}
    assert {node.state for node in chain.values()} == {"intact", "as recorded"}
    assert chain["checkpoint", run].state == "intact"
    lies = [node for node in chain.values() if node.state == "as recorded"]
    assert sorted({node.kind for node in lies}) == ["day_archive", "parquet_day"]
    assert len(lies) == 2 * len(finished.plan.days)
    assert all(str(source.root) in node.where for node in lies)


def _on_own_day(recipe: Any) -> Any:
    from dataclasses import replace

    return replace(recipe, split=replace(recipe.split, holdout_days=(), val_frac=0.4))


def test_days_that_are_here_too_are_not_elsewhere(source: Home, finished: Parent, tmp_path: Path) -> None:
    """A home that built the same archives by the same code has the very same days."""
    shutil.copytree(source.root, tmp_path / "twin")
    twin = Home(tmp_path / "twin")
    shutil.rmtree(twin.checkpoints)
    shutil.rmtree(twin.plans)
    assert bring_in(twin, source, finished.plan.id).days_elsewhere == ()
    assert {node.state for node in walk_back(twin, twin.checkpoints / finished.plan.id)} == {"intact"}


def _damage(file: str) -> Callable[[Home, str], None]:
    def harm(source: Home, run: str) -> None:
        [path] = source.root.glob(file.replace("RUN", run))
        path.write_bytes(path.read_bytes() + b" ")

    return harm


def _failed(source: Home, run: str) -> None:
    registry.record_checks(source, "checkpoint", run, [Check("learned", False, "no better than chance")])


def _unchecked(source: Home, run: str) -> None:
    (source.root / "checks" / "work_plan" / f"{run}.json").unlink()


def _checked_another(source: Home, run: str) -> None:
    path = source.root / "checks" / "checkpoint" / f"{run}.json"
    write_json(path, json.loads(path.read_text()) | {"content": "0" * 64})


def _no_cards(source: Home, run: str) -> None:
    shutil.rmtree(source.cards)


def _other_day(source: Home, run: str) -> None:
    [path, *_] = (source.days / "2026-08-01").glob("*/manifest.json")
    manifest = json.loads(path.read_text())
    path.write_text(json.dumps(manifest | {"id": "0" * 16}))


@pytest.mark.parametrize(
    ("harm", "error", "words"),
    [
        (_failed, BringRefused, "check learned failed: no better than chance"),
        (_unchecked, BringRefused, "is missing: what its checks said is not on record"),
        (_checked_another, BringRefused, "was not checked as it is"),
        (_no_cards, BringRefused, "card_features .* is not whole"),
        (_damage("checkpoints/RUN/curves.png"), IntegrityError, r"curves\.png: expected SHA-256"),
        (_damage("plans/RUN/lanes.parquet"), IntegrityError, r"lanes\.parquet: expected SHA-256"),
        (_damage("cards/*/tables.safetensors"), IntegrityError, r"tables\.safetensors: expected SHA-256"),
        (_other_day, IntegrityError, "day 2026-08-01 in .* is not the one that the plan was made from"),
    ],
)
def test_what_is_not_whole_or_did_not_pass_is_refused_and_nothing_is_written(
    source: Home, finished: Parent, tmp_path: Path, harm: Callable[[Home, str], None], error: type[TcgError], words: str
) -> None:
    harm(source, finished.plan.id)
    home = Home(tmp_path / "fresh").prepare()
    with pytest.raises(error, match=words):
        take(home, source.checkpoints / finished.plan.id)
    assert not any(path.exists() for path in (home.cards, home.plans, home.checkpoints, home.brought))


def test_another_run_under_the_same_id_is_not_overwritten(source: Home, finished: Parent, tmp_path: Path) -> None:
    """The same plan trained in both homes, on machines whose bits differ."""
    shutil.copytree(source.root, tmp_path / "twin")
    twin, run = Home(tmp_path / "twin"), finished.plan.id
    path = twin.checkpoints / run
    other = path / "step_of_another_machine.json"
    other.write_bytes(b"another")
    write_json(path / "manifest.json", _rehashed(path))
    with pytest.raises(BringRefused, match=rf"checkpoint {run} is here too, with content .* move .* away"):
        take(twin, source.checkpoints / run)
    (path / "manifest.json").unlink()
    with pytest.raises(BringRefused, match="is here too and not finished"):
        take(twin, source.checkpoints / run)


def test_a_run_that_did_not_pass_here_is_not_resumed(source: Home, finished: Parent) -> None:
    _failed(source, finished.plan.id)
    with pytest.raises(ChecksNotPassed, match="no better than chance"):
        resumed(source, source.checkpoints / finished.plan.id)


def test_the_command_line_resumes_a_path_of_another_home(source: Home, finished: Parent, tmp_path: Path) -> None:
    shutil.copytree(source.root, tmp_path / "twin")
    twin, run = Home(tmp_path / "twin"), finished.plan.id
    shutil.rmtree(twin.checkpoints)
    shutil.rmtree(twin.plans)

    def tcg(*arguments: object) -> "subprocess.CompletedProcess[str]":
        command = [sys.executable, "-m", "tcg_assets.cli", *map(str, arguments)]
        environment = os.environ | {"TCG_DATA": str(twin.root), "OMP_NUM_THREADS": "1"}
        return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)

    path = source.checkpoints / run / "best.json"
    told = tcg("checkpoint", "import", path)
    assert told.returncode == 0, told.stderr
    assert told.stdout.startswith(f"run {run}: imported work_plan {run}, checkpoint {run}")
    refused = tcg("train", run, "--resume", path)
    assert (refused.returncode, refused.stderr.count("\n")) == (2, 1)
    assert "give one of the two" in refused.stderr
    assert "--epochs is given without --resume" in tcg("train", "--epochs", 1).stderr
    arguments = ("--resume", path, "--epochs", 1, "--device", "cpu", "--optimizer-state", "resume")
    ended = tcg("train", *arguments, "--budget-hours", 1e-7)
    assert ended.returncode == 3, ended.stderr
    assert ended.stderr.strip().splitlines()[-1].startswith("tcg: unfinished: epoch 1, microbatch 1 of ")
    tcg("train", *arguments)
    [new] = [found for found in twin.checkpoints.iterdir() if found.name != run]
    state = json.loads((pointers.require(new, "latest") / "state.json").read_text())
    assert state["progress"]["finished"]
    best = json.loads((pointers.require(source.checkpoints / run, "best") / "state.json").read_text())["epoch"]
    assert (state["start_epoch"], state["local_epochs"], state["parent"]["run"]) == (best + 1, 1, run)
    assert state["parent"]["optimizer_state"] == "resume"
    assert (twin.plans / new.name).is_dir()
