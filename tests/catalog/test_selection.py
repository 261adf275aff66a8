import time

import pytest

from tcg_core.base.errors import UnknownId
from tcg_core.catalog.connection import catalog, transaction
from tcg_core.catalog.datasets import datasets_of, mark
from tcg_core.catalog.errors import DatasetChanged, SelectionEmpty
from tcg_core.catalog.selection import episode_contents, select_days
from tcg_core.recipe import Selection
from tests.catalog.helpers import add_day, episode


def chosen(home, selection, **options):
    with catalog(home) as connection:
        return select_days(connection, selection, **options)


@pytest.fixture
def three(home):
    add_day(home, "2026-08-03", [episode(i) for i in range(300, 310)])
    add_day(home, "2026-08-01", [episode(i) for i in range(100, 120)])
    add_day(home, "2026-08-02", [episode(i) for i in range(200, 230)])
    return home


def test_last_days_go_by_date_and_not_by_registration(three):
    days = chosen(three, Selection(last_n_days=2))
    assert [day.day for day in days] == ["2026-08-02", "2026-08-03"]
    assert (days[0].rows, days[0].episodes, days[0].kept, days[0].generation) == (300, 30, None, "v1")
    assert len(chosen(three, Selection(last_n_days=9))) == 3


def test_named_days_come_sorted_and_an_unvalidated_one_is_named(three):
    assert [d.day for d in chosen(three, Selection(days=("2026-08-03", "2026-08-01")))] == ["2026-08-01", "2026-08-03"]
    add_day(three, "2026-08-04", [episode(4)], validated=False)
    with pytest.raises(UnknownId, match="2026-08-04 is not validated: it is staged"):
        chosen(three, Selection(days=("2026-08-04",)))
    with pytest.raises(UnknownId, match="2026-08-05 is not validated: it was never built"):
        chosen(three, Selection(days=("2026-08-05",)))


def test_a_larger_cap_is_a_superset_of_whole_episodes(three):
    small = chosen(three, Selection(all_days=True, max_rows_per_day=55))
    large = chosen(three, Selection(all_days=True, max_rows_per_day=155))
    assert [day.rows for day in small] == [50, 50, 50]
    assert [day.rows for day in large] == [150, 150, 100]
    for a, b in zip(small[:2], large[:2], strict=True):
        assert set(a.kept) < set(b.kept)
    assert small[0].kept != tuple(range(100, 105)), "the first ids would be the lowest ranked by time, not by hash"


def test_the_global_cap_is_shared_by_rows(three):
    days = chosen(three, Selection(all_days=True, max_rows=120))
    assert [day.rows for day in days] == [40, 60, 20]


def test_a_filter_that_leaves_nothing_is_named(home, three):
    for selection, options, what in (
        (Selection(all_days=True, max_rows_per_day=9), {}, "max_rows_per_day 9"),
        (Selection(all_days=True, max_rows=9), {}, "max_rows 9"),
        (Selection(all_days=True), {"generations": ("v2",)}, "generations v2"),
    ):
        with pytest.raises(SelectionEmpty, match=what):
            chosen(three, selection, **options)


def test_an_empty_catalog_says_so(home):
    with pytest.raises(SelectionEmpty, match="no validated day"):
        chosen(home, Selection(all_days=True))


def test_top_elo_keeps_games_of_two_rated_players_by_the_remote_source(three):
    add_day(three, "2026-08-04", [episode(1, names=("a", "b")), episode(2, names=("a", "c")), episode(3, names=("c", "b"))])
    with catalog(three) as connection:
        ids = {r["name"]: r["agent_id"] for r in connection.execute("SELECT * FROM agents")}
        for source, ratings in (("remote", {"a": 9.0, "b": 1.0, "c": 8.0}), ("replay", {"a": 9.0, "b": 8.0, "c": 1.0})):
            for name, elo in ratings.items():
                connection.execute(
                    "INSERT INTO agent_elo_daily VALUES (?, '2026-08-04', ?, ?, 1, 0, 0, 0)", (ids[name], source, elo)
                )
    assert chosen(three, Selection(days=("2026-08-04",), top_elo=2))[0].kept == (2,)


def test_a_mixed_day_keeps_the_wanted_generation(home):
    add_day(home, "2026-10-01", [episode(1), episode(2, generation="v2")])
    assert chosen(home, Selection(all_days=True), generations=("v1",))[0].kept == (1,)
    assert chosen(home, Selection(all_days=True), generations=("v1", "v2"))[0].kept is None


def test_an_episode_of_two_days_is_read_from_the_earlier(home):
    add_day(home, "2026-08-02", [episode(1), episode(2)])
    add_day(home, "2026-08-01", [episode(1), episode(3)])
    days = chosen(home, Selection(all_days=True))
    assert [(d.kept, d.repeated) for d in days] == [(None, 0), ((2,), 1)]
    assert chosen(home, Selection(days=("2026-08-02",)))[0].kept is None


def test_only_validated_days_are_selected(three):
    with catalog(three) as connection, transaction(connection):
        mark(connection, "2026-08-02", datasets_of(connection, "2026-08-02")[0].dataset_id, "excluded", "a test")
    assert [d.day for d in chosen(three, Selection(all_days=True))] == ["2026-08-01", "2026-08-03"]


def test_a_missing_or_changed_file_is_fatal_and_named(home):
    path = add_day(home, "2026-08-01", [episode(1)])
    data = path.read_bytes()
    chosen(home, Selection(all_days=True), full=True)
    path.write_bytes(b"x" + data[1:])
    with pytest.raises(DatasetChanged, match=r"day 2026-08-01: .*rows.parquet has SHA-256"):
        chosen(home, Selection(all_days=True))
    path.write_bytes(data + b"x")
    with pytest.raises(DatasetChanged, match="bytes, expected"):
        chosen(home, Selection(all_days=True))
    path.unlink()
    with pytest.raises(DatasetChanged, match="is missing"):
        chosen(home, Selection(all_days=True))


def test_a_copied_home_is_verified_again_and_accepted(home):
    path = add_day(home, "2026-08-01", [episode(1)])
    data = path.read_bytes()
    path.unlink()
    path.write_bytes(data)
    assert chosen(home, Selection(all_days=True))[0].path == path


def test_contents_are_what_the_split_goes_by(three):
    with catalog(three) as connection:
        contents = episode_contents(connection, "2026-08-03")
    assert list(contents) == list(range(300, 310)) and all(len(value) == 64 for value in contents.values())


def test_a_thousand_days_are_selected_within_50_ms(home):
    add_day(home, "2026-01-01", [episode(1)])
    with catalog(home) as connection, transaction(connection):
        source = connection.execute("SELECT * FROM datasets").fetchone()
        for number in range(1, 1000):
            day = f"{2027 + number // 336:04d}-{number % 336 // 28 + 1:02d}-{number % 28 + 1:02d}"
            connection.execute(
                "INSERT INTO days SELECT ?, archive_sha256, archive_path, archive_bytes, members, directory_digest,"
                " taken_at, NULL FROM days LIMIT 1",
                (day,),
            )
            connection.execute(
                "INSERT INTO datasets SELECT dataset_id, ?, state, reason, path, sha256, bytes, rows, episodes, row_groups,"
                " generations, schema_digest, code, archive_sha256, created_at, changed_at, NULL FROM datasets"
                " WHERE dataset_id = ? LIMIT 1",
                (day, source["dataset_id"]),
            )
    with catalog(home) as connection:
        best = 1.0
        for _ in range(5):
            started = time.process_time()
            assert len(select_days(connection, Selection(all_days=True))) == 1000
            best = min(best, time.process_time() - started)
    print(f"1,000 days selected in {best * 1000:.1f} ms")
    assert best < 0.05
