"""What 1,000 day partitions cost: selecting them, mirroring them, asking Dagster whether the plan is stale.

`python bench/operations.py [DAYS]` makes a throw-away home whose days share one real day's file by hard links.
"""

import os
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import dagster as dg
from dagster._core.definitions.data_version import CachingStaleStatusResolver
from dagster._core.definitions.partitions.context import partition_loading_context
from dagster._core.loader import LoadingContextForTest

from tcg_assets.definitions import defs
from tcg_assets.mirror import mirror_days
from tcg_assets.news import news
from tcg_core.backfill import backfill
from tcg_core.catalog.connection import catalog, transaction
from tcg_core.home import VARIABLE, Home
from tcg_core.replay.record_day import record_day

FIRST = "2020-01-01"


def main() -> None:
    """Prints one line a figure, wall and processor seconds."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    with tempfile.TemporaryDirectory() as root:
        os.environ[VARIABLE] = f"{root}/data"
        home = Home.resolve().prepare()
        record_day(home, FIRST, 4, ("random", "random"))
        list(backfill(home))
        copy_days(home, count)
        Path(root, "dagster").mkdir()
        with dg.DagsterInstance.local_temp(f"{root}/dagster") as instance:
            timed("mirror the catalog's days", lambda: mirror_days(instance, home))
            timed("mirror them again", lambda: mirror_days(instance, home))
            timed("select the days and their digest, as the schedule does", lambda: news(home))
            key = dg.AssetKey("parquet_day")
            timed(
                "tell Dagster of every day", lambda: [tell(instance, key, day) for day in instance.get_dynamic_partitions("days")]
            )
            timed("load the plan's node and ask whether it is stale", lambda: stale(instance))
            timed("partitions of parquet_day that are materialized", lambda: len(instance.get_materialized_partitions(key)))


def copy_days(home: Home, count: int) -> None:
    """Fills the catalog up to ``count`` validated days, each with a directory of hard links to the first one's files."""
    with catalog(home) as connection, transaction(connection):
        day = dict(connection.execute("SELECT * FROM days").fetchone())
        dataset = dict(connection.execute("SELECT * FROM datasets").fetchone())
        verified = dict(connection.execute("SELECT * FROM verified_files").fetchone())
        for offset in range(1, count):
            name = (date.fromisoformat(FIRST) + timedelta(days=offset)).isoformat()
            path = dataset["path"].replace(FIRST, name)
            (home.root / path).mkdir(parents=True)
            for file in (home.root / dataset["path"]).iterdir():
                os.link(file, home.root / path / file.name)
            insert(connection, "days", day | {"day": name})
            insert(connection, "datasets", dataset | {"day": name, "path": path})
            insert(connection, "verified_files", verified | {"path": verified["path"].replace(FIRST, name)})


def insert(connection: Any, table: str, row: dict[str, Any]) -> None:
    """Inserts one row."""
    connection.execute(f"INSERT INTO {table} ({', '.join(row)}) VALUES ({', '.join('?' * len(row))})", list(row.values()))


def tell(instance: dg.DagsterInstance, key: dg.AssetKey, day: str) -> None:
    """One materialization without a run."""
    instance.report_runless_asset_event(dg.AssetMaterialization(key, partition=day))


def stale(instance: dg.DagsterInstance) -> str:
    """The status that the UI shows of the plan."""
    instance.report_runless_asset_event(dg.AssetMaterialization("work_plan"))
    with partition_loading_context(dynamic_partitions_store=instance):
        resolver = CachingStaleStatusResolver(instance, defs.resolve_asset_graph(), LoadingContextForTest(instance))
        return str(resolver.get_status(dg.AssetKey("work_plan")).value)


def timed(what: str, work: Callable[[], Any]) -> None:
    """Runs and prints one figure."""
    wall, processor = time.perf_counter(), time.process_time()
    work()
    print(f"{what}: {time.perf_counter() - wall:.2f} s, {time.process_time() - processor:.2f} s of processor", flush=True)


if __name__ == "__main__":
    main()
