"""Days by the buttons of the UI, through the real daemon and the real stages. After the pages, which show older results."""

import time
from typing import Any

import pytest

from tcg_core.catalog.connection import catalog
from tcg_core.catalog.datasets import datasets_of
from tests.ui.conftest import Served
from tests.ui.driving import ask, ended_runs, launch_days, shoot, until
from tests.ui.live import BROKEN, FIRST, LAST

pytestmark = pytest.mark.ui
_PATIENCE = 150.0


def test_a_day_is_materialized_by_the_button(served: Served, page: Any) -> None:
    launch_days(served, page, (FIRST,))
    assert until(lambda: ended_runs(served, (FIRST,)), _PATIENCE, "the run of the day") == {FIRST: "SUCCESS"}
    page.goto(f"{served.url}/assets/parquet_day?view=partitions&partition={FIRST}")
    page.get_by_text("dagster/partition_row_count").first.wait_for()
    shoot(page, "materialized_day")
    assert _states(served, FIRST) == ["validated"]


def test_a_backfill_over_three_days_stops_at_the_bad_one_alone(served: Served, page: Any) -> None:
    days, before = (FIRST, BROKEN, LAST), time.time()
    launch_days(served, page, days, shot="backfill_dialog")
    until(lambda: len(ended_runs(served, days, before)) == len(days), _PATIENCE, "the runs of the backfill")
    assert ended_runs(served, days, before) == {FIRST: "SUCCESS", BROKEN: "FAILURE", LAST: "SUCCESS"}
    told = ask(
        served,
        '{ assetNodeOrError(assetKey: {path: ["parquet_day"]}) { ... on AssetNode { assetPartitionStatuses'
        " { ... on DefaultPartitionStatuses { materializedPartitions failedPartitions } } } } }",
    )["assetNodeOrError"]["assetPartitionStatuses"]
    assert {FIRST, LAST} <= set(told["materializedPartitions"])
    assert BROKEN not in told["materializedPartitions"]
    assert [_states(served, day) for day in days] == [["validated"], ["failed"], ["validated"]]
    assert BROKEN in told["failedPartitions"]
    page.goto(f"{served.url}/assets/parquet_day?view=partitions&partition={BROKEN}")
    page.get_by_text(BROKEN).first.wait_for()
    shoot(page, "bad_day")
    page.goto(f"{served.url}/runs?view=backfills")
    page.get_by_text("3 partitions").first.wait_for()
    shoot(page, "backfill")


def _states(served: Served, day: str) -> list[str]:
    with catalog(served.home) as connection:
        return [row.state for row in datasets_of(connection, day)]
