"""Which modules are programs: only those whose point is an interpreter of their own, and `tcg` itself."""

import ast
import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parents[2]
SOURCES = sorted([*PROJECT.glob("tcg_core/**/*.py"), *PROJECT.glob("tcg_assets/**/*.py")])
COMMANDS = [*SOURCES, *PROJECT.glob("deploy/*/tcg*"), PROJECT / "Makefile"]
#: With the file that is run. A trainer and an arena worker may be killed alone; preflight and reload start from nothing.
CHILDREN = {
    "tcg_assets.trainer": "tcg_assets/trainer/__main__.py",
    "tcg_core.train": "tcg_core/train/__main__.py",
    "tcg_core.arena.worker": "tcg_core/arena/worker.py",
    "tcg_core.convert.reload": "tcg_core/convert/reload.py",
    "tcg_core.submission.kaggle": "tcg_core/submission/kaggle.py",
}
#: Run by their paths, so that not even the project is importable in them.
ALONE = ("tcg_core/submission/host/child.py", "tcg_core/submission/host/keeper.py")
#: Reads how Dagster started its process, and parses nothing.
STARTED_BY_DAGSTER = "tcg_assets/sync/code_server.py"
TERMINAL = {"tcg_assets.cli": "tcg_assets/cli/__main__.py"}
DAGSTER = {"dagster", "dagster._daemon", "dagster_webserver"}
_MODULE = re.compile(r"""-m[\s"',]+((?:tcg_|dagster)\w*(?:\.\w+)*)""")


def modules_of(text: str) -> set[str]:
    """Modules of this project or of Dagster that a text starts by `-m`, in a list of arguments or in a line of shell."""
    return set(_MODULE.findall(text))


def computed(tree: ast.AST) -> Iterator[int]:
    """Lines of lists in which `-m` is followed by something that is no literal."""
    for node in ast.walk(tree):
        if isinstance(node, ast.List | ast.Tuple):
            for here, after in pairwise([*node.elts, None]):
                if isinstance(here, ast.Constant) and here.value == "-m" and not isinstance(after, ast.Constant):
                    yield node.lineno


def programs(path: Path) -> bool:
    """True if the file does something when it is run: a `__main__.py`, or a block for that name."""
    return path.name == "__main__.py" or 'if __name__ == "__main__"' in path.read_text()


def test_each_module_that_is_started_by_its_name_is_a_program_of_the_list() -> None:
    found = set().union(*(modules_of(path.read_text()) for path in COMMANDS))
    assert found == {*CHILDREN, *TERMINAL, *DAGSTER}


def test_no_name_of_a_program_is_computed() -> None:
    lines = [f"{path.relative_to(PROJECT)}:{line}" for path in SOURCES for line in computed(ast.parse(path.read_text()))]
    assert lines == []


def test_no_other_file_is_a_program() -> None:
    found = {str(path.relative_to(PROJECT)) for path in SOURCES if programs(path)}
    assert found == {*CHILDREN.values(), *TERMINAL.values(), *ALONE}


def test_no_other_file_parses_arguments_by_hand() -> None:
    found = {str(path.relative_to(PROJECT)) for path in SOURCES if re.search(r"\bargparse\b|\bsys\.argv\b", path.read_text())}
    assert found <= {*CHILDREN.values(), *ALONE, STARTED_BY_DAGSTER}


@pytest.mark.parametrize(
    "text", ['[sys.executable, "-m", "tcg_assets.odd"]', '"$0" -m tcg_assets.odd &amp;&amp; cd', "-m\ttcg_assets.odd"]
)
def test_a_program_that_is_not_of_the_list_is_seen(text: str) -> None:
    assert modules_of(text) == {"tcg_assets.odd"}


def test_a_computed_name_is_seen() -> None:
    assert list(computed(ast.parse('x = [sys.executable, "-m", f"tcg_assets.{module}"]\ny = ["-m"]'))) == [1, 2]
