"""What fits into the night: the arithmetic, the cut, the refusal."""

from dataclasses import asdict, replace

import pytest

from tcg_core.base.home import Home
from tcg_core.nightly.budget import NightTooShort, fit
from tcg_core.recipe import Recipe, Selection
from tests.train.finished import finished

RECIPE = Recipe(selection=Selection(all_days=True), epochs=2)


@pytest.fixture(autouse=True)
def _days(monkeypatch: pytest.MonkeyPatch) -> None:
    class Day:
        rows = 450_000

    monkeypatch.setattr("tcg_core.nightly.budget.select_days", lambda *arguments: [Day(), Day()])


def test_without_a_measured_rate_or_a_limit_nothing_is_cut(home: Home) -> None:
    assert fit(home, RECIPE, 0.0, "refuse").recipe == RECIPE
    fitted = fit(home, RECIPE, 0.1, "refuse")
    assert (fitted.recipe, fitted.line.split(",")[0]) == (RECIPE, "no run of this network was measured yet")


def test_a_plan_that_fits_stays_as_it_is(home: Home) -> None:
    finished(home, 500.0, RECIPE)  # 900,000 rows x 2 epochs / 500 rows/s = 3,600 s
    fitted = fit(home, RECIPE, 1.0, "refuse")
    assert fitted.recipe == RECIPE
    assert fitted.line == "900000 rows in 2 epochs at 500 rows/s are 1 h of 1 h"


def test_a_plan_that_does_not_fit_is_cut_or_refused(home: Home) -> None:
    finished(home, 500.0, RECIPE)
    fitted = fit(home, RECIPE, 0.5, "cut")
    assert fitted.recipe.selection.max_rows == 450_000
    assert fitted.line.endswith(": cut to 450000 rows")
    assert asdict(fitted.recipe) | {"selection": None} == asdict(RECIPE) | {"selection": None}
    with pytest.raises(NightTooShort, match=r"1 h of 0\.5 h; raise night_budget_hours"):
        fit(home, RECIPE, 0.5, "refuse")
    with pytest.raises(NightTooShort):
        fit(home, RECIPE, 1e-4, "cut")


def test_the_line_says_what_a_cut_of_unseen_days_means(home: Home) -> None:
    recipe = replace(RECIPE, selection=Selection(all_days=True, unseen_by="a" * 16, replay=0.5))
    finished(home, 500.0, RECIPE)
    fitted = fit(home, recipe, 0.5, "cut")
    assert (fitted.recipe.selection.max_rows, fitted.recipe.selection.replay) == (450_000, 0.5)
    assert fitted.line.endswith(
        "cut to 450000 rows, of which the newest unseen days come first; whole days that do not fit stay unseen"
    )
