"""What pages are told later: once, when it changes, and again when it is no longer so."""

from collections.abc import Iterator
from typing import Any

import dagster as dg
import pytest

from tcg_assets.pages.observe import ASSETS, day_page, tell_lineage
from tcg_core.base.home import Home
from tcg_core.catalog.connection import catalog, transaction
from tcg_core.catalog.datasets import mark, validate
from tcg_core.catalog.promotions import record
from tests.ops.chain import artifact, chain, day

FIRST, SECOND = "2026-08-01", "2026-08-02"


@pytest.fixture
def instance() -> Iterator[dg.DagsterInstance]:
    with dg.DagsterInstance.ephemeral() as ephemeral:
        ephemeral.add_dynamic_partitions("days", [FIRST, SECOND])
        yield ephemeral


def materialize(instance: dg.DagsterInstance) -> None:
    for name in (FIRST, SECOND):
        instance.report_runless_asset_event(dg.AssetMaterialization("parquet_day", partition=name))
    for asset in ASSETS.values():
        instance.report_runless_asset_event(dg.AssetMaterialization(asset))


def told(instance: dg.DagsterInstance, asset: str, partition: str | None = None) -> dict[str, Any]:
    which = dg.AssetRecordsFilter(dg.AssetKey(asset), asset_partitions=[partition] if partition else None)
    records = instance.fetch_observations(which, limit=1).records
    observed = records[0].asset_observation if records else None
    return {name: value.value for name, value in observed.metadata.items()} if observed else {}


def test_each_page_is_told_once_and_again_when_it_changes(home: Home, instance: dg.DagsterInstance) -> None:
    first, second = day(home, FIRST), day(home, SECOND)
    chain(home, "both", (first, second))
    assert tell_lineage(instance, home) == 0, "no page without a materialization"
    materialize(instance)
    assert tell_lineage(instance, home) == 3, "two days and the submission, which was played"
    assert tell_lineage(instance, home) == 0
    way = "plan plan-both, checkpoint checkpoint-both, artifact torch_artifact-both, submission submission-both"
    assert way in told(instance, "parquet_day", FIRST)["built_from_it"]
    assert told(instance, "parquet_day", FIRST) == {name: value.value for name, value in day_page(home, FIRST).items()}
    chain(home, "second", (second,))
    assert tell_lineage(instance, home, [FIRST]) == 1, "the submission is another; of the days only the one asked for"
    assert tell_lineage(instance, home) == 1, "the other day"
    assert told(instance, "parquet_day", SECOND)["submissions_from_it"] == 2
    assert told(instance, "parquet_day", FIRST)["submissions_from_it"] == 1


def test_a_day_left_out_marks_every_page_until_it_is_taken_back(home: Home, instance: dg.DagsterInstance) -> None:
    built = day(home, FIRST)
    chain(home, "a", (built,))
    materialize(instance)
    tell_lineage(instance, home)
    with catalog(home) as connection:
        path = connection.execute("SELECT path FROM datasets").fetchone()["path"]
        with transaction(connection):
            mark(connection, FIRST, built.id, "excluded", "bots only")
    tell_lineage(instance, home)
    line = f"| {FIRST} | built from superseded day {FIRST} (excluded: bots only) |"
    for kind in ("work_plan", "checkpoint", "torch_artifact", "submission", "tournament"):
        assert line in told(instance, ASSETS[kind])["built_from_changed_days"], kind
    assert "bots only" in told(instance, "parquet_day", FIRST)["built_from_it"]
    materialize(instance)
    assert tell_lineage(instance, home) >= len(ASSETS) - 1, "a page shows what was observed since its last materialization"
    with catalog(home) as connection, transaction(connection):
        validate(connection, FIRST, built.id, path)
    tell_lineage(instance, home)
    assert told(instance, "work_plan") == {"built_from_changed_days": "none any more"}
    assert "built_from_changed_days" not in told(instance, "submission")
    assert "bots only" not in told(instance, "parquet_day", FIRST)["built_from_it"]


def test_the_submission_s_page_follows_the_champion(home: Home, instance: dg.DagsterInstance) -> None:
    made = chain(home, "a", (day(home, FIRST),))
    materialize(instance)
    tell_lineage(instance, home)
    assert told(instance, "submission")["champion"] == "no: nothing was decided about it; heuristic reigns"
    artifact(home, "tournament", "more", (made["submission"].as_input(),))
    record(home, "submission-a", "heuristic", "more", "promoted", "it won")
    assert tell_lineage(instance, home) == 2, "the submission, and the day that it was built from"
    page = told(instance, "submission")
    assert page["champion"] == "yes, it reigns: it won"
    assert "| more | heuristic | promoted | it won |" in page["decisions"]
    assert "promoted against heuristic, reigns" in told(instance, "parquet_day", FIRST)["built_from_it"]


def test_the_submission_s_overview_tells_its_outcome_and_stays_in_step(home: Home, instance: dg.DagsterInstance) -> None:
    """An Overview shows the latest materialization: once played, that one leads with the outcome, versions as before."""
    made = chain(home, "a", (day(home, FIRST),))
    key = dg.AssetKey("submission")
    tags, metadata = {"dagster/data_version": "v"}, {"verdict": "Good", "outcome": "not yet", "id": made["submission"].id}
    instance.report_runless_asset_event(dg.AssetMaterialization(key, metadata=metadata, tags=tags))
    tell_lineage(instance, home)
    [record] = instance.fetch_materializations(key, limit=1).records
    assert record.asset_materialization is not None
    page = {name: value.value for name, value in record.asset_materialization.metadata.items()}
    assert next(iter(page)) == "verdict" and str(page["verdict"]).startswith("**Champion: no: nothing was decided about it")
    assert page["outcome"] == "no: nothing was decided about it; heuristic reigns"
    assert list(page)[-1] == "id", "ids stand last"
    assert record.asset_materialization.tags == tags
    count = len(instance.fetch_materializations(key, limit=10).records)
    tell_lineage(instance, home)
    assert len(instance.fetch_materializations(key, limit=10).records) == count == 2, "told once"
