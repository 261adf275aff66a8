"""What a person sees in the Dagster UI of this project."""

from typing import Any

import pytest

from tests.ui.conftest import LOCATION, Served
from tests.ui.driving import ask, shoot
from tests.ui.live import BAD, GOOD

pytestmark = pytest.mark.ui


def test_the_graph_shows_the_way_of_a_day(served: Served, page: Any) -> None:
    page.goto(f"{served.url}/locations/{LOCATION}/asset-groups/days/lineage")
    for asset in ("day_archive", "day_catalog", "staged_day", "parquet_day"):
        page.get_by_text(asset, exact=True).first.wait_for()
    shoot(page, "days")


def test_a_bad_day_is_red_and_was_not_promoted(served: Served, page: Any) -> None:
    page.goto(f"{served.url}/assets/staged_day?view=checks")
    page.get_by_text("legal_labels").first.wait_for()
    page.get_by_text("legal_labels").first.click()
    page.get_by_text("legal_labels was looked at").first.wait_for()
    page.get_by_text("Failed").first.wait_for()
    shoot(page, "failed_check")
    page.goto(f"{served.url}/assets/parquet_day?view=partitions&partition={GOOD}")
    page.get_by_text(BAD).first.wait_for()
    page.get_by_text("Kaggle's EpisodeId").first.wait_for()
    shoot(page, "promoted_day")


def test_the_inbox_sensor_is_on_and_the_nightly_is_off(served: Served, page: Any) -> None:
    page.goto(f"{served.url}/automation")
    page.get_by_text("At 03:00 AM").first.wait_for()
    shoot(page, "automation")
    where = f'(repositorySelector: {{repositoryName: "__repository__", repositoryLocationName: "{LOCATION}"}})'
    told = ask(
        served,
        f"{{ sensorsOrError{where} {{ ... on Sensors {{ results {{ name sensorState {{ status }} }} }} }}"
        f" schedulesOrError{where} {{ ... on Schedules {{ results {{ name scheduleState {{ status }} }} }} }} }}",
    )
    assert {"name": "inbox_sensor", "sensorState": {"status": "RUNNING"}} in told["sensorsOrError"]["results"]
    assert {item["name"]: item["scheduleState"]["status"] for item in told["schedulesOrError"]["results"]} == {
        "audit_schedule": "RUNNING",
        "backup_schedule": "RUNNING",
        "nightly_schedule": "STOPPED",
        "retention_schedule": "RUNNING",
    }


def test_the_launchpad_of_the_nightly_refuses_an_unknown_key(served: Served) -> None:
    config = {"ops": {"work_plan": {"config": {"recipe": {"epoch": 3}}}}}
    told = ask(
        served,
        "query($pipeline: PipelineSelector!, $config: RunConfigData!) { isPipelineConfigValid(pipeline: $pipeline,"
        ' runConfigData: $config, mode: "default") { __typename ... on RunConfigValidationInvalid { errors { message } } } }',
        pipeline={"repositoryName": "__repository__", "repositoryLocationName": LOCATION, "pipelineName": "nightly"},
        config=config,
    )["isPipelineConfigValid"]
    assert told["__typename"] == "RunConfigValidationInvalid"
    assert 'unexpected config entry "epoch"' in told["errors"][0]["message"]


def test_a_submissions_page_leads_back_to_the_days_and_shows_its_inputs(served: Served, page: Any) -> None:
    page.goto(f"{served.url}/assets/submission?view=lineage&lineageScope=upstream&lineageDepth=20")
    for asset in ("torch_artifact", "mlx_checkpoint", "work_plan", "parquet_day", "day_archive"):
        page.get_by_text(asset, exact=True).first.wait_for()
    shoot(page, "submission_lineage")
    page.goto(f"{served.url}/assets/submission?view=overview")
    page.get_by_text("torch_artifact-1 (made in this run)").first.wait_for()
    shoot(page, "submission")


def test_a_plot_is_shown_as_a_picture(served: Served, page: Any) -> None:
    page.goto(f"{served.url}/assets/submission?view=overview")
    page.get_by_text("plot_curve", exact=True).first.scroll_into_view_if_needed()
    # A long one, as of real curves, is behind a link; the fake's single pixel is shown where it stands.
    picture = page.locator('img[src^="data:image/png;base64,"]').first
    picture.wait_for(state="attached")
    assert picture.evaluate("image => image.naturalWidth") == 1, "the fake plot of one pixel, decoded"
