import shutil
from pathlib import Path

import pytest

from tcg_core.dataset.build import build_day
from tcg_core.dataset.take import add_archive, take_archive
from tcg_core.home import Home

GOLDEN = Path(__file__).resolve().parent.parent / "golden"
V1, V2 = "2026-08-15", "2026-10-25"


@pytest.fixture(scope="session")
def staged_once(tmp_path_factory):
    home = Home(tmp_path_factory.mktemp("staged") / "data").prepare()
    add_archive(home, GOLDEN / f"{V1}.zip")
    take_archive(home, V1)
    built = build_day(home, V1)
    assert built.passed, built.checks
    return home


@pytest.fixture
def staged(staged_once, home):
    """A home with the day V1 staged."""
    shutil.rmtree(home.root)
    shutil.copytree(staged_once.root, home.root)
    return home
