"""A process runs one code: what changes on disk under it is refused where a result could differ, and told by name."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tcg_core.base.code import PRODUCERS, code_version
from tcg_core.base.same_code import VARIABLE, CodeChanged, for_child, require_same
from tcg_core.base.source import at_start

ROOT = Path(__file__).resolve().parents[2]
BEHAVIOUR, COMMENT = "\n\nEXTRA = loss = None\n\n\ndef each_row():\n    return None\n", "\n\n# a comment\n"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    shutil.copytree(ROOT / "tcg_core", tmp_path / "tcg_core", ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path


def run(tree: Path, program: str, **environment: str) -> str:
    """Runs a program on the tree; its last line of output, or of its traceback."""
    given = {name: value for name, value in os.environ.items() if name != VARIABLE}
    variables = given | {"PYTHONPATH": str(tree), "PYTHONDONTWRITEBYTECODE": "1"} | environment
    done = subprocess.run([sys.executable, "-c", program], cwd=tree, env=variables, capture_output=True, text=True, check=False)
    return (done.stdout.strip() or done.stderr.strip()).splitlines()[-1]


def edited_after_start(text: str, then: str) -> str:
    return (
        "import os, pathlib\n"
        "import tcg_core.base.same_code as same\n"
        f"with pathlib.Path('tcg_core/train/loss.py').open('a') as file: file.write({text!r})\n"
        f"{then}\n"
    )


def test_a_module_that_changed_since_the_start_is_not_loaded(tree: Path) -> None:
    said = run(tree, edited_after_start(BEHAVIOUR, "import tcg_core.train.loss"))
    assert "CodeChanged: the code changed since PID " in said and "restart `tcg ui`" in said


def test_one_in_which_only_a_comment_changed_is_loaded(tree: Path) -> None:
    assert run(tree, edited_after_start(COMMENT, "import tcg_core.train.loss; print('loaded')")) == "loaded"


def test_the_identity_is_that_of_the_start_whatever_lies_on_disk(tree: Path) -> None:
    ask = "from tcg_core.base.code import code_version; print(code_version('mlx_checkpoint'), same.changed_on_disk())"
    assert run(tree, edited_after_start(BEHAVIOUR, ask)) == f"{code_version('mlx_checkpoint')} ('mlx_checkpoint',)"
    # The next process starts with that edit, and a comment changes nothing more.
    version, changed = run(tree, edited_after_start(COMMENT, ask)).split(" ", 1)
    assert version != code_version("mlx_checkpoint") and changed == "()"


def test_a_child_of_other_code_ends_with_the_remedy(tree: Path) -> None:
    handed = for_child("mlx_checkpoint", "staged_day")
    program = "from tcg_core.base.same_code import require_same; require_same('{asset}'); print('same')"
    assert run(tree, program.format(asset="mlx_checkpoint"), **handed) == "same"
    with (tree / "tcg_core/train/loss.py").open("a") as file:
        file.write(BEHAVIOUR)
    said = run(tree, program.format(asset="mlx_checkpoint"), **handed)
    assert said.endswith(f"CodeChanged: the code changed since PID {os.getpid()} started: restart `tcg ui`")
    assert run(tree, program.format(asset="staged_day"), **handed) == "same"


def test_a_child_hands_on_what_it_was_handed(monkeypatch: pytest.MonkeyPatch) -> None:
    first = json.dumps({"pid": 7, "digest": at_start().digest, "versions": {}})
    monkeypatch.setenv(VARIABLE, first)
    assert for_child("staged_day") == {VARIABLE: first}


def test_what_was_handed_otherwise_than_by_the_environment_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    other = json.dumps({"pid": 7, "digest": "another", "versions": {"staged_day": "another"}})
    with pytest.raises(CodeChanged, match="the code changed since PID 7 started"):
        require_same("staged_day", given=other)
    require_same("ratings", given=other)
    require_same(*PRODUCERS)
