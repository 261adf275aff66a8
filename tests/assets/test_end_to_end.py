"""The real stages on real games: days that are good, broken, changed, and the whole chain on a toy policy."""

import shutil
import zipfile
from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import pytest
from dagster._core.definitions.data_version import CachingStaleStatusResolver
from dagster._core.definitions.partitions.context import partition_loading_context
from dagster._core.loader import LoadingContextForTest

from tcg_assets.assets.jobs import CHAIN_ASSETS
from tcg_assets.automation.launch import run_chain, run_day
from tcg_assets.checks import severity_of
from tcg_assets.pages.observe import tell_lineage
from tcg_assets.sync.fill import sync
from tcg_assets.sync.instance import open_instance
from tcg_assets.sync.mirror import mirror_days
from tcg_core.base.home import VARIABLE, Home
from tcg_core.catalog.connection import catalog
from tcg_core.catalog.datasets import datasets_of
from tcg_core.catalog.registry import latest_passed
from tcg_core.model.config import ModelConfig
from tcg_core.recipe import Optimizer, Recipe, Schedule, Selection, Split, Work
from tcg_core.replay.record_day import record_day

DAY, BROKEN, CHANGED = "2026-08-01", "2026-08-02", "2026-08-03"
RECIPE = Recipe(
    selection=Selection(days=(DAY,)),
    split=Split(val_frac=0.3),
    work=Work(tbptt_chunk=8, batch_size=128),
    model=ModelConfig(d_model=32, heads=4, layers=1, ff=64, registers=4),
    optimizer=Optimizer(lr=5e-3),
    schedule=Schedule(warmup_steps=3),
    epochs=6,
)
#: What every page shows, and what each shows besides.
IDENTITY = ("verdict", "id", "path", "bytes", "seconds", "reused", "content_sha256", "code", "inputs")
_TABLE = ("dagster/row_count", "columns", "file")
_DAY_TABLE = ("dagster/partition_row_count", "columns", "plot_shape")
REQUIRED: dict[str, tuple[str, ...]] = {
    "day_archive": ("members", "sha256", "directory_digest"),
    "day_catalog": ("dagster/partition_row_count", "catalog_columns", "plot_shape", "catalog", "episodes", "quarantined"),
    "staged_day": (*_DAY_TABLE, "episodes", "becomes"),
    "parquet_day": (*_DAY_TABLE, "file", "episodes", "state", "built_from_it", "schema_digest"),
    "field_drift": ("file", "games", "plot_field"),
    "ratings": (*_TABLE, "catalog_columns", "catalog", "plot_ratings"),
    "card_features": ("file", "cards", "attacks"),
    "work_plan": (*_TABLE, "train_rows", "validation_rows", "plot_microbatches", "card_features"),
    "mlx_checkpoint": ("file", "train_rows", "val_acc", "plot_curves", "work_plan"),
    "torch_artifact": ("file", "parity", "reload", "parameters", "checkpoint"),
    "submission": ("file", "days", "days_count", "episodes", "rows", "checkpoint", "parity", "preflight", "plot_curves"),
    "tournament": (*_TABLE, "results", "plot_scores", "submission"),
    "champion": ("catalog_columns", "catalog", "champion", "verdict", "reason", "tournament"),
}
#: What a run knows and a history that is filled from disk does not.
NOT_SYNCED = {
    "staged_day": ("becomes",),
    "parquet_day": ("state", "built_from_it", "schema_digest"),
    "card_features": ("cards", "attacks"),
    "work_plan": ("card_features",),
    "mlx_checkpoint": ("work_plan",),
    "torch_artifact": ("checkpoint",),
    "tournament": ("submission",),
}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(VARIABLE, str(tmp_path_factory.mktemp("home") / "data"))
        yield Home.resolve().prepare()


@pytest.fixture(scope="module")
def instance(home: Home) -> Iterator[dg.DagsterInstance]:
    with open_instance(home) as opened:
        yield opened


def test_a_recorded_day_is_promoted_once(home: Home, instance: dg.DagsterInstance) -> None:
    record_day(home, DAY, 24)
    launched = run_day(instance, home, DAY)
    assert launched.success, launched.failures
    made = launched.made["parquet_day"]
    assert _states(home, DAY) == ["validated"]
    assert made["dagster/partition_row_count"] == made["rows"] > 500
    assert len(made["columns"].columns) > 30
    assert Path(made["path"], "rows.parquet").is_file()
    again = run_day(instance, home, DAY)
    assert again.run_id == ""
    assert again.skipped.startswith(f"validated dataset {made['id']} of archive")


def test_a_day_of_broken_episodes_stops_itself(home: Home, instance: dg.DagsterInstance) -> None:
    path = record_day(home, BROKEN, 3)
    with zipfile.ZipFile(path) as archive:
        members = {info.filename: archive.read(info) for info in archive.infolist()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for number, (name, data) in enumerate(members.items()):
            archive.writestr(name, data if number else data[: len(data) // 2])
    launched = run_day(instance, home, BROKEN)
    assert not launched.success
    assert any("check quarantine_fraction of staged_day failed" in failure for failure in launched.failures)
    assert "parquet_day" not in launched.made
    assert _states(home, BROKEN) == ["failed"]


def test_a_file_that_is_no_zip_is_refused_in_one_line_and_nothing_is_moved(home: Home, instance: dg.DagsterInstance) -> None:
    path = home.inbox / "2026-08-09.zip"
    path.write_bytes(b"this is no zip archive")
    [failure] = run_day(instance, home, "2026-08-09").failures
    assert failure.startswith("day_archive: ")
    assert "2026-08-09.zip" in failure
    assert "\n" not in failure
    assert path.is_file()
    assert not (home.archives / "2026-08-09").exists()


def test_a_changed_archive_is_built_again_and_supersedes(home: Home, instance: dg.DagsterInstance, tmp_path: Path) -> None:
    record_day(home, CHANGED, 3)
    first = run_day(instance, home, CHANGED)
    assert first.success, first.failures
    published_again = record_day(Home(tmp_path / "other").prepare(), CHANGED, 4, seed=14)
    shutil.copy(published_again, home.inbox)
    second = run_day(instance, home, CHANGED)
    assert second.success, second.failures
    assert second.run_id
    assert second.made["parquet_day"]["id"] != first.made["parquet_day"]["id"]
    assert sorted(_states(home, CHANGED)) == ["superseded", "validated"]


def test_the_chain_ends_in_a_tournament_and_is_reused_as_it_is(home: Home, instance: dg.DagsterInstance) -> None:
    assert run_day(instance, home, DAY).success
    launched = run_chain(instance, home, RECIPE, opponents=("random",), games=2, workers=1)
    assert launched.success, launched.failures
    made = launched.made
    assert made["mlx_checkpoint"]["id"] == made["work_plan"]["id"]
    assert made["torch_artifact"]["checkpoint"].startswith(made["work_plan"]["id"])
    assert "base64," in made["mlx_checkpoint"]["plot_curves"]
    again = run_chain(instance, home, RECIPE, opponents=("random",), games=2, workers=1)
    assert again.success, again.failures
    assert all(values["reused"] for values in again.made.values())
    assert all(values["id"] == made[asset]["id"] for asset, values in again.made.items())
    assert _stale(instance) == {}, "the same inputs, configuration and code are not stale in the UI"


def test_a_new_dagster_home_is_filled_from_disk_and_nothing_is_stale_in_it(
    home: Home, instance: dg.DagsterInstance, tmp_path: Path
) -> None:
    with dg.DagsterInstance.local_temp(str(tmp_path)) as fresh:
        told = sync(fresh, home)
        assert told.partitions == (DAY, BROKEN, CHANGED)
        assert told.absent == ()
        keys = [dg.AssetKey("parquet_day"), dg.AssetKey("staged_day")]
        promoted, staged = (set(fresh.get_materialized_partitions(key)) for key in keys)
        assert (promoted, staged) == ({DAY, CHANGED}, {DAY, BROKEN, CHANGED})
        assert _stale(fresh) == {}


def test_a_new_dagster_home_knows_the_days_of_the_catalog(home: Home, instance: dg.DagsterInstance) -> None:
    with dg.DagsterInstance.ephemeral() as fresh:
        assert mirror_days(fresh, home) == [DAY, BROKEN, CHANGED]
        assert mirror_days(fresh, home) == []
        assert list(fresh.get_dynamic_partitions("days")) == [DAY, BROKEN, CHANGED]


def test_every_page_shows_what_a_person_asks_of_it(home: Home, instance: dg.DagsterInstance, tmp_path: Path) -> None:
    with dg.DagsterInstance.local_temp(str(tmp_path)) as fresh:
        sync(fresh, home)
        for asset, needed in {asset: {*IDENTITY, *keys} for asset, keys in REQUIRED.items()}.items():
            for source, without in ((instance, set()), (fresh, {"seconds", "reused", *NOT_SYNCED.get(asset, ())})):
                event = source.get_latest_materialization_event(dg.AssetKey(asset))
                assert event is not None and event.asset_materialization is not None, asset
                metadata = event.asset_materialization.metadata
                assert needed - without <= set(metadata), (asset, needed - without - set(metadata))
                for name in ("columns", "catalog_columns"):
                    for column in metadata[name].schema.columns if name in metadata else ():
                        assert column.description, (asset, column.name)
                for name in ("file", "catalog", "path"):
                    # What was staged is where promotion moved it.
                    if name in metadata and asset not in ("day_catalog", "staged_day"):
                        assert Path(metadata[name].path).exists(), (asset, name)


def test_a_submission_s_page_answers_what_it_is_and_what_became_of_it(home: Home, instance: dg.DagsterInstance) -> None:
    event = instance.get_latest_materialization_event(dg.AssetKey("submission"))
    assert event is not None and event.asset_materialization is not None
    made = {name: value.value for name, value in event.asset_materialization.metadata.items()}
    assert f"| {DAY} |" in made["days"] and made["days_count"] == 1
    assert made["episodes"] == 24 and made["rows"] > 500
    assert made["checkpoint"].startswith(f"{made['work_plan']} step_") and "val_acc 0." in made["checkpoint"]
    assert "base64," in made["plot_curves"] and made["parity"].startswith("passed: ")
    assert made["preflight"].count("| passed |") == len(severity_of("submission"))
    [observed] = instance.fetch_observations(dg.AssetKey("submission"), limit=1).records
    became = {name: value.value for name, value in observed.asset_observation.metadata.items()}
    assert became["results_of"] == made["id"]
    assert "| random |" in became["results"] and "| heuristic |" in became["results"] and "95 % from" in became["results"]
    assert became["champion"].startswith(("no, ", "yes, it reigns"))
    assert "heuristic" in became["decisions"]


def test_a_day_lists_what_was_built_from_it_and_the_mark_of_one_published_again(
    home: Home, instance: dg.DagsterInstance, tmp_path: Path
) -> None:
    def told(asset: str, day: str | None = None) -> str:
        which = dg.AssetRecordsFilter(dg.AssetKey(asset), asset_partitions=[day]) if day else dg.AssetKey(asset)
        [record] = instance.fetch_observations(which, limit=1).records
        return str({name: value.value for name, value in record.asset_observation.metadata.items()})

    ids = {kind: latest_passed(home, kind) for kind in ("work_plan", "torch_artifact", "submission", "tournament")}
    assert all(id in told("parquet_day", DAY) for id in ids.values())
    assert "superseded" not in told("submission")
    assert tell_lineage(instance, home) == 0, "nothing is told twice"
    shutil.copy(record_day(Home(tmp_path / "other").prepare(), DAY, 4, seed=15), home.inbox)
    assert run_day(instance, home, DAY).success
    for asset, kind in (("work_plan", "work_plan"), ("torch_artifact", "torch_artifact"), ("submission", "submission")):
        assert f"| {ids[kind]} | {DAY} | built from superseded day {DAY} (re-published" in told(asset), asset
    event = instance.get_latest_materialization_event(dg.AssetKey("parquet_day"))
    assert event is not None and event.asset_materialization is not None
    listed = event.asset_materialization.metadata["built_from_it"].value
    assert ids["submission"] in listed and "built from superseded day" in listed


def _stale(instance: dg.DagsterInstance) -> dict[str, list[str]]:
    from tcg_assets.definitions import defs

    with partition_loading_context(dynamic_partitions_store=instance):
        resolver = CachingStaleStatusResolver(instance, defs.resolve_asset_graph(), LoadingContextForTest(instance))
        keys = [dg.AssetKey(asset) for asset in CHAIN_ASSETS]
        causes = {key.to_user_string(): [cause.reason for cause in resolver.get_stale_causes(key)] for key in keys}
    return {asset: found for asset, found in causes.items() if found}


def _states(home: Home, day: str) -> list[str]:
    with catalog(home) as connection:
        return [row.state for row in datasets_of(connection, day)]
