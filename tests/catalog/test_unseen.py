"""Days that a run has not seen and the sample of those it has: what is new, what is rehearsed, what a cap leaves."""

import json

import pytest

from tcg_core.base.errors import ConfigError, IntegrityError, UnknownId
from tcg_core.base.home import Home
from tcg_core.catalog.caps import EpisodeRows, capped
from tcg_core.catalog.connection import catalog
from tcg_core.catalog.errors import SelectionEmpty
from tcg_core.catalog.seen import seen_by
from tcg_core.catalog.selection import SelectedDay, select_days
from tcg_core.recipe import SPLIT_SEED, Selection
from tests.catalog.helpers import add_day, episode, planned

SEEN, NEW = ("2026-08-01", "2026-08-02"), ("2026-08-03", "2026-08-04")
FIRST, SECOND = "a" * 16, "b" * 16


def chosen(home: Home, **selection: object) -> dict[str, SelectedDay]:
    values = {"all_days": True, "unseen_by": SECOND} | selection
    with catalog(home) as connection:
        return {day.day: day for day in select_days(connection, Selection(**values))}  # type: ignore[arg-type]


@pytest.fixture
def four(home: Home) -> Home:
    """Four days of 20 episodes of 10 rows; run FIRST saw the first, run SECOND went on from it with the second."""
    for number, day in enumerate((*SEEN, *NEW), 1):
        add_day(home, day, [episode(100 * number + i) for i in range(20)])
    planned(home, FIRST, SEEN[:1])
    planned(home, SECOND, SEEN[1:], FIRST)
    return home


def test_what_the_run_and_those_before_it_saw_is_not_new(four: Home) -> None:
    assert seen_by(four, SECOND).runs == (SECOND, FIRST)
    assert list(chosen(four)) == list(NEW)
    assert list(chosen(four, unseen_by=FIRST)) == [SEEN[1], *NEW]
    assert all(day.kept is None and not day.replayed for day in chosen(four).values())


def test_the_sample_is_a_share_of_whole_older_episodes(four: Home) -> None:
    found = chosen(four, replay=0.5)
    assert [found[day].rows for day in NEW] == [200, 200]
    old = [found[day] for day in SEEN]
    assert sum(day.rows for day in old) == 200
    assert all(day.replayed and day.kept and day.rows == 10 * len(day.kept) for day in old)
    wider = chosen(four, replay=0.75)
    assert all(set(day.kept or ()) <= set(wider[day.day].kept or ()) for day in old), "a larger share is a superset"
    assert chosen(four, replay=9.0)[SEEN[0]].kept is None, "no more than there is"


def test_the_sample_is_the_same_for_one_run_and_another_for_another(four: Home) -> None:
    again = chosen(four, replay=0.5)
    assert {name: day.kept for name, day in again.items()} == {n: d.kept for n, d in chosen(four, replay=0.5).items()}
    planned(four, "c" * 16, SEEN)
    other = chosen(four, replay=0.5, unseen_by="c" * 16)
    assert set(other) == set(again)
    assert other[SEEN[0]].kept != again[SEEN[0]].kept


def test_a_day_published_again_is_new(four: Home) -> None:
    add_day(four, SEEN[0], [episode(100 + i) for i in range(21)], archive="again")
    assert list(chosen(four)) == [SEEN[0], *NEW]


def test_with_nothing_unseen_it_says_so(four: Home) -> None:
    planned(four, "d" * 16, NEW, SECOND)
    words = f"no validated day is unseen by run {'d' * 16}: it was trained on all 4 or by the 2 it went on from"
    with pytest.raises(SelectionEmpty, match=words):
        chosen(four, unseen_by="d" * 16, replay=0.5)


def test_a_cap_keeps_the_mix_and_takes_the_newest_days_whole(four: Home) -> None:
    found = chosen(four, replay=0.5, max_rows=450)
    assert {name: (day.rows, day.replayed) for name, day in found.items() if name in NEW} == {NEW[1]: (200, False)}
    assert sum(day.rows for day in found.values() if day.replayed) == 100
    alone = chosen(four, replay=0.5, max_rows=150)
    assert alone[NEW[1]].rows == 100, "the newest is cut where it does not fit alone"
    assert sum(day.rows for day in alone.values()) == 150
    assert {name: day.rows for name, day in chosen(four, replay=0.5, max_rows=600).items() if name in NEW} == dict.fromkeys(
        NEW, 200
    )
    with pytest.raises(SelectionEmpty, match="less than one episode of 2026-08-04"):
        chosen(four, replay=0.5, max_rows=12)


def test_other_filters_come_first(four: Home) -> None:
    found = chosen(four, max_rows_per_day=50, replay=1.0)
    assert {name: day.rows for name, day in found.items()} == dict.fromkeys((*SEEN, *NEW), 50)
    assert list(chosen(four, all_days=False, last_n_days=1)) == [NEW[1]]
    with pytest.raises(SelectionEmpty, match="all 2"):
        chosen(four, all_days=False, days=SEEN)


def test_a_plan_that_is_gone_or_changed_is_refused(four: Home) -> None:
    summary = four.plans / FIRST / "summary.json"
    summary.write_text(json.dumps({"days": []}))
    with pytest.raises(IntegrityError, match=r"summary\.json is not what its manifest lists"):
        chosen(four)
    with pytest.raises(UnknownId, match="plan of run nothing is not on disk"):
        chosen(four, unseen_by="nothing")


def test_no_setting_is_inert() -> None:
    with pytest.raises(ConfigError, match=r"replay is 0\.5 without selection\.unseen_by"):
        Selection(all_days=True, replay=0.5)
    with pytest.raises(ConfigError, match="replay is -1"):
        Selection(all_days=True, unseen_by="a", replay=-1.0)


def test_caps_are_supersets() -> None:
    pool = [EpisodeRows(i, 10) for i in range(50)]
    small, large = ({e.episode_id for e in capped(pool, rows, SPLIT_SEED)} for rows in (105, 255))
    assert (len(small), len(large)) == (10, 25)
    assert small < large


def test_the_same_rows_in_another_file_stay_seen(home: Home) -> None:
    """Known by the plan itself, or by the catalog of a plan that names files only; never guessed where neither knows."""
    add_day(home, SEEN[0], [episode(1)], rows_digest="1" * 64)
    add_day(home, SEEN[1], [episode(2)])
    planned(home, FIRST, SEEN)
    assert seen_by(home, FIRST).rows == {"1" * 64}
    add_day(home, SEEN[0], [episode(1), episode(3)], archive="again", rows_digest="1" * 64)
    add_day(home, SEEN[1], [episode(2), episode(4)], archive="again", rows_digest="2" * 64)
    assert seen_by(home, FIRST).undecided == (SEEN[1],), "the rows of the file that was planned are not known"
    assert list(chosen(home, unseen_by=FIRST)) == [SEEN[1]]
    with catalog(home) as connection:
        connection.execute("UPDATE datasets SET rows_digest = ? WHERE rows_digest IS NULL", ("2" * 64,))
    assert seen_by(home, FIRST).undecided == ()
    with pytest.raises(SelectionEmpty, match="no validated day is unseen"):
        chosen(home, unseen_by=FIRST)
