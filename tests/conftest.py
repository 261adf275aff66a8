"""Shared by all tests: one thread for every BLAS, a data home of their own, no ambient TCG_DATA."""

import os

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")
os.environ.setdefault("MPLBACKEND", "Agg")

import random  # noqa: E402
import shutil  # noqa: E402
from pathlib import Path  # noqa: E402  # thread counts are read when the libraries load

import pytest  # noqa: E402

from tcg_core.base.home import VARIABLE, Home  # noqa: E402
from tests.kills import chance_of  # noqa: E402


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    """An empty data home, also named by the environment variable."""
    monkeypatch.setenv(VARIABLE, str(tmp_path / "data"))
    return Home.resolve().prepare()


@pytest.fixture
def chance(request: pytest.FixtureRequest) -> random.Random:
    """Random numbers for the moments of kills, from the seed that it prints."""
    return chance_of(request.node.name)


GOLDEN = Path(__file__).resolve().parent / "golden"
DAY = "2026-08-15"


@pytest.fixture(scope="session")
def staged_once(tmp_path_factory):
    from tcg_core.days.build import build_day
    from tcg_core.days.take import add_archive, take_archive

    home = Home(tmp_path_factory.mktemp("staged") / "data").prepare()
    add_archive(home, GOLDEN / f"{DAY}.zip")
    take_archive(home, DAY)
    built = build_day(home, DAY)
    assert built.passed, built.checks
    return home


@pytest.fixture
def staged(staged_once, home):
    """A home with the golden day staged by the real builder."""
    shutil.rmtree(home.root)
    shutil.copytree(staged_once.root, home.root)
    return home


@pytest.fixture
def real_day(staged):
    """A home with one validated day, and its date."""
    from tcg_core.days.promote import promote_day

    assert promote_day(staged, DAY).passed
    return staged, DAY
