"""What the browser tests look at: a home with a history over fake stages and three real days that wait to be built."""

import zipfile
from pathlib import Path

import pytest

from tcg_assets.automation.launch import run_chain, run_day
from tcg_assets.automation.news import News
from tcg_assets.sync.instance import open_instance
from tcg_core.base.home import Home
from tcg_core.days.take import take_archive
from tcg_core.recipe import Recipe, Selection
from tcg_core.replay.record_day import record_day
from tests.assets.fakes import Stages

#: Days of the history: one that was promoted, one whose check failed.
GOOD, BAD = "2026-08-01", "2026-08-02"
#: Real days whose archives are taken and not built; the middle one holds nothing that can be used.
FIRST, BROKEN, LAST = "2026-08-11", "2026-08-12", "2026-08-13"


def make_home(root: Path) -> Home:
    """Makes the home at ``root``."""
    home = Home(root).prepare()
    with pytest.MonkeyPatch.context() as patch, open_instance(home) as instance:
        patch.setenv("TCG_DATA", str(home.root))
        for day in (FIRST, BROKEN, LAST):
            path = record_day(home, day, 2, ("random", "random"))
            if day == BROKEN:
                _break(path)
            take_archive(home, day)
        with pytest.MonkeyPatch.context() as fakes:
            _fake_history(fakes, home, instance)
    # Writing the home again mirrors the days that were taken.
    with open_instance(home):
        return home


def _fake_history(patch: pytest.MonkeyPatch, home: Home, instance: object) -> None:
    from tests.assets.conftest import CHILD

    patch.setenv("PYTHONPATH", str(CHILD))
    patch.setenv("FAKE_TRAINER", "good")
    patch.setattr("tcg_assets.automation.launch.news", lambda home, recipe: News((GOOD,), "0123456789abcdef"))
    stages = Stages(patch)
    assert run_day(instance, home, GOOD).success  # type: ignore[arg-type]
    assert run_chain(instance, home, Recipe(selection=Selection(days=(GOOD,)))).success  # type: ignore[arg-type]
    stages.failing = "legal_labels"
    assert not run_day(instance, home, BAD).success  # type: ignore[arg-type]


def _break(path: Path) -> None:
    with zipfile.ZipFile(path) as archive:
        comment, members = archive.comment, {info.filename: archive.read(info) for info in archive.infolist()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.comment = comment
        for name, data in members.items():
            archive.writestr(name, data[: len(data) // 2])
