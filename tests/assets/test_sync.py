"""A new Dagster home learns from catalog and manifests what an old one knew, once."""

from typing import Any

import dagster as dg
from typer.testing import CliRunner

from tcg_assets.cli.main import app
from tcg_assets.sync.fill import DAY_KINDS, KINDS, sync
from tcg_core.base.errors import TcgError
from tcg_core.base.home import Home
from tests.assets.conftest import Run
from tests.assets.fakes import Stages, checks_for, fake_built

DAY, BAD = "2026-08-01", "2026-08-02"


def _history(instance: dg.DagsterInstance, asset: str) -> list[Any]:
    return list(instance.fetch_materializations(dg.AssetKey(asset), limit=100).records)


def _tags(instance: dg.DagsterInstance, asset: str) -> dict[str, str]:
    tags = _history(instance, asset)[0].asset_materialization.tags
    # Fake manifests name no real code; test_end_to_end.py compares that.
    return {name: value for name, value in tags.items() if "input_event_pointer" not in name and "code_version" not in name}


def _checks(instance: dg.DagsterInstance, asset: str) -> dict[str, tuple[bool, str, bool]]:
    from tcg_assets.checks import severity_of

    storage, found = instance.event_log_storage, {}
    for name in severity_of(asset):
        for record in storage.get_asset_check_execution_history(dg.AssetCheckKey(dg.AssetKey(asset), name), limit=1):
            told = record.event.dagster_event.asset_check_evaluation_data
            found[name] = (told.passed, told.severity.value, told.blocking)
    return found


def test_a_new_home_is_told_what_the_runs_told_the_old_one(
    run: Run, stages: Stages, home: Home, instance: dg.DagsterInstance
) -> None:
    assert run("ingest_day", partition_key=DAY).success
    assert run("nightly").success
    with dg.DagsterInstance.ephemeral() as fresh:
        told = sync(fresh, home)
        assert told.materializations == len(DAY_KINDS) + len([kind for kind in KINDS if _history(instance, kind)])
        assert told.absent == ()
        for asset in DAY_KINDS | KINDS:
            if _history(instance, asset):
                assert _tags(fresh, asset) == _tags(instance, asset), asset
                assert _checks(fresh, asset) == _checks(instance, asset), asset
        [day] = _history(fresh, "parquet_day")
        assert day.partition_key == DAY
        metadata = day.asset_materialization.metadata
        assert metadata["dagster/partition_row_count"].value == 2
        assert "base64," in metadata["plot_plot"].value
        again = sync(fresh, home)
        assert (again.partitions, again.materializations, again.checks) == ((), 0, 0)


def test_a_home_that_knows_everything_is_told_nothing(run: Run, stages: Stages, home: Home, instance: dg.DagsterInstance) -> None:
    assert run("ingest_day", partition_key=DAY).success
    assert sync(instance, home).materializations == 0


def test_a_failed_check_is_told_as_failed_and_blocking(run: Run, stages: Stages, home: Home) -> None:
    stages.failing = "legal_labels"
    assert not run("ingest_day", partition_key=BAD).success
    with dg.DagsterInstance.ephemeral() as fresh:
        sync(fresh, home)
        assert _checks(fresh, "staged_day")["legal_labels"] == (False, "ERROR", True)
        assert not _history(fresh, "parquet_day")


def test_only_the_days_asked_for_are_told(run: Run, stages: Stages, home: Home) -> None:
    assert run("ingest_day", partition_key=DAY).success
    assert run("ingest_day", partition_key=BAD).success
    assert run("nightly").success
    with dg.DagsterInstance.ephemeral() as fresh:
        assert sync(fresh, home, [BAD]).materializations == len(DAY_KINDS)
        assert [record.partition_key for record in _history(fresh, "parquet_day")] == [BAD]
        assert sync(fresh, home).materializations > len(DAY_KINDS)


def test_what_is_registered_but_gone_is_named_and_not_told(run: Run, stages: Stages, home: Home) -> None:
    import shutil

    assert run("ingest_day", partition_key=DAY).success
    shutil.rmtree(home.days)
    with dg.DagsterInstance.ephemeral() as fresh:
        told = sync(fresh, home)
        assert [line.split(":")[0] for line in told.absent] == [f"parquet_day parquet_day-{DAY}"]
        assert not _history(fresh, "parquet_day")


def test_the_command_refuses_a_name_that_is_no_day(home: Home) -> None:
    refused = CliRunner().invoke(app, ["sync", "yesterday"]).exception
    assert isinstance(refused, TcgError) and str(refused).startswith("day 'yesterday' is not a date")


def test_of_a_long_history_checks_are_told_of_the_newest_day_and_of_bad_ones(run: Run, stages: Stages, home: Home) -> None:
    for day in (DAY, "2026-08-03"):
        assert run("ingest_day", partition_key=day).success
    stages.failing = "legal_labels"
    assert not run("ingest_day", partition_key=BAD).success
    with dg.DagsterInstance.ephemeral() as fresh:
        sync(fresh, home)
        key = dg.AssetCheckKey(dg.AssetKey("staged_day"), "legal_labels")
        told = fresh.event_log_storage.get_asset_check_execution_history(key, limit=10)
        passed = [record.event.dagster_event.asset_check_evaluation_data.passed for record in reversed(told)]
        assert passed == [False, True], "the bad day, then the newest"
        assert len(_history(fresh, "staged_day")) == 3


def test_the_same_bytes_under_another_id_are_told_since_the_id_stands_for_code_and_inputs(
    run: Run, stages: Stages, home: Home
) -> None:
    assert run("ingest_day", partition_key=DAY).success
    with dg.DagsterInstance.ephemeral() as fresh:
        sync(fresh, home)
        before = _history(fresh, "parquet_day")
        fake_built(home, "parquet_day", "built-again", home.days / DAY, checks_for("parquet_day"), rows=2)
        assert sync(fresh, home).materializations == 1
        again = _history(fresh, "parquet_day")
        assert len(again) == len(before) + 1
        assert again[0].asset_materialization.metadata["id"].value == "built-again"
        assert (
            again[0].asset_materialization.tags["dagster/data_version"]
            == before[0].asset_materialization.tags["dagster/data_version"]
        )
        assert sync(fresh, home).materializations == 0
