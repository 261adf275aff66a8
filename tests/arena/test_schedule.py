"""Schedules: made first, balanced, stored, refused when they are not."""

import json

import pytest

from tcg_core.arena.errors import ScheduleError
from tcg_core.arena.schedule import Contestant, check_schedule, load_schedule, make_schedule, store_schedule
from tcg_core.base.errors import ConfigError


def players(*names):
    return tuple(Contestant(name, "baseline", name, "0" * 64, "sample", (1, 2, 3)) for name in names)


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
    others = [make_schedule("v1", players("us", "random"), 2, *other) for other in ((13, "2"), (14, "1"))]
    assert len({schedule.digest, *(other.digest for other in others)}) == 3


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


def test_best_of_is_part_of_the_schedule_and_its_digest(tmp_path):
    one, three = (make_schedule("v2", players("us", "random"), 4, 13, "1", best_of=best_of) for best_of in (1, 3))
    assert one.digest != three.digest and (one.unit, three.unit) == ("games", "matches")
    assert one.games == three.games, "seats and seeds of a match are those of the game it replaces"
    store_schedule(tmp_path / "schedule.json", three)
    assert load_schedule(tmp_path / "schedule.json").best_of == 3


def test_a_best_of_one_keeps_the_digest_of_schedules_stored_before_there_was_a_choice(tmp_path):
    schedule = make_schedule("v1", players("us", "random"), 2, 13, "1")
    assert schedule.digest == "47b11a78a138bcc3b58a5209816bff1e0b64d4baec54af33b42658e9b1474d2b"
    store_schedule(tmp_path / "schedule.json", schedule)
    assert "best_of" not in json.loads((tmp_path / "schedule.json").read_text())


@pytest.mark.parametrize(
    ("generation", "best_of", "said"), [("v1", 3, "engine v1 always plays best of 1"), ("v2", 2, "odd"), ("v2", 0, "odd")]
)
def test_a_best_of_that_the_engine_does_not_play_is_refused(generation, best_of, said):
    with pytest.raises(ConfigError, match=f"best_of {best_of}: .*{said}"):
        make_schedule(generation, players("us", "random"), 2, 13, "1", best_of=best_of)


def test_unbalanced_schedule_is_named():
    from dataclasses import replace

    schedule = make_schedule("v1", players("us", "random"), 2, 13, "1")
    twice = replace(schedule, games=(schedule.games[0], replace(schedule.games[1], seats=schedule.games[0].seats)))
    with pytest.raises(ScheduleError, match="pair 0"):
        check_schedule(twice)
