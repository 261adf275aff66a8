"""At the end: catalog, archives, Parquet, plans, checkpoints, registry, champion and Dagster say the same. Counted anew here."""

import json
import zipfile
from collections import Counter

import dagster as dg
import numpy as np
import pyarrow.parquet as parquet

from tcg_assets.assets.partitions import days as partitions
from tcg_assets.automation.attempts import ARCHIVE_TAG, DAY_TAG
from tcg_assets.sync.fill import sync
from tcg_core.arena.champion import champion_checks
from tcg_core.base.atomic import TEMP_PREFIX
from tcg_core.base.digest import sha256_file
from tcg_core.base.home import Home
from tcg_core.base.manifest import MANIFEST, verify_files
from tcg_core.catalog.connection import catalog
from tcg_core.catalog.days import day_row
from tcg_core.catalog.promotions import BOOTSTRAP, PROMOTED, champion, history
from tcg_core.catalog.registry import rows_of
from tcg_core.catalog.verify import verify
from tcg_core.plan.load import load_plan
from tcg_core.plan.plan import Plan, Side
from tcg_core.rows.reader import ROWS
from tcg_core.train.runs import pointers
from tests.season.day_acts import SENSOR
from tests.season.nights import days_of
from tests.season.season import Season

_UNFINISHED = ("QUEUED", "NOT_STARTED", "STARTING", "STARTED", "CANCELING")


def every_episode_is_accounted_for(home: Home, days: tuple[str, ...]) -> Counter[str]:
    """Members of each day's archive against the catalog and the rows; returns how many episodes ended how."""
    found: Counter[str] = Counter()
    holder: dict[int, str] = {}
    with catalog(home) as connection:
        validated = {row["day"]: row for row in connection.execute("SELECT * FROM datasets WHERE state = 'validated'")}
        assert sorted(validated) == sorted(days), "one validated dataset of every day, and of no other"
        for day in days:
            archive = day_row(connection, day)
            assert validated[day]["archive_sha256"] == archive.archive_sha256 == sha256_file(home.root / archive.archive_path)
            with zipfile.ZipFile(home.root / archive.archive_path) as file:
                members = set(file.namelist())
            episodes = connection.execute("SELECT * FROM episodes WHERE day = ?", (day,)).fetchall()
            assert {row["member"] for row in episodes} == members, f"{day}: a member is lost or doubled"
            assert len(episodes) == len(members)
            found.update(str(row["status"]) for row in episodes)
            table = parquet.read_table(home.root / validated[day]["path"] / ROWS, columns=["episode_id"])
            held = Counter(table["episode_id"].to_pylist())
            assert held == {row["episode_id"]: row["rows"] for row in episodes if row["status"] == "rows"}, day
            assert sum(held.values()) == validated[day]["rows"]
            for episode in held:
                assert episode not in holder, f"episode {episode} is in {holder[episode]} and {day}"
                holder[episode] = day
    assert sum(found.values()) == found["rows"] + found["quarantined"] + found["excluded"]
    return found


def disk_and_registry_agree(home: Home) -> int:
    """`tcg catalog verify`, and every row of the registry by its hash; returns how many rows."""
    assert [check.message for check in verify(home) if not check.passed] == []
    rows = rows_of(home)
    for row in rows:
        assert row.path.exists(), f"{row.kind} {row.id} is not at {row.path}"
        assert row.state == "passed" or row.kind == "staged_day", f"{row.kind} {row.id} is {row.state}"
        if row.path.is_file():
            assert sha256_file(row.path) == row.content, row
        elif (row.path / MANIFEST).is_file():
            assert verify_files(row.path).content == row.content or row.kind == "staged_day", row
    return len(rows)


def plans_hold_the_rows_of_their_days(home: Home) -> dict[str, Plan]:
    """Each epoch of each plan holds every selected row once, whole days or a part of them; returns the plans."""
    plans = {row.id: load_plan(home, row.id) for row in rows_of(home, "work_plan")}
    for plan in plans.values():
        assert {day.day: day.dataset_id for day in plan.days} == days_of(home, plan.id)
        selected = _epoch_rows(plan, "validation", 0)
        train = _epoch_rows(plan, "train", 0)
        for epoch in range(plan.recipe.epochs):
            assert np.array_equal(_epoch_rows(plan, "train", epoch), train), f"plan {plan.id}: another epoch has other rows"
        both = np.sort(np.concatenate([selected, train]))
        assert len(np.unique(both)) == len(both) == plan.rows["train"] + plan.rows["validation"]
        of_days = np.concatenate([np.arange(day.first_row, day.first_row + day.rows) for day in plan.days])
        assert np.isin(both, of_days).all()
        if not plan.recipe.selection.unseen_by:
            assert np.array_equal(both, of_days), f"plan {plan.id}: rows of its days are missing"
        for day in plan.days:
            rows = parquet.read_metadata(home.root / day.path).num_rows
            assert rows == day.rows and sha256_file(home.root / day.path) == day.sha256, day
    return plans


def checkpoints_processed_what_was_planned(home: Home, plans: dict[str, Plan]) -> int:
    """Microbatches, updates and rows that each finished run counted are those of its plan; returns how many runs finished."""
    finished = {row.id for row in rows_of(home, "checkpoint")}
    assert finished <= set(plans)
    for run in finished:
        plan, directory = plans[run], home.checkpoints / run
        state = json.loads((pointers.require(directory, pointers.LATEST) / "state.json").read_text())
        planned = [[plan.count(epoch), plan.updates(epoch), plan.rows["train"]] for epoch in range(plan.recipe.epochs)]
        assert state["progress"]["processed"] == planned, run
        assert state["progress"]["updates"] == plan.horizon
        assert {path.name for path in directory.glob("step_*")} == pointers.pointed(directory), "every step some pointer names"
    return len(finished)


def champions_follow_each_other(home: Home) -> tuple[str, ...]:
    """Each decision was about the champion of its time, and the last promotion stands by its games; returns the champions."""
    reigning, reigned = BOOTSTRAP, [BOOTSTRAP]
    tournaments = {row.id for row in rows_of(home, "tournament")}
    submissions = {row.id for row in rows_of(home, "submission")}
    for decision in history(home):
        assert decision.incumbent == reigning and decision.tournament in tournaments and decision.challenger in submissions
        if decision.verdict == PROMOTED:
            reigning = decision.challenger
            reigned.append(reigning)
    assert champion(home) == reigning
    assert [check.message for check in champion_checks(home) if check.blocks] == []
    return tuple(reigned)


def each_archive_was_started_once(season: Season) -> Counter[str]:
    """The sensor started a run of each archive once, two archives of a day that was published twice; returns archives by day.

    Dagster started again what lost its process, and nothing else.
    """
    runs = season.instance.get_runs(dg.RunsFilter(job_name="ingest_day", tags={"dagster/sensor_name": SENSOR}))
    again = {run.parent_run_id for run in runs if run.parent_run_id}
    lost = {run.run_id for run in runs if run.run_id in again}
    failed = {run.run_id for run in runs if run.status is dg.DagsterRunStatus.FAILURE and _lost_its_process(season, run.run_id)}
    assert again == lost == failed and again
    started = Counter((run.tags[DAY_TAG], run.tags[ARCHIVE_TAG]) for run in runs if not run.parent_run_id)
    assert set(started.values()) == {1}, [key for key, count in started.items() if count > 1]
    return Counter(day for day, _ in started)


def _lost_its_process(season: Season, run_id: str) -> bool:
    """True of a run that failed though none of its steps did."""
    return season.instance.all_logs(run_id, of_type=dg.DagsterEventType.STEP_FAILURE) == []


def nothing_is_left_over(season: Season) -> None:
    """No temporary file, no run that Dagster believes alive, no pool slot that is held, no trainer's lock."""
    home, instance = season.home, season.instance
    assert sorted(home.root.rglob(f"{TEMP_PREFIX}*")) == []
    statuses = [dg.DagsterRunStatus(name) for name in _UNFINISHED]
    assert instance.get_runs(dg.RunsFilter(statuses=statuses)) == []
    pool = instance.event_log_storage.get_concurrency_info("trainer")
    assert (pool.slot_count, pool.claimed_slots, pool.pending_steps) == (1, [], [])
    assert not home.spill.exists() or not list(home.spill.iterdir())


def dagster_knows_all_of_it(season: Season, days: tuple[str, ...]) -> None:
    """Its partitions are the days, and `tcg sync` finds nothing to tell."""
    assert sorted(season.instance.get_dynamic_partitions(partitions.name or "")) == sorted(days)
    told = sync(season.instance, season.home)
    assert (told.partitions, told.materializations, told.absent) == ((), 0, ())


def _epoch_rows(plan: Plan, side: Side, epoch: int) -> "np.ndarray[tuple[int], np.dtype[np.int64]]":
    parts = [
        np.arange(first, first + rows)
        for batch in plan.microbatches(epoch, side)
        for first, rows in zip(batch.first_row.tolist(), batch.rows.tolist(), strict=True)
    ]
    return np.sort(np.concatenate(parts))
