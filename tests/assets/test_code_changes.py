"""Which assets an edit makes stale: exactly those whose code reads the edited file."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DAYS = {"day_catalog", "staged_day", "parquet_day"}
CHAIN = {"work_plan", "mlx_checkpoint", "torch_artifact"}
_ASK = "from tcg_core.base.code import *; import json; print(json.dumps({a: code_version(a) for a in PRODUCERS}))"


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("tree")
    for name in ("tcg_core", "tcg_assets", "docs"):
        shutil.copytree(ROOT / name, root / name, ignore=shutil.ignore_patterns("__pycache__"))
    return root


@pytest.fixture(scope="module")
def unedited(tree: Path) -> dict[str, str]:
    return versions(tree)


def versions(tree: Path) -> dict[str, str]:
    environment = os.environ | {"PYTHONPATH": str(tree), "PYTHONDONTWRITEBYTECODE": "1"}
    told = subprocess.run([sys.executable, "-c", _ASK], cwd=tree, env=environment, capture_output=True, text=True, check=True)
    found: dict[str, str] = json.loads(told.stdout)
    return found


@pytest.mark.parametrize(
    ("edited", "stale"),
    [
        # The encoder: the days, and the submission that packs it. What lies between follows when the days have other rows.
        ("tcg_core/encode/encoder.py", DAYS | {"submission"}),
        ("tcg_core/encode/targets.py", DAYS | {"submission"}),
        # The schema is read by whoever reads rows.
        ("tcg_core/encode/schema.py", DAYS | CHAIN | {"submission"}),
        ("tcg_core/rows/writer.py", DAYS),
        ("tcg_core/days/take.py", {"day_archive"}),
        ("tcg_core/days/drift.py", {"field_drift"}),
        ("tcg_core/ratings/stage.py", {"ratings"}),
        ("tcg_core/convert/replay.py", {"torch_artifact"}),
        ("tcg_core/arena/verdict.py", {"champion"}),
        ("docs/operations.md", set()),
        ("tcg_assets/cli/days.py", set()),
        ("tcg_assets/pages/metadata.py", set()),
    ],
)
def test_an_edit_changes_exactly_the_versions_of_what_it_makes(
    tree: Path, unedited: dict[str, str], edited: str, stale: set[str]
) -> None:
    path = tree / edited
    text = path.read_text()
    path.write_text(text + ("\n# edited\n" if edited.endswith(".py") else "\nedited\n"))
    try:
        after = versions(tree)
    finally:
        path.write_text(text)
    assert {asset for asset, version in after.items() if version != unedited[asset]} == stale
