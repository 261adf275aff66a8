"""A bad day from the launchpad: left out with a reason, taken back, and both told on the day's page."""

import shutil

import dagster as dg
import pytest

from tcg_core.base.home import Home
from tcg_core.catalog.connection import catalog
from tcg_core.catalog.datasets import datasets_of
from tests.assets.conftest import Run, failure_of
from tests.days.conftest import GOLDEN, V1


@pytest.fixture
def validated(home: Home, run: Run) -> str:
    shutil.copy(GOLDEN / f"{V1}.zip", home.inbox)
    assert run("ingest_day", partition_key=V1).success
    return V1


def _state(home: Home, day: str) -> tuple[str, str | None]:
    with catalog(home) as connection:
        [row] = datasets_of(connection, day)
    return row.state, row.reason


def _told(instance: dg.DagsterInstance, day: str) -> list[str]:
    selected = dg.AssetRecordsFilter(asset_key=dg.AssetKey("parquet_day"), asset_partitions=[day])
    records = instance.fetch_observations(selected, limit=5).records
    found = [record.asset_observation for record in records]
    return [str(item.metadata["state"].value) for item in found if item is not None]


def test_a_day_is_left_out_with_a_reason_and_taken_back(
    home: Home, instance: dg.DagsterInstance, run: Run, validated: str
) -> None:
    assert run("exclude_day", {"exclude": {"day": validated, "reason": "a bot farm"}}).success
    assert _state(home, validated) == ("excluded", "a bot farm")
    assert _told(instance, validated) == ["excluded: a bot farm"]
    assert run("restore_day", {"restore": {"day": validated}}).success
    assert _state(home, validated)[0] == "validated"
    assert _told(instance, validated)[0].startswith("validated")


def test_without_a_reason_nothing_changes(home: Home, run: Run, validated: str) -> None:
    refused = run("exclude_day", {"exclude": {"day": validated, "reason": " "}})
    assert failure_of(refused) == ("exclude", f"day {validated}: say why it is excluded")
    assert _state(home, validated)[0] == "validated"


def test_there_must_be_something_to_take_back(home: Home, run: Run, validated: str) -> None:
    refused = run("restore_day", {"restore": {"day": validated}})
    assert failure_of(refused) == ("restore", f"day {validated} has no excluded or superseded dataset to restore")
