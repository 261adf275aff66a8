"""Stage: published once and reused, made again when damaged, never taken for finished when killed, checked at each call."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tcg_core.base.built import Built
from tcg_core.base.checks import Check
from tcg_core.base.code import code_version
from tcg_core.base.errors import IntegrityError
from tcg_core.base.home import Home
from tcg_core.base.manifest import MANIFEST, Input, artifact_id, read_manifest, verify_files
from tcg_core.base.stage import Made, Stage, find, finish, make, seal, standing
from tcg_core.catalog import registry
from tcg_core.catalog.errors import ChecksNotPassed
from tcg_core.catalog.registry import HomeRegistrar
from tests.catalog.helpers import users_of

KIND = "ratings"
INPUTS = (Input("parquet_day", "day", "0" * 64),)
GOOD, BAD, ODD = Check("good", True, "fine"), Check("good", False, "broken"), Check("odd", False, "look", "WARN")


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path).prepare()


def stage_of(home: Home, text: str = "one", keeping: bool = False) -> Stage:
    return Stage.of(KIND, KIND, home.ratings, INPUTS, {"text": text}, keeping)


def writer(text: str = "one", calls: list[Path] | None = None) -> Callable[[Path], dict[str, Any]]:
    def write(directory: Path) -> dict[str, Any]:
        (directory / "deep").mkdir()
        (directory / "deep" / "text").write_text(text)
        if calls is not None:
            calls.append(directory)
        return {"length": len(text)}

    return write


def run(home: Home, *checks: Check, stage: Stage | None = None, calls: list[Path] | None = None) -> Built:
    made = make(stage or stage_of(home), writer(calls=calls))
    return finish(HomeRegistrar(home), made, lambda: checks or (GOOD,), made.manifest.facts, {"plot": made.path / "p.png"})


def test_an_id_follows_from_kind_inputs_configuration_and_code_as_it_did_before(home: Home) -> None:
    stage = stage_of(home)
    assert stage.id == artifact_id(KIND, INPUTS, {"text": "one"}, code_version(KIND)) and stage.path == home.ratings / stage.id
    assert artifact_id(KIND, INPUTS, {"text": "one"}, "c0de") == "ca61074f92874ed9", "homes that were built before keep their ids"
    assert len({stage.id, stage_of(home, "two").id, Stage.of(KIND, KIND, home.ratings, (), {"text": "one"}).id}) == 3


def test_it_is_published_registered_and_checked(home: Home) -> None:
    built = run(home, GOOD, ODD)
    assert (built.kind, built.reused, built.passed, built.checks) == (KIND, False, True, (GOOD, ODD))
    assert built.facts == {"length": 3} and built.plots == {"plot": built.path / "p.png"}
    manifest = verify_files(built.path)
    assert (manifest.id, manifest.inputs, manifest.config) == (built.id, INPUTS, {"text": "one"})
    assert manifest.code == code_version(KIND) and list(manifest.files) == ["deep/text"]
    assert registry.require_passed(home, KIND, built.id, ("good", "odd")) == built.path
    assert registry.checks_of(home, KIND, built.id) == (GOOD, ODD)
    assert users_of(home, "parquet_day", "day") == [(KIND, built.id)]


def test_an_intact_one_is_reused_and_checked_again(home: Home) -> None:
    calls: list[Path] = []
    first = run(home, calls=calls)
    again = run(home, BAD, calls=calls)
    assert (again.id, again.path, again.reused) == (first.id, first.path, True) and len(calls) == 1
    assert not again.passed and registry.checks_of(home, KIND, first.id) == (BAD,)


def test_a_check_that_blocks_refuses_the_artifact_to_all_that_come_after(home: Home) -> None:
    built = run(home, BAD)
    assert not built.passed and built.path.is_dir(), "it stays, to be looked at"
    with pytest.raises(ChecksNotPassed, match="check good failed: broken"):
        registry.require_passed(home, KIND, built.id)


def change(path: Path) -> None:
    (path / "deep" / "text").write_text("onE")


def lose(path: Path) -> None:
    (path / "deep" / "text").unlink()


def add(path: Path) -> None:
    (path / "extra").write_text("more")


def lose_manifest(path: Path) -> None:
    (path / MANIFEST).unlink()


def rename(path: Path) -> None:
    (path / MANIFEST).write_text((path / MANIFEST).read_text().replace(path.name, "f" * 16))


DAMAGES = pytest.mark.parametrize("damage", [change, lose, add, lose_manifest, rename])


@DAMAGES
def test_a_damaged_one_is_made_again(home: Home, damage: Callable[[Path], None]) -> None:
    first = run(home)
    damage(first.path)
    again = run(home)
    assert not again.reused and again.passed and again.path == first.path
    assert verify_files(again.path).facts == {"length": 3} and not (again.path / "extra").exists()
    assert [path.name for path in home.ratings.iterdir()] == [first.id]
    assert run(home).reused


@DAMAGES
def test_a_damaged_one_that_nobody_can_make_again_is_refused_and_stays(home: Home, damage: Callable[[Path], None]) -> None:
    stage = replace(stage_of(home), irreplaceable=True)
    run(home, stage=stage)
    damage(stage.path)
    held = sorted(stage.path.rglob("*"))
    with pytest.raises(IntegrityError, match=str(stage.path)):
        run(home, stage=stage)
    assert sorted(stage.path.rglob("*")) == held


@DAMAGES
def test_a_damaged_one_that_holds_more_than_bytes_is_set_aside_and_made_again(
    home: Home, damage: Callable[[Path], None], caplog: pytest.LogCaptureFixture
) -> None:
    stage = stage_of(home, keeping=True)
    run(home, stage=stage)
    damage(stage.path)
    held = {file.relative_to(stage.path): file.read_bytes() for file in stage.path.rglob("*") if file.is_file()}
    again = run(home, stage=stage)
    assert not again.reused and verify_files(again.path).id == stage.id
    [aside] = home.ratings.glob(".damaged-*")
    assert {file.relative_to(aside): file.read_bytes() for file in aside.rglob("*") if file.is_file()} == held
    assert str(aside) in caplog.text and "is made again" in caplog.text
    assert run(home, stage=stage).reused and list(home.ratings.glob(".damaged-*")) == [aside]


def test_a_writer_that_fails_leaves_nothing(home: Home) -> None:
    def write(directory: Path) -> dict[str, Any]:
        (directory / "half").write_text("x")
        raise RuntimeError("no more")

    with pytest.raises(RuntimeError):
        make(stage_of(home), write)
    assert list(home.ratings.iterdir()) == [] and find(stage_of(home)) is None


_KILLED = """
import sys, time
from pathlib import Path
from tcg_core.base.checks import Check
from tcg_core.base.home import Home
from tcg_core.base.manifest import Input
from tcg_core.base.stage import Stage, finish, make
from tcg_core.catalog.registry import HomeRegistrar

home, moment = Home(Path(sys.argv[1])), sys.argv[2]
stage = Stage.of("ratings", "ratings", home.ratings, (Input("parquet_day", "day", "0" * 64),), {"text": "one"})

def wait(here):
    if here == moment:
        print("ready", flush=True)
        time.sleep(60)

def write(directory):
    (directory / "deep").mkdir()
    (directory / "deep" / "text").write_text("one")
    wait("write")
    return {"length": 3}

def checks():
    wait("checks")
    return (Check("good", True, "fine"),)

finish(HomeRegistrar(home), make(stage, write), checks, {})
"""


@pytest.fixture
def killed(home: Home) -> Iterator[Callable[[str], None]]:
    """Runs a stage in a process of its own, which is killed at a moment."""

    def kill_at(moment: str) -> None:
        child = subprocess.Popen([sys.executable, "-c", _KILLED, str(home.root), moment], stdout=subprocess.PIPE, text=True)
        assert child.stdout is not None and child.stdout.readline() == "ready\n"
        os.kill(child.pid, signal.SIGKILL)
        child.wait()

    yield kill_at


def test_killed_while_writing_nothing_is_taken_for_finished(home: Home, killed: Callable[[str], None]) -> None:
    killed("write")
    assert not stage_of(home).path.exists() and find(stage_of(home)) is None
    assert registry.rows_of(home, KIND) == []
    assert not run(home).reused


def test_killed_before_its_checks_it_is_used_by_nobody_and_the_next_call_checks_it(
    home: Home, killed: Callable[[str], None]
) -> None:
    killed("checks")
    stage = stage_of(home)
    assert [row.state for row in registry.rows_of(home, KIND)] == ["unchecked"]
    with pytest.raises(ChecksNotPassed, match="never checked"):
        registry.require_passed(home, KIND, stage.id)
    built = run(home)
    assert built.reused and registry.require_passed(home, KIND, stage.id) == stage.path


def test_recorded_checks_stand_only_of_a_reused_artifact_whole_and_passed(home: Home) -> None:
    registrar, names, stage = HomeRegistrar(home), ("good", "odd"), stage_of(home)

    def stand(*wanted: str) -> tuple[Check, ...]:
        return standing(registrar, make(stage, writer()), wanted)

    run(home, GOOD, ODD, Check("other", False, "not asked for"))
    assert stand(*names) == (GOOD, ODD), "a warning stands as it was"
    assert stand(*names, "new") == ()
    run(home, BAD, ODD)
    assert stand(*names) == ()
    run(home, GOOD, ODD)
    change(stage.path)
    assert stand(*names) == (), "it was made again"


def test_checks_of_another_content_are_dropped(home: Home) -> None:
    built = run(home)
    change(built.path)
    other = make(stage_of(home), writer("two"))
    HomeRegistrar(home).register(other.manifest, other.path)
    assert registry.checks_of(home, KIND, built.id) == ()


def test_a_directory_may_be_named_by_its_content_too(home: Home) -> None:
    stage = stage_of(home)
    made = make(stage, writer(), lambda manifest: stage.path.with_name(manifest.content[:12]))
    assert made.path == home.ratings / made.manifest.content[:12] and not stage.path.exists()
    assert verify_files(made.path).id == stage.id
    assert [path.name for path in home.ratings.iterdir()] == [made.path.name]


def test_a_directory_that_grew_is_an_artifact_once_it_is_sealed(home: Home) -> None:
    path = home.checkpoints / "run"
    stage = Stage.named("mlx_checkpoint", "checkpoint", "run", path, INPUTS, {}, irreplaceable=True)
    path.mkdir(parents=True)
    (path / "grown").write_text("1")
    with pytest.raises(IntegrityError, match="is not a manifest"):
        find(stage)
    made = seal(stage, {"epochs": 1})
    assert made == Made(read_manifest(path), path, False) and find(stage) == Made(made.manifest, path, True)
    (path / "grown").write_text("2")
    with pytest.raises(IntegrityError, match="grown: expected SHA-256"):
        find(stage)
