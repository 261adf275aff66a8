"""Episodes: the layout of a replay, the cap, forfeits, decks."""

import json
from itertools import pairwise
from typing import Any

import pytest

from tcg_core.base.errors import ConfigError
from tcg_core.engine.agents import make_agent
from tcg_core.engine.decks import DeckError, random_legal_deck, sample_deck
from tcg_core.replay.record import DecisionCapReached, record_episode

DECK = sample_deck()
FORMATS = [("v1", 1), ("v2", 1), ("v2", 3)]


def record(generation: str = "v1", best_of: int = 1, agents: list[Any] | None = None, cap: int = 2000) -> dict[str, Any]:
    players = agents or [make_agent("random", generation, DECK, seed) for seed in (1, 2)]
    replay = record_episode(players, [DECK, DECK], generation, best_of, ["left", "right"], 42, cap)
    return json.loads(json.dumps(replay))


@pytest.mark.parametrize(("generation", "best_of"), FORMATS)
def test_every_answer_is_legal_for_the_step_before_it(generation: str, best_of: int) -> None:
    steps = record(generation, best_of)["steps"]
    assert steps[1][0]["action"] == steps[1][1]["action"] == list(DECK)
    for step, after in pairwise(steps[1:]):
        active = [seat for seat in (0, 1) if step[seat]["status"] == "ACTIVE"]
        assert len(active) == 1
        seat = active[0]
        select, picks = step[seat]["observation"]["select"], after[seat]["action"]
        assert select["minCount"] <= len(picks) == len(set(picks)) <= select["maxCount"]
        assert all(0 <= pick < len(select["option"]) for pick in picks)
        assert after[1 - seat]["action"] == []
        assert step[seat]["observation"]["current"]["yourIndex"] == seat


@pytest.mark.parametrize(("generation", "best_of"), FORMATS)
def test_layout_of_each_format(generation: str, best_of: int) -> None:
    replay = record(generation, best_of)
    first = replay["steps"][1]
    seat = next(seat for seat in (0, 1) if first[seat]["status"] == "ACTIVE")
    current = first[seat]["observation"]["current"]
    assert replay["info"] == {
        "EpisodeId": 42,
        "TeamNames": ["left", "right"],
        "Agents": [{"Name": "left"}, {"Name": "right"}],
    }
    assert replay["statuses"] == ["DONE", "DONE"]
    assert sorted(replay["rewards"]) in ([-1, 1], [0, 0])
    if generation == "v1":
        assert replay["module_version"] == "1.32.7"
        assert replay["configuration"].keys() == {"episodeSteps", "actTimeout", "runTimeout"}
        assert not {"draw", "round"} & current.keys()
        assert "win" not in current["players"][0]
    else:
        assert replay["module_version"] == "1.33.2"
        assert (replay["configuration"]["bo"], replay["configuration"]["version"]) == (best_of, 2)
        assert (current["round"], current["draw"], current["players"][0]["win"]) == (1, 0, 0)


@pytest.mark.parametrize(("generation", "best_of"), FORMATS)
def test_frames_follow_the_decisions_and_end_with_the_result(generation: str, best_of: int) -> None:
    replay = record(generation, best_of)
    frames = replay["steps"][0][0]["visualize"]
    results = [log for frame in frames for log in frame["logs"] if log["type"] == "Result"]
    assert len(frames) == len(replay["steps"]) - 2 + len(results)
    wins = [sum(log["result"] == seat for log in results) for seat in (0, 1)]
    assert (wins[0] > wins[1]) - (wins[0] < wins[1]) == replay["rewards"][0]
    assert frames[-1]["logs"][-1]["type"] == "Result"
    assert best_of == 1 or 2 <= len(results) <= 3


def test_rounds_of_a_best_of_three_count_up_and_the_other_seat_opens_the_second() -> None:
    steps = record("v2", 3)["steps"]
    seen: dict[int, int] = {}
    for step in steps[1:-1]:
        seat = next(seat for seat in (0, 1) if step[seat]["status"] == "ACTIVE")
        seen.setdefault(step[seat]["observation"]["current"]["round"], seat)
    assert list(seen) == list(range(1, len(seen) + 1))
    assert (seen[1], seen[2]) == (0, 1)


def test_the_waiting_seat_keeps_its_observation() -> None:
    steps = record()["steps"]
    for before, step in pairwise(steps[1:]):
        for seat in (0, 1):
            if step[seat]["status"] != "ACTIVE":
                old, new = before[seat]["observation"], step[seat]["observation"]
                assert [old[key] for key in ("select", "logs", "current")] == [new[key] for key in ("select", "logs", "current")]


def test_a_game_past_the_cap_is_dropped() -> None:
    with pytest.raises(DecisionCapReached, match="game 0 did not end within 5 decisions"):
        record(cap=5)


def test_an_agent_that_changes_what_it_sees_does_not_change_the_replay() -> None:
    honest = make_agent("first", "v1", DECK, 0)

    def vandal(observation: dict[str, Any]) -> list[int]:
        answer = honest(observation)
        observation["current"] = observation["select"] = None
        return answer

    steps = record(agents=[vandal, vandal])["steps"]
    assert all(any(seat["observation"]["select"] for seat in step) for step in steps[1:])


def test_refusals() -> None:
    with pytest.raises(ConfigError, match="always plays best of 1"):
        record("v1", 3)
    with pytest.raises(ConfigError, match="odd number"):
        record("v2", 2)
    other = make_agent("random", "v1", random_legal_deck("v1", 3), 1)
    with pytest.raises(DeckError, match="seat 1 answers another deck"):
        record(agents=[make_agent("random", "v1", DECK, 1), other])
    with pytest.raises(DeckError, match="59 cards"):
        record_episode([other, other], [DECK[:59], DECK], "v1", 1, ["a", "b"], 1)
