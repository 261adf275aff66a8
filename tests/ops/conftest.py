"""A day built by the real builder, for what reads it again."""

import shutil
from pathlib import Path

import pytest

from tcg_core.dataset.build import build_day
from tcg_core.dataset.promote import promote_day
from tcg_core.dataset.take import add_archive, take_archive
from tcg_core.home import Home

GOLDEN = Path(__file__).resolve().parent.parent / "golden"
DAY = "2026-08-15"


@pytest.fixture(scope="session")
def promoted_once(tmp_path_factory):
    home = Home(tmp_path_factory.mktemp("promoted") / "data").prepare()
    add_archive(home, GOLDEN / f"{DAY}.zip")
    take_archive(home, DAY)
    assert build_day(home, DAY).passed
    assert promote_day(home, DAY).passed
    return home


@pytest.fixture
def real_day(promoted_once, home):
    """A home with one validated day, and its date."""
    shutil.rmtree(home.root)
    shutil.copytree(promoted_once.root, home.root)
    return home, DAY
