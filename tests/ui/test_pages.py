"""What a person sees in the Dagster UI of this project."""

from typing import Any

import pytest

from tests.ui.conftest import BAD, GOOD, LOCATION, SHOTS, Served

pytestmark = pytest.mark.ui


def test_the_graph_shows_the_way_of_a_day(served: Served, page: Any) -> None:
    page.goto(f"{served.url}/locations/{LOCATION}/asset-groups/days/lineage")
    for asset in ("day_archive", "day_catalog", "staged_day", "parquet_day"):
        page.get_by_text(asset, exact=True).first.wait_for()
    _shot(page, "days")


def test_a_bad_day_is_red_and_was_not_promoted(served: Served, page: Any) -> None:
    page.goto(f"{served.url}/assets/staged_day?view=checks")
    page.get_by_text("legal_labels").first.wait_for()
    page.get_by_text("legal_labels").first.click()
    page.get_by_text("legal_labels was looked at").first.wait_for()
    page.get_by_text("Failed").first.wait_for()
    _shot(page, "failed_check")
    page.goto(f"{served.url}/assets/parquet_day?view=partitions&partition={GOOD}")
    page.get_by_text(BAD).first.wait_for()
    page.get_by_text("Kaggle's EpisodeId").first.wait_for()
    _shot(page, "promoted_day")


def test_the_inbox_sensor_is_on_and_the_nightly_is_off(served: Served, page: Any) -> None:
    page.goto(f"{served.url}/automation")
    page.get_by_text("inbox_sensor").first.wait_for()
    switches = page.get_by_role("checkbox")
    states = [switches.nth(index).is_checked() for index in range(switches.count())]
    _shot(page, "automation")
    assert sorted(states[-2:]) == [False, True]


def _shot(page: Any, name: str) -> None:
    SHOTS.mkdir(exist_ok=True)
    page.screenshot(path=str(SHOTS / f"{name}.png"))
