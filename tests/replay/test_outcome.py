"""Who won, from rewards, tallies and results; and which games give no rows."""

from typing import Any

import pytest

from tcg_core.replay.episode import Quarantine, parse_episode
from tcg_core.replay.outcome import OutcomeConflict, game_outcomes, relative
from tests.golden.replays import cut_in_game_3, dumps, replay

START = (0, 0, 0)


def test_relative_to_the_seat() -> None:
    assert [relative(outcome, side) for outcome in (1, -1, 0) for side in (0, 1)] == [1, -1, -1, 1, 0, 0]


@pytest.mark.parametrize(
    ("rewards", "result", "expected"),
    [([1, -1], 0, 1), ([-1, 1], 1, -1), ([0, 0], 2, 0), ([1, -1], None, 1), ([0, 0], None, None)],
)
def test_best_of_one(rewards: list[int], result: int | None, expected: int | None) -> None:
    assert game_outcomes(1, rewards, [START], [result]) == [expected]


@pytest.mark.parametrize(
    ("rewards", "tallies", "results", "expected"),
    [
        ([1, -1], [START, (1, 0, 0)], [0, 0], [1, 1]),
        ([-1, 1], [START, (1, 0, 0), (1, 1, 0)], [0, 1, 1], [1, -1, -1]),
        ([1, -1], [START, (0, 0, 1), (1, 0, 1)], [2, 0, 2], [0, 1, 0]),
        ([0, 0], [START, (1, 0, 0), (1, 1, 0)], [0, 1, 2], [1, -1, 0]),
        ([-1, 1], [START, (1, 0, 0), (1, 1, 0)], [None, None, None], [1, -1, -1]),
        # rewards of 0/0 without a result: a draw, or a match that was cut short
        ([0, 0], [START, (1, 0, 0), (1, 1, 0)], [None, None, None], [1, -1, None]),
        ([0, 0], [START, (0, 0, 1), (0, 0, 2)], [None, None, None], [0, 0, None]),
        ([0, 0], [START, (1, 0, 0)], [0, None], [1, None]),
        # 1 win, 1 draw before: seat 0 wins the match by winning or by drawing, nothing tells which
        ([1, -1], [START, (1, 0, 0), (1, 0, 1)], [None, None, None], [1, 0, None]),
    ],
)
def test_best_of_three(rewards: list[int], tallies: list[Any], results: list[int | None], expected: list[int | None]) -> None:
    assert game_outcomes(3, rewards, tallies, results) == expected


@pytest.mark.parametrize(
    ("best_of", "rewards", "tallies", "results"),
    [
        (1, [1, -1], [START], [1]),
        (1, [1, 1], [START], [0]),
        (1, [None, 1], [START], [0]),
        (1, [1, -1], [START], [3]),
        (3, [1, -1], [START, (0, 1, 0)], [0, 0]),
        (3, [1, -1], [START, (2, 0, 0)], [0, 0]),
        (3, [-1, 1], [START, (1, 0, 0)], [0, 0]),
        (3, [1, -1], [START], [0]),
    ],
)
def test_disagreement_is_a_conflict(best_of: int, rewards: list[Any], tallies: list[Any], results: list[int | None]) -> None:
    with pytest.raises(OutcomeConflict):
        game_outcomes(best_of, rewards, tallies, results)


def test_field_case_current_result_is_never_read() -> None:
    item = replay(85000011)
    document = item.document()
    assert document["rewards"] == [1, -1]
    (game,) = item.episode().games
    assert (game.outcome_for(0), game.outcome_for(1)) == (1, -1)
    for step in document["steps"]:
        for entry in step:
            if entry["observation"].get("current"):
                entry["observation"]["current"]["result"] = 1
    assert parse_episode(dumps(document), item.name) == item.episode()


def test_every_game_of_a_match_has_its_own_outcome() -> None:
    outcomes = {episode: [game.outcome for game in replay(episode).episode().games] for episode in (93000002, 93000011, 93000012)}
    assert outcomes == {93000002: [-1, 1, -1], 93000011: [1, 1], 93000012: [-1, 1, 1]}


def test_rewards_against_the_result_quarantine_the_episode() -> None:
    document = replay(85000011).document()
    document["rewards"] = [-1, 1]
    with pytest.raises(Quarantine) as caught:
        parse_episode(dumps(document), "85000011.json")
    assert caught.value.reason == "outcome"


def test_a_drawn_game_is_excluded_and_known() -> None:
    document = replay(85000011).document()
    document["rewards"] = [0, 0]
    frame = document["steps"][0][0]["visualize"][-1]
    next(log for log in frame["logs"] if "reason" in log)["result"] = 2
    (game,) = parse_episode(dumps(document), "85000011.json").games
    assert (game.excluded, game.outcome, len(game.decisions)) == ("draw", 0, 41)


def test_an_episode_cut_short_is_no_draw() -> None:
    document = replay(85000011).document()
    document["rewards"] = [0, 0]
    del document["steps"][0][0]["visualize"]
    (game,) = parse_episode(dumps(document), "85000011.json").games
    assert (game.excluded, game.outcome) == ("unfinished", None)
    with pytest.raises(ValueError, match="not known"):
        game.outcome_for(0)


def test_a_match_cut_in_its_last_game_at_one_all_is_no_draw() -> None:
    document = replay(93000002).document()
    cut_in_game_3(document)
    games = parse_episode(dumps(document), "93000002.json").games
    assert [(game.excluded, game.outcome) for game in games] == [(None, -1), (None, 1), ("unfinished", None)]
    assert all(game.decisions for game in games)


@pytest.mark.parametrize("status", ["INVALID", "ERROR", "TIMEOUT"])
def test_a_forfeit_is_excluded_as_aborted(status: str) -> None:
    document = replay(93000002).document()
    document["statuses"], document["rewards"] = ["DONE", status], [1, None]
    document["steps"][-1][0]["action"] = None
    episode = parse_episode(dumps(document), "93000002.json")
    assert [(game.excluded, game.outcome, game.decisions) for game in episode.games] == [
        ("aborted", None, ()), ("aborted", None, ()), ("aborted", 1, ()),
    ]  # fmt: skip
    assert len(episode.decks[0]) == 60 and episode.kept == ()


def test_a_refused_deck_is_excluded_by_its_own_rule() -> None:
    document = replay(85000011).document()
    document["statuses"], document["rewards"], document["steps"] = ["INVALID", "DONE"], [None, 0], document["steps"][:2]
    document["steps"][1][0]["action"] = document["steps"][1][0]["action"][:59]
    episode = parse_episode(dumps(document), "85000011.json")
    assert [(game.excluded, game.outcome) for game in episode.games] == [("illegal_deck", None)]
    assert [len(deck) for deck in episode.decks] == [0, 60]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"statuses": ["DONE", "ACTIVE"]}, "status"),
        ({"statuses": ["DONE"]}, "malformed"),
        ({"rewards": [None, None]}, "outcome"),
        ({"rewards": None}, "malformed"),
    ],
)
def test_other_endings_are_quarantined(change: dict[str, Any], reason: str) -> None:
    with pytest.raises(Quarantine) as caught:
        parse_episode(dumps(replay(85000011).document() | change), "85000011.json")
    assert caught.value.reason == reason
