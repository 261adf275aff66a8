"""Ratings by day: as of its start, recomputed from the first changed day, and what `top_elo` makes of them."""

import dataclasses

import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

from tcg_core.catalog import registry
from tcg_core.catalog.connection import catalog, transaction
from tcg_core.catalog.datasets import datasets_of, mark
from tcg_core.catalog.errors import LeaderboardError, RatingsStale, SelectionEmpty
from tcg_core.catalog.selection import select_days
from tcg_core.ratings.checks import rating_checks
from tcg_core.ratings.leaderboards import import_leaderboard, leaderboards
from tcg_core.ratings.stage import rate_agents
from tcg_core.ratings.table import TABLE, read_ratings
from tcg_core.recipe import Selection
from tests.catalog.helpers import add_day, episode, users_of

ONE, TWO, THREE = "2026-08-01", "2026-08-02", "2026-08-03"


def won(episode_id, winner, loser, outcome=1):
    record = episode(episode_id, names=(winner, loser))
    return dataclasses.replace(record, games=(dataclasses.replace(record.games[0], outcome=outcome),))


def elo(home, day, source="replay"):
    query = "SELECT a.name, e.elo FROM agent_elo_daily e JOIN agents a USING (agent_id) WHERE day = ? AND source = ?"
    with catalog(home) as connection:
        return dict(connection.execute(query, (day, source)).fetchall())


def chosen(home, selection):
    with catalog(home) as connection:
        return select_days(connection, selection)


@pytest.fixture
def three(home):
    add_day(home, ONE, [won(1, "a", "b")])
    add_day(home, TWO, [won(2, "a", "b"), won(3, "b", "c")])
    add_day(home, THREE, [won(4, "a", "b"), won(5, "a", "c")])
    return home


def test_a_days_rating_is_the_state_at_its_start(three):
    built = rate_agents(three)
    assert built.passed and {check.name for check in built.checks} == {"as_of", "one_row_each"}
    assert elo(three, ONE) == {}, "nobody had played before the first day"
    assert elo(three, TWO) == {"a": 616.0, "b": 584.0}
    third = elo(three, THREE)
    assert third["a"] == pytest.approx(630.5306, abs=1e-3) and set(third) == {"a", "b", "c"}
    assert built.facts["best_now"][0].startswith("a 6") and built.facts["days_rated_anew"] == 3
    assert built.plots["ratings"].stat().st_size < 50_000
    again = rate_agents(three)
    assert again.reused and again.id == built.id and again.facts["days_rated_anew"] == 0


def test_a_late_day_recomputes_what_follows_it_and_nothing_before(three):
    first = rate_agents(three)
    before = {day: elo(three, day) for day in (ONE, TWO, THREE)}
    add_day(three, "2026-07-31", [won(9, "c", "a")])
    second = rate_agents(three)
    assert second.id != first.id and second.facts["days_rated_anew"] == 4
    assert elo(three, ONE) == {"c": 616.0, "a": 584.0} and elo(three, TWO) != before[TWO]
    add_day(three, "2026-08-04", [won(10, "c", "a")])
    assert rate_agents(three).facts["days_rated_anew"] == 1, "a day at the end changes no earlier one"
    fresh = {day: elo(three, day) for day in (ONE, TWO, THREE)}
    with catalog(three) as connection:
        connection.execute("DELETE FROM agent_elo_daily")
        connection.execute("DELETE FROM rating_days")
    rate_agents(three)
    assert {day: elo(three, day) for day in (ONE, TWO, THREE)} == fresh, "incremental and whole differ"


def test_a_changed_or_excluded_day_is_not_in_later_ratings(three):
    rate_agents(three)
    add_day(three, TWO, [won(2, "b", "a"), won(3, "b", "c"), won(6, "b", "c")], archive="again")
    assert rate_agents(three).facts["days_rated_anew"] == 1 and elo(three, THREE)["b"] > 600
    with catalog(three) as connection, transaction(connection):
        mark(connection, TWO, datasets_of(connection, TWO, "validated")[0].dataset_id, "excluded", "a test")
    assert rate_agents(three).passed
    assert elo(three, TWO) == {} and elo(three, THREE) == {"a": 616.0, "b": 584.0}


def test_draws_and_forfeits_count_unknown_outcomes_and_repeats_do_not(home):
    add_day(home, ONE, [won(1, "a", "b", outcome=0), won(2, "a", "b", outcome=None)])
    add_day(home, TWO, [won(1, "a", "b", outcome=0), won(3, "a", "b")])
    add_day(home, THREE, [won(4, "a", "b")])
    assert rate_agents(home).passed
    with catalog(home) as connection:
        rows = connection.execute("SELECT games, draws, wins FROM agent_elo_daily WHERE day = ? ORDER BY elo DESC", (THREE,))
        assert [tuple(row) for row in rows] == [(2, 1, 1), (2, 1, 0)]


def test_top_elo_goes_by_the_state_at_the_start_and_never_by_a_later_one(three):
    """c is the worst until day three and the best after day four: on day three it must not be among the top two."""
    add_day(three, "2026-08-04", [won(20 + n, "c", "a") for n in range(30)])
    add_day(three, "2026-08-05", [won(60, "a", "b"), won(61, "a", "c")])
    rate_agents(three)
    assert sorted(elo(three, THREE), key=elo(three, THREE).get) == ["c", "b", "a"]
    assert sorted(elo(three, "2026-08-05"), key=elo(three, "2026-08-05").get)[-1] == "c"
    [third] = chosen(three, Selection(days=(THREE,), top_elo=2))
    assert third.kept == (4,), "the game of a and b alone"
    assert (third.rating.source, third.rating.as_of, third.rating.day) == ("replay", TWO, THREE)
    assert len(third.rating.digest) == 64


def test_the_first_day_has_no_rating_and_alone_it_leaves_nothing(three):
    rate_agents(three)
    assert [day.day for day in chosen(three, Selection(all_days=True, top_elo=3))] == [TWO, THREE]
    with pytest.raises(SelectionEmpty, match="top_elo 3 leaves no rows"):
        chosen(three, Selection(days=(ONE,), top_elo=3))


def test_ratings_that_do_not_follow_from_the_days_are_refused(three):
    with pytest.raises(RatingsStale, match=r"top_elo 3: the ratings of day 2026-08-01 are not computed: run `tcg catalog"):
        chosen(three, Selection(all_days=True, top_elo=3))
    rate_agents(three)
    digests = [day.rating.digest for day in chosen(three, Selection(days=(TWO,), top_elo=3))]
    add_day(three, "2026-08-04", [won(9, "c", "a")])
    assert [day.rating.digest for day in chosen(three, Selection(days=(TWO,), top_elo=3))] == digests
    add_day(three, "2026-07-30", [won(8, "c", "a")])
    with pytest.raises(RatingsStale, match="day 2026-08-02 are older than the validated days"):
        chosen(three, Selection(days=(TWO,), top_elo=3))
    rate_agents(three)
    assert [day.rating.digest for day in chosen(three, Selection(days=(TWO,), top_elo=3))] != digests


def board(home, tmp_path, as_of, text, **options):
    file = tmp_path / "board.csv"
    file.write_text(text)
    return import_leaderboard(home, file, as_of, **options)


def test_a_leaderboard_counts_from_its_date_on_and_goes_before_the_replays(three, tmp_path):
    head = "Rank,TeamId,TeamName,LastSubmissionDate,Score,SubmissionCount\n"
    board(three, tmp_path, TWO, head + "1,7,never seen,,1200.5,3\n2,8,c,,900,1\n3,9,a,,800,1\n4,9,b,,,1\n")
    board(three, tmp_path, "2026-08-09", head + "1,7,b,,2000,3\n")
    built = rate_agents(three)
    assert built.passed and built.facts["leaderboards"] == 2 and built.facts["teams_without_score"] == 1
    assert elo(three, ONE, "remote") == {}, "a snapshot is never copied back to days before it"
    assert elo(three, TWO, "remote") == elo(three, THREE, "remote") == {"never seen": 1200.5, "c": 900.0, "a": 800.0}
    [third] = chosen(three, Selection(days=(THREE,), top_elo=3))
    assert third.kept == (5,) and (third.rating.source, third.rating.as_of) == ("remote", TWO)
    with pytest.raises(SelectionEmpty, match="top_elo 2"):
        chosen(three, Selection(days=(THREE,), top_elo=2))  # a team that no replay showed is among the best two
    (three.leaderboards / f"{TWO}.csv").unlink()
    rate_agents(three)
    assert elo(three, THREE, "remote") == {}


def test_a_snapshot_is_not_overwritten_by_another_unless_told(home, tmp_path):
    board(home, tmp_path, ONE, "TeamName,Score\na,1\n")
    board(home, tmp_path, ONE, "TeamName,Score\na,1\n")
    with pytest.raises(LeaderboardError, match="--replace"):
        board(home, tmp_path, ONE, "TeamName,Score\na,2\n")
    board(home, tmp_path, ONE, "TeamName,Score\na,2\na,5\n", replace=True)
    [held] = leaderboards(home)
    assert held.scores == {"a": 5.0} and held.repeated == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("Team,Score\na,1\n", "column TeamName is absent"),
        ("TeamName,Score\na,high\n", "line 2: Score 'high' is no number"),
        ("TeamName,Score\na,nan\n", "line 2: Score 'nan'"),
        ("TeamName,Score\n ,1\n", "line 2: no TeamName"),
        ("TeamName,Score\na,\n", "no team has a score"),
    ],
)
def test_a_broken_snapshot_is_named_and_not_kept(home, tmp_path, text, message):
    with pytest.raises(LeaderboardError, match=message):
        board(home, tmp_path, ONE, text)
    assert leaderboards(home) == []


def test_a_dropped_file_whose_name_is_no_day_is_named(home):
    home.leaderboards.mkdir()
    (home.leaderboards / "latest.csv").write_text("TeamName,Score\na,1\n")
    with pytest.raises(LeaderboardError, match=r"latest\.csv: its name is no day"):
        leaderboards(home)


@pytest.mark.parametrize(
    ("change", "failed", "message"),
    [
        (lambda rows: [*rows, rows[-1]], "one_row_each", "2026-08-03 c: 2 rows of source replay"),
        (lambda rows: [row | {"day": "2026-08-09"} for row in rows], "one_row_each", "2026-08-09: ratings of a day that is not"),
        (lambda rows: [row | {"games": row["games"] + 1} for row in rows], "as_of", "games, 1 were played before that day"),
        (lambda rows: [row | {"source": "remote"} for row in rows], "as_of", "expected the snapshot which does not exist"),
    ],
)
def test_a_check_fires_on_what_it_is_for(three, tmp_path, change, failed, message):
    built = rate_agents(three)
    rows = change(read_ratings(built.path))
    parquet.write_table(pa.Table.from_pylist(rows), tmp_path / TABLE)
    with catalog(three) as connection:
        checks = rating_checks(connection, read_ratings(tmp_path), [])
    [broken] = [check for check in checks if check.name == failed]
    assert not broken.passed and message in broken.message


def test_the_artifact_is_registered_with_the_days_it_came_from(three):
    built = rate_agents(three)
    assert registry.require_passed(three, "ratings", built.id, ("as_of", "one_row_each")) == built.path
    with catalog(three) as connection:
        ids = [row.dataset_id for row in datasets_of(connection, state="validated")]
    assert all(("ratings", built.id) in users_of(three, "parquet_day", id) for id in ids)


def test_without_a_validated_day_it_says_so(home):
    with pytest.raises(SelectionEmpty, match="there is no validated day"):
        rate_agents(home)
