"""No secret of the environment reaches metadata, logs or any file of the data home."""

from pathlib import Path

import pytest

from tcg_assets.automation.launch import run_chain, run_day
from tcg_assets.automation.news import News
from tcg_assets.sync.fill import sync
from tcg_assets.sync.instance import open_instance
from tcg_core.base.errors import TcgError
from tcg_core.base.home import Home
from tcg_core.recipe import Recipe, Selection
from tests.assets.conftest import CHILD
from tests.assets.fakes import Stages

CANARY = "canary-5f1c0ffee-never-write-me-down"
#: Where credentials of this project's tools are looked for.
VARIABLES = ("KAGGLE_KEY", "KAGGLE_API_TOKEN", "KAGGLE_USERNAME", "TCG_WEBHOOK", "DAGSTER_CLOUD_API_TOKEN", "SOME_PASSWORD")
DAY = "2026-08-01"


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in VARIABLES:
        monkeypatch.setenv(name, CANARY)
    monkeypatch.setenv("PYTHONPATH", str(CHILD))
    monkeypatch.setenv("FAKE_TRAINER", "good")
    monkeypatch.setattr("tcg_assets.automation.launch.news", lambda home, recipe: News((DAY,), "0123456789abcdef"))


def _holding(root: Path) -> list[str]:
    needle = CANARY.encode()
    return sorted(str(path.relative_to(root)) for path in root.rglob("*") if path.is_file() and needle in path.read_bytes())


def test_runs_write_no_secret_anywhere_in_the_home(home: Home, stages: Stages) -> None:
    with open_instance(home, captured=True) as instance:
        assert run_day(instance, home, DAY).success
        assert run_chain(instance, home, Recipe(selection=Selection(days=(DAY,)))).success
        assert not run_chain_refused(instance, home, stages)
        sync(instance, home)
    assert len(list(home.dagster.rglob("*.db"))) > 2, "the search looks at Dagster's databases"
    assert _holding(home.root) == []


def test_the_search_would_find_one(home: Home, stages: Stages) -> None:
    def leak(home: Home, day: str) -> None:
        raise TcgError(f"cannot log in with {CANARY}")

    stages.install("tcg_core.days.take", take_archive=leak)
    with open_instance(home, captured=True) as instance:
        assert not run_day(instance, home, DAY).success
    assert _holding(home.root)


def run_chain_refused(instance: object, home: Home, stages: Stages) -> bool:
    """A chain that fails: what Dagster records of an error must not hold the environment either."""

    def refuse(home: Home, *arguments: object, **options: object) -> None:
        raise TcgError("the deck is not legal")

    stages.install("tcg_core.submission.pack", pack=refuse)
    return run_chain(instance, home, Recipe(selection=Selection(days=(DAY,)))).success  # type: ignore[arg-type]
