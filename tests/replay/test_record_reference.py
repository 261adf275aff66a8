"""A recorded replay is what ``env.run`` writes for the same game, in both generations, best of one and of three.

The engine cannot be seeded: it reads ``std::random_device``. The test compiles a replacement of that function which counts
from a seed, so that the same game can be played twice.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SHIM = """
#include <random>
static unsigned state = 1;
extern "C" void tcg_seed(unsigned seed) { state = seed * 2654435761u + 1u; }
unsigned int std::random_device::_M_getval() {
    state = state * 1664525u + 1013904223u;
    unsigned mixed = state ^ (state >> 15);
    mixed *= 2246822519u;
    return mixed ^ (mixed >> 13);
}
"""
ROOT = Path(__file__).resolve().parents[2]
NOT_ON_MAC = pytest.mark.skipif(
    sys.platform == "darwin", reason="libc++'s random_device cannot be replaced from outside; proven on Linux"
)


@pytest.fixture(scope="module")
def comparison(tmp_path_factory: pytest.TempPathFactory) -> dict:
    compiler = shutil.which("g++")
    assert compiler, "this comparison needs g++: install g++ (Debian, Ubuntu: apt-get install g++)"
    folder = tmp_path_factory.mktemp("shim")
    source, library = folder / "shim.cpp", folder / "shim.so"
    source.write_text(SHIM)
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", library, source], check=True)
    child = [sys.executable, str(Path(__file__).with_name("record_child.py")), str(library)]
    done = subprocess.run(child, cwd=ROOT, env=_environment(library), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.strip().splitlines()[-1])


def _environment(library: Path) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT), "LD_PRELOAD": str(library)}


@NOT_ON_MAC
def test_recorded_replay_equals_the_reference(comparison: dict) -> None:
    results = [result for result in comparison["results"] if result["statuses"] == ["DONE", "DONE"]]
    assert len(results) == 6
    assert [result["difference"] for result in results] == [None] * 6
    assert all(result["steps"] > 10 for result in results)
    best_of_three = [result for result in results if result["best_of"] == 3]
    # decisions = steps - 2, frames = decisions + games
    assert all(2 <= result["frames"] - (result["steps"] - 2) <= 3 for result in best_of_three)


@NOT_ON_MAC
def test_a_forfeit_is_recorded_as_the_reference_records_it(comparison: dict) -> None:
    results = [result for result in comparison["results"] if result["statuses"] != ["DONE", "DONE"]]
    assert [result["statuses"][1] for result in results] == [
        *["ERROR", *4 * ["INVALID"]],
        *2 * ["ERROR", *5 * ["INVALID"]],
    ]
    assert [result["difference"] for result in results] == [None] * 17
    assert all(result["rewards"] == [1, None] for result in results)


@NOT_ON_MAC
def test_the_seed_decides_the_game(comparison: dict) -> None:
    assert comparison["seeds_differ"]
