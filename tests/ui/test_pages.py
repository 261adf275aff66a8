"""What a person sees in the Dagster UI of this project."""

import json
import urllib.request
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
    page.get_by_text("At 03:00 AM").first.wait_for()
    _shot(page, "automation")
    where = f'(repositorySelector: {{repositoryName: "__repository__", repositoryLocationName: "{LOCATION}"}})'
    told = _ask(
        served,
        f"{{ sensorsOrError{where} {{ ... on Sensors {{ results {{ name sensorState {{ status }} }} }} }}"
        f" schedulesOrError{where} {{ ... on Schedules {{ results {{ name scheduleState {{ status }} }} }} }} }}",
    )
    assert told["sensorsOrError"]["results"] == [{"name": "inbox_sensor", "sensorState": {"status": "RUNNING"}}]
    assert told["schedulesOrError"]["results"] == [{"name": "nightly_schedule", "scheduleState": {"status": "STOPPED"}}]


def test_the_launchpad_of_the_nightly_refuses_an_unknown_key(served: Served) -> None:
    config = {"ops": {"work_plan": {"config": {"recipe": {"epoch": 3}}}}}
    told = _ask(
        served,
        "query($pipeline: PipelineSelector!, $config: RunConfigData!) { isPipelineConfigValid(pipeline: $pipeline,"
        ' runConfigData: $config, mode: "default") { __typename ... on RunConfigValidationInvalid { errors { message } } } }',
        pipeline={"repositoryName": "__repository__", "repositoryLocationName": LOCATION, "pipelineName": "nightly"},
        config=config,
    )["isPipelineConfigValid"]
    assert told["__typename"] == "RunConfigValidationInvalid"
    assert 'unexpected config entry "epoch"' in told["errors"][0]["message"]


def _ask(served: Served, query: str, **variables: Any) -> Any:
    body = json.dumps({"query": query, "variables": variables}).encode()
    request = urllib.request.Request(f"{served.url}/graphql", data=body, headers={"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as answer:
        told = json.load(answer)
    assert "errors" not in told, told["errors"]
    return told["data"]


def _shot(page: Any, name: str) -> None:
    SHOTS.mkdir(exist_ok=True)
    page.screenshot(path=str(SHOTS / f"{name}.png"))
