"""The fast lane plays the very games of the reference lane: same shuffles, same decisions, same winner."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.replay.test_record_reference import NOT_ON_MAC, ROOT, SHIM


@NOT_ON_MAC
def test_both_lanes_give_the_same_games(shared_home, submission, tmp_path):
    compiler = shutil.which("g++")
    if compiler is None:
        pytest.fail("this comparison needs g++: install g++ (Debian, Ubuntu: apt-get install g++)")
    source, library = tmp_path / "shim.cpp", tmp_path / "shim.so"
    source.write_text(SHIM)
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", library, source], check=True)
    command = [sys.executable, Path(__file__).with_name("lane_child.py"), library, shared_home.root, submission.id]
    environment = os.environ | {"PYTHONPATH": str(ROOT), "LD_PRELOAD": str(library)}
    done = subprocess.run([str(part) for part in command], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    games = json.loads(done.stdout)
    assert len(games) == 8 and sum(game["decisions"] for game in games.values()) > 100
    assert {name: game["difference"] for name, game in games.items()} == dict.fromkeys(games)
