"""The seed of the kill moments is shown when a test fails, and repeats them; no test draws without a seed."""

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.kills import SEED, VARIABLE, chance_of

PROJECT = Path(__file__).resolve().parents[1]
FAILING = """
from tests.conftest import chance

def test_it(chance):
    assert chance.random() < 0, f"drew {chance.randrange(10**9)}"
"""


def output(folder: Path, seed: int | None) -> str:
    """What pytest says of a test that fails after it drew."""
    (folder / "test_failing.py").write_text(FAILING)
    environment = {name: value for name, value in os.environ.items() if name != VARIABLE} | {"PYTHONPATH": str(PROJECT)}
    if seed is not None:
        environment[VARIABLE] = str(seed)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", str(folder), str(folder)]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stdout + done.stderr
    return done.stdout


def found(pattern: str, text: str) -> str:
    match = re.search(pattern, text)
    assert match is not None, text
    return match.group(1)


def test_a_failure_shows_the_seed_and_the_seed_repeats_the_moments(tmp_path: Path) -> None:
    first = output(tmp_path, None)
    seed = int(found(rf"moments of test_it are drawn from {VARIABLE}=(\d+)", first))
    assert found(r"drew (\d+)", output(tmp_path, seed)) == found(r"drew (\d+)", first)
    assert found(r"drew (\d+)", output(tmp_path, seed + 1)) != found(r"drew (\d+)", first)


def test_tests_draw_apart(capsys: pytest.CaptureFixture[str]) -> None:
    assert chance_of("a").random() != chance_of("b").random()
    assert chance_of("a").random() == chance_of("a").random()
    assert capsys.readouterr().out.count(f"{VARIABLE}={SEED}") == 4


def unseeded(text: str) -> list[int]:
    """Lines that draw from a generator without a seed."""
    lines = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Call):
            name = ast.unparse(node.func)
            fresh = name.rpartition(".")[2] in ("Random", "default_rng") and not node.args
            shared = re.fullmatch(r"(random|np\.random|numpy\.random)\.(?!seed|default_rng)[a-z]+", name)
            if fresh or shared:
                lines.append(node.lineno)
    return lines


def test_no_test_draws_without_a_seed() -> None:
    assert unseeded("import random\nrandom.Random()\nrandom.uniform(0, 1)\nrandom.Random(3).uniform(0, 1)\n") == [2, 3]
    for path in [*PROJECT.glob("tests/**/*.py"), *PROJECT.glob("bench/*.py")]:
        if path.name != "kills.py":
            assert unseeded(path.read_text()) == [], path
