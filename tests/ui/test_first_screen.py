"""The card of each asset stands in the first screen: its verdict without a click, whole within 900 pixels."""

from typing import Any

import pytest

from tests.ui.conftest import Served
from tests.ui.driving import shoot
from tests.ui.live import GOOD

pytestmark = pytest.mark.ui
_CHAIN = ("ratings", "card_features", "work_plan", "mlx_checkpoint", "torch_artifact", "submission", "tournament", "champion")
_OF_DAYS = ("day_archive", "day_catalog", "staged_day", "parquet_day", "field_drift")


@pytest.mark.parametrize("asset", [*_CHAIN, *_OF_DAYS])
def test_the_verdict_is_in_the_first_screen(served: Served, page: Any, asset: str) -> None:
    page.set_viewport_size({"width": 1400, "height": 900})
    view = f"view=partitions&partition={GOOD}" if asset in _OF_DAYS else "view=overview"
    page.goto(f"{served.url}/assets/{asset}?{view}")
    row = page.get_by_text("verdict", exact=True).first
    row.wait_for()
    said = page.locator("strong").first
    said.wait_for()
    for place in (row.bounding_box(), said.bounding_box()):
        assert place["y"] > 0 and place["y"] + place["height"] < 900
    shoot(page, f"first_{asset}")
