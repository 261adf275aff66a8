"""The fast lane plays the very games of the reference lane: same shuffles, same decisions, same score shown, same winner."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.replay.test_record_reference import NOT_ON_MAC, ROOT, SHIM


@NOT_ON_MAC
@pytest.mark.parametrize(("generation", "best_of"), [("v1", 1), ("v2", 1), ("v2", 3)])
def test_both_lanes_give_the_same_games(shared_home, submission_of_both, tmp_path, generation, best_of):
    compiler = shutil.which("g++")
    if compiler is None:
        pytest.fail("this comparison needs g++: install g++ (Debian, Ubuntu: apt-get install g++)")
    source, library = tmp_path / "shim.cpp", tmp_path / "shim.so"
    source.write_text(SHIM)
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", library, source], check=True)
    child = Path(__file__).with_name("lane_child.py")
    command = [sys.executable, child, library, shared_home.root, submission_of_both.id, generation, best_of]
    environment = os.environ | {"PYTHONPATH": str(ROOT), "LD_PRELOAD": str(library)}
    done = subprocess.run([str(part) for part in command], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    matches = json.loads(done.stdout)
    assert len(matches) == 8 and sum(match["decisions"] for match in matches.values()) > 100
    games = {match["games"] for match in matches.values()}
    assert games <= {2, 3} if best_of == 3 else games == {1}
    assert {name: match["difference"] for name, match in matches.items()} == dict.fromkeys(matches)
