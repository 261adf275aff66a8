"""An encoder that changes makes exactly the days and what packs it unsynced; a backfill and a night bring all up to date.

On a copy of the project with a home of its own: three real days, the whole chain on a toy policy, a served UI, edits.
"""

import time
from collections.abc import Iterator
from typing import Any

import pytest

from tests.ui.driving import ended_runs, launch_days, shoot, until
from tests.ui.tree import Tree, copy_project, stale

pytestmark = [pytest.mark.ui, pytest.mark.timeout(1800)]
DAYS = ("2026-08-01", "2026-08-02", "2026-08-03")
OF_DAYS = ("day_catalog", "staged_day", "parquet_day")
CODE, DATA = {"has a new code version"}, {"has a new data version"}
_PATIENCE = 300.0
_NIGHT = """
from tcg_assets.sync.instance import open_instance
from tcg_assets.automation.launch import run_chain, run_day
from tcg_core.base.home import Home
from tcg_core.model.config import ModelConfig
from tcg_core.recipe import Optimizer, Recipe, Schedule, Selection, Split, Work
from tcg_core.replay.record_day import record_day

home = Home.resolve()
recipe = Recipe(
    selection=Selection(days=DAYS),
    split=Split(val_frac=0.3),
    work=Work(tbptt_chunk=8, batch_size=128),
    model=ModelConfig(d_model=32, heads=4, layers=1, ff=64, registers=4),
    optimizer=Optimizer(lr=5e-3),
    schedule=Schedule(warmup_steps=3),
    epochs=6,
)
with open_instance(home) as instance:
    for day in DAYS:
        if BUILD:
            record_day(home, day, 10)
            launched = run_day(instance, home, day)
            assert launched.success, launched.failures
    launched = run_chain(instance, home, recipe, opponents=("random",), games=2, workers=1)
    print(launched.failures)
    raise SystemExit(0 if launched.success else 1)
"""


def _night(tree: Tree, build: bool = False, status: int = 0) -> str:
    return tree.run("-c", f"DAYS, BUILD = {DAYS!r}, {build}\n{_NIGHT}", status=status)


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tree]:
    tree = copy_project(tmp_path_factory.mktemp("tree"))
    _night(tree, build=True)
    tree.start()
    yield tree
    tree.stop()


def test_after_a_first_night_nothing_is_unsynced_and_an_edit_of_the_docs_changes_nothing(tree: Tree) -> None:
    assert stale(tree.served) == {}
    tree.edit("docs/operations.md", "# Operations\n", "# Operations, edited\n")
    tree.reload()
    assert stale(tree.served) == {}


def test_a_comment_in_the_writer_of_days_changes_nothing(tree: Tree) -> None:
    tree.append("tcg_core/rows/writer.py", "\n# edited\n")
    tree.reload()
    assert stale(tree.served) == {}


def test_an_edit_that_changes_no_row_is_brought_up_to_date_by_a_backfill_alone(tree: Tree) -> None:
    tree.edit("tcg_core/days/write_day.py", "records: list[EpisodeRecord] = []", "records: list[EpisodeRecord] = list()")
    tree.reload()
    assert stale(tree.served) == {f"{asset}[{day}]": CODE for asset in OF_DAYS for day in DAYS}
    tree.run("-m", "tcg_assets.cli", "backfill", "--workers", "1")
    assert stale(tree.served) == {}, "the same rows: nothing after the days is unsynced"


def test_an_edited_encoder_makes_the_days_unsynced_and_no_plan_mixes_them(tree: Tree, page: Any) -> None:
    tree.edit(
        "tcg_core/encode/state.py", "turn, state.turn_action_count, 0 if first", "2 * turn, state.turn_action_count, 0 if first"
    )
    tree.reload()
    assert stale(tree.served) == {f"{asset}[{day}]": CODE for asset in OF_DAYS for day in DAYS} | {"submission": CODE}
    page.goto(f"{tree.served.url}/assets/parquet_day?view=partitions&partition={DAYS[0]}")
    page.get_by_text("Unsynced").first.wait_for()
    page.get_by_text("built_from_it", exact=True).first.wait_for()
    shoot(page, "stale")
    refused = _night(tree, status=1)
    assert "3 of 3 selected days were built by other code than this" in refused
    assert "`tcg backfill` builds the others again" in refused

    told = tree.run("-m", "tcg_assets.cli", "backfill", *DAYS[1:], "--newest-first", "--workers", "1")
    assert 0 < told.index(f"{DAYS[2]} built") < told.index(f"{DAYS[1]} built")
    behind = {f"{asset}[{DAYS[0]}]": CODE for asset in OF_DAYS}
    after = {"ratings": DATA, "work_plan": DATA, "submission": CODE}
    assert stale(tree.served) == behind | after
    assert "1 of 3 selected days were built by other code than this" in _night(tree, status=1)

    before = time.time()
    launch_days(tree.served, page, DAYS[:1])
    ended = until(lambda: ended_runs(tree.served, DAYS[:1], before), _PATIENCE, "the run of the day")
    assert ended == {DAYS[0]: "SUCCESS"}
    assert stale(tree.served) == after


def test_the_next_night_brings_the_descendants_up_to_date(tree: Tree) -> None:
    _night(tree)
    assert stale(tree.served) == {}


def test_a_run_of_code_that_changed_under_the_services_is_refused_until_they_are_reloaded(tree: Tree, page: Any) -> None:
    tree.edit("tcg_core/days/write_day.py", "expected: list[ExpectedLane] = []", "expected: list[ExpectedLane] = list()")
    before = time.time()
    launch_days(tree.served, page, DAYS[:1])
    ended = until(lambda: ended_runs(tree.served, DAYS[:1], before), _PATIENCE, "the refused run of the day")
    assert ended == {DAYS[0]: "FAILURE"}
    said = tree.run("-m", "tcg_assets.cli", "status")
    assert "the code changed since PID " in said and "restart `tcg ui`" in said

    tree.reload()
    before = time.time()
    launch_days(tree.served, page, DAYS[:1])
    ended = until(lambda: ended_runs(tree.served, DAYS[:1], before), _PATIENCE, "the run of the day")
    assert ended == {DAYS[0]: "SUCCESS"}
