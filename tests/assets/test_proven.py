"""A day that was proven equal is not unsynced: Dagster is told of it as the work of this code."""

import dagster as dg
import pytest
from dagster._core.definitions.data_version import CachingStaleStatusResolver, StaleStatus
from dagster._core.loader import LoadingContextForTest

from tcg_assets.definitions import defs
from tcg_assets.sync.fill import BUILT, sync
from tcg_core.base.home import Home
from tcg_core.catalog.connection import catalog
from tcg_core.days.drift import field_drift
from tcg_core.days.prove import prove_day
from tests.days.rewritten import rewrite

OTHER = "0123456789abcdef"
ASSETS = ("day_archive", *BUILT, "field_drift")


def _statuses(instance: dg.DagsterInstance, day: str) -> dict[str, StaleStatus]:
    resolver = CachingStaleStatusResolver(instance, defs.resolve_asset_graph(), LoadingContextForTest(instance))
    return {asset: resolver.get_status(dg.AssetKey(asset), day) for asset in ASSETS}


def test_a_proof_makes_a_day_of_other_code_fresh_again(
    real_day: tuple[Home, str], instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    home, day = real_day
    rewrite(home, day, code=OTHER)
    field_drift(home, day)
    sync(instance, home)
    before = _statuses(instance, day)
    assert [before[asset] for asset in ("staged_day", "parquet_day")] == [StaleStatus.STALE] * 2
    assert prove_day(home, day).state == "equal"
    assert sync(instance, home, [day]).materializations > 0
    assert _statuses(instance, day) == dict.fromkeys(ASSETS, StaleStatus.FRESH)
    assert sync(instance, home).materializations == 0, "once"
    [record] = instance.fetch_observations(
        dg.AssetRecordsFilter(dg.AssetKey("parquet_day"), asset_partitions=[day]), limit=1
    ).records
    assert record.asset_observation is not None
    with catalog(home) as connection:
        [evidence] = connection.execute("SELECT evidence FROM day_proofs").fetchone()
    listed = str(record.asset_observation.metadata["proven_equal"].value)
    assert evidence in listed and "5 of 5" in listed
