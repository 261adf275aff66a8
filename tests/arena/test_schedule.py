"""Schedules: made first, balanced, stored, refused when they are not."""

import json

import pytest

from tcg_core.arena.errors import ScheduleError
from tcg_core.arena.schedule import Player, check_schedule, load_schedule, make_schedule, store_schedule, with_nonce


def players(*names):
    return tuple(Player(name, "baseline", name, "0" * 64, "sample", (1, 2, 3)) for name in names)


def test_each_pair_swaps_seats_and_everybody_is_met_early():
    schedule = make_schedule("v1", players("us", "random", "heuristic"), 10, seed=13, nonce="1")
    assert len(schedule.games) == 20
    for opponent in (1, 2):
        seats = [schedule.candidate_seat(game) for game in schedule.games if schedule.opponent_of(game) == opponent]
        assert seats.count(0) == seats.count(1) == 5
    assert {schedule.opponent_of(game) for game in schedule.games[:4]} == {1, 2}
    assert len({seed for game in schedule.games for seed in game.seeds}) == 40


@pytest.mark.parametrize("games", [0, 1, 7, -2])
def test_odd_or_no_games_are_refused(games):
    with pytest.raises(ScheduleError, match="even number"):
        make_schedule("v1", players("us", "random"), games, 13, "1")


def test_same_names_are_refused():
    with pytest.raises(ScheduleError, match="two players"):
        make_schedule("v1", players("us", "random", "random"), 2, 13, "1")


def test_nonce_and_settings_make_other_schedules():
    schedule = make_schedule("v1", players("us", "random"), 2, 13, "1")
    assert schedule.digest == make_schedule("v1", players("us", "random"), 2, 13, "1").digest
    assert (
        len({schedule.digest, with_nonce(schedule, "2").digest, make_schedule("v1", players("us", "random"), 2, 14, "1").digest})
        == 3
    )


def test_stored_schedule_is_read_back_and_a_changed_one_refused(tmp_path):
    schedule = make_schedule("v2", players("us", "random"), 4, 13, "1")
    path = tmp_path / "schedule.json"
    store_schedule(path, schedule)
    assert load_schedule(path) == schedule
    values = json.loads(path.read_text())
    values["games"][0]["seats"] = [1, 0]
    path.write_text(json.dumps(values))
    with pytest.raises(ScheduleError, match="was changed"):
        load_schedule(path)


def test_unbalanced_schedule_is_named():
    from dataclasses import replace

    schedule = make_schedule("v1", players("us", "random"), 2, 13, "1")
    twice = replace(schedule, games=(schedule.games[0], replace(schedule.games[1], seats=schedule.games[0].seats)))
    with pytest.raises(ScheduleError, match="pair 0"):
        check_schedule(twice)
