"""What stands once: each thing that several places need is made in one of them. The source itself is counted."""

import ast
from collections.abc import Iterator
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[1]
SOURCES = sorted([*PROJECT.glob("tcg_core/**/*.py"), *PROJECT.glob("tcg_assets/**/*.py")])


def files(*wanted: str) -> Iterator[tuple[str, ast.AST]]:
    """Path and syntax of each source file, or of those whose path begins with one of ``wanted``."""
    for path in SOURCES:
        name = path.relative_to(PROJECT).as_posix()
        if not wanted or name.startswith(wanted):
            yield name, ast.parse(path.read_text())


def uses(name: str, *wanted: str) -> set[str]:
    """Files that use a name, as ``name`` or as an attribute of anything, or import it."""
    found = set()
    for file, tree in files(*wanted):
        for node in ast.walk(tree):
            if (
                (isinstance(node, ast.Name) and node.id == name)
                or (isinstance(node, ast.Attribute) and node.attr == name)
                or (isinstance(node, ast.alias) and node.name.rpartition(".")[2] == name)
            ):
                found.add(file)
    return found


def texts(value: str) -> set[str]:
    """Files with this string constant."""
    return {file for file, tree in files() for node in ast.walk(tree) if isinstance(node, ast.Constant) and node.value == value}


def defining(name: str) -> list[str]:
    """The file of each function or class with this name."""
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    return [file for file, tree in files() for node in ast.walk(tree) if isinstance(node, kinds) and node.name == name]


def test_one_lock() -> None:
    assert uses("flock") | uses("lockf") | uses("fcntl") == {"tcg_core/base/lock.py"}
    assert not uses("O_EXCL"), "a file that only says that it is there outlives a killed holder"
    holders = uses("hold")
    assert len(holders) >= 6, f"the lock is not used where one was: {sorted(holders)}"


def test_one_place_knows_how_fast_a_network_trains() -> None:
    """Whoever reads the rate of a run out of its facts decides which runs count; the trainer writes it."""
    assert texts("rows_per_second") == {"tcg_core/train/rate.py", "tcg_core/train/run.py", "tcg_core/train/loop.py"}
    assert uses("known_rate") == {"tcg_core/train/estimate.py", "tcg_core/nightly/budget.py"}
