"""The arrows of docs/architecture.md, held by the import statements themselves."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parents[1]
FLOW = [
    "base",
    "encode",
    "model",
    "cards",
    "engine",
    "replay",
    "catalog",
    "ratings",
    "lineage",
    "rows",
    "lookahead",
    "fetch",
    "store",
    "days",
    "plan",
    "train",
    "convert",
    "submission",
    "arena",
    "borrow",
    "clef",
    "nightly",
    "ops",
    "alerts",
    "explain",
]
SOURCES = sorted([*PROJECT.glob("tcg_core/**/*.py"), *PROJECT.glob("tcg_assets/**/*.py")])
PRIVATE = "tcg_assets/dagster_private.py"
MLX_PACKAGES = {"model", "train", "convert"}


def imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def names(path: Path) -> str:
    return str(path.relative_to(PROJECT))


@pytest.mark.parametrize("path", SOURCES, ids=names)
def test_arrows_point_down_only(path: Path) -> None:
    parts = path.relative_to(PROJECT).parts
    for name in imports(path):
        head = name.split(".")
        if parts[0] == "tcg_core":
            assert head[0] not in ("dagster", "dagster_pipes", "tcg_assets"), f"tcg_core imports {name}"
            if head[0] == "mlx":
                assert parts[1] in MLX_PACKAGES, f"mlx is imported outside model, train, convert: {name}"
            if head[0] == "tcg_core" and len(head) > 1 and head[1] in FLOW and parts[1] in FLOW:
                assert FLOW.index(head[1]) <= FLOW.index(parts[1]), f"{parts[1]} imports {name}, which comes later"


@pytest.mark.parametrize("path", [path for path in SOURCES if names(path) != PRIVATE], ids=names)
def test_private_names_of_dagster_stand_in_one_module(path: Path) -> None:
    assert not re.search(r"\b(dagster|dg)\._", path.read_text()), f"{names(path)}: take it from {PRIVATE}"


@pytest.mark.parametrize("path", SOURCES, ids=names)
def test_no_file_grows_beyond_500_lines_and_none_swallows_everything(path: Path) -> None:
    text = path.read_text()
    assert text.count("\n") <= 500
    assert not [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.ExceptHandler) and node.type is None]
