"""Finding and loading the engine: both generations, once per process, and a clear word when it is not there."""

import importlib.util
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from tcg_core.base.errors import ConfigError
from tcg_core.engine import library
from tcg_core.engine.library import EngineBroken, EngineMissing, engine_directory, engine_version, load_library

ROOT = Path(__file__).resolve().parents[2]


def test_versions_name_the_season_of_each_generation() -> None:
    one, two = engine_version("v1"), engine_version("v2")
    assert (one.package_version, two.package_version) == ("1.32.7", "1.33.2")
    assert one.library_sha256 != two.library_sha256
    assert len(one.library_sha256) == 64


def test_an_unknown_generation_is_refused() -> None:
    with pytest.raises(ConfigError, match="'v3': expected one of v1, v2"):
        load_library("v3")


def test_a_missing_wheel_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(EngineMissing, match=r"make engine.*pip install --no-deps -r requirements-engine.txt.*==1\.33\.2"):
        engine_directory()


def test_a_wheel_without_this_platform_names_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(library.platform, "system", lambda: "Linux")
    monkeypatch.setattr(library.platform, "machine", lambda: "aarch64")
    assert library.library_path("v2").name == "libcg-arm64.so"
    monkeypatch.setattr(Path, "is_file", lambda self: False)
    with pytest.raises(EngineMissing, match=r"libcg-arm64\.so"):
        library.library_path("v2")


def test_threads_get_one_library() -> None:
    found: list[object] = []
    threads = [threading.Thread(target=lambda: found.append(load_library("v2"))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({id(one) for one in found}) == 1


def test_a_child_forked_during_initialisation_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(library, "_loaded", {})
    monkeypatch.setattr(library, "_loading", {"v1"})
    with pytest.raises(EngineBroken, match="forked while the library was being initialised"):
        load_library("v1")


def test_the_pinned_version_is_the_one_asked_for() -> None:
    assert f"{library.PACKAGE}=={library.PACKAGE_VERSION}" in (ROOT / "requirements-engine.txt").read_text()


def run(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)


def test_the_wheel_is_not_imported() -> None:
    code = """
import sys
from tcg_core.engine.library import load_library
load_library("v1")
print("kaggle_environments" in sys.modules)
"""
    done = run(code)
    assert done.stdout.strip() == "False", done.stderr


@pytest.mark.parametrize("first", ["ours", "theirs"])
def test_ours_and_the_wheels_own_library_live_in_one_process(first: str) -> None:
    ours = """
from tcg_core.engine.battle import Battle
from tcg_core.engine.decks import sample_deck
Battle("v2", sample_deck(), sample_deck()).close()
"""
    theirs = """
import sys
from tcg_core.engine.library import engine_directory
sys.path.insert(0, str(engine_directory()))
import cg.sim
cg.sim.get_lib(1)
"""
    order = [ours, theirs] if first == "ours" else [theirs, ours]
    done = run("\n".join([*order, ours, "print('alive')"]))
    assert done.stdout.strip() == "alive", done.stderr


def test_the_bare_library_would_die_of_a_second_initialisation() -> None:
    code = """
import ctypes
from tcg_core.engine.library import library_path
bare = ctypes.CDLL(str(library_path("v2")))
bare.GameInitialize()
bare.GameInitialize()
"""
    assert run(code).returncode < 0


def test_a_fork_uses_the_library_of_its_parent() -> None:
    code = """
import os
from tcg_core.engine.battle import Battle
from tcg_core.engine.decks import sample_deck
deck = sample_deck()
Battle("v1", deck, deck).close()
child = os.fork()
with Battle("v1", deck, deck) as battle:
    while not battle.ended:
        battle.select(range(battle.observation["select"]["maxCount"]))
if child == 0:
    os._exit(0)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    done = run(code)
    assert done.stdout.strip() == "0", done.stderr
