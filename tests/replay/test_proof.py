"""Steps lost, doubled, swapped or out of date: refused by what the replay itself says, or every label of it is right."""

import copy
import functools
import json
import re
from collections.abc import Callable
from typing import Any

import pytest

from tcg_core.replay.decisions import Decision, Episode
from tcg_core.replay.episode import Quarantine, parse_episode
from tests.golden.replays import Replay, dumps, replay, replays

SMALL = (85000003, 85000011, 92000011, 93000011)  # both generations, one game and several
COUNT = 48  # mutants of each kind
Steps = list[Any]


@functools.cache
def thin(episode: int) -> str:
    """A golden replay whose frames have lost the copies of observations and actions: half of the bytes."""
    document = replay(episode).document()
    for frame in document["steps"][0][0]["visualize"]:
        del frame["obs"], frame["action"]
    return json.dumps(document)


def asked(steps: Steps, t: int) -> int:
    return next(side for side in (0, 1) if steps[t][side]["status"] == "ACTIVE")


def earlier(steps: Steps, t: int) -> int:
    """The step before t at which the same seat was asked; t itself where there is none."""
    return next((u for u in range(t - 1, 0, -1) if steps[u][asked(steps, t)]["status"] == "ACTIVE"), t)


def lost(steps: Steps, t: int) -> None:
    del steps[t]


def doubled(steps: Steps, t: int) -> None:
    steps.insert(t, copy.deepcopy(steps[t]))


def swapped(steps: Steps, t: int) -> None:
    steps[t], steps[t + 1] = steps[t + 1], steps[t]


def stale_step(steps: Steps, t: int) -> None:
    number = steps[t][0]["observation"]["step"]
    steps[t] = copy.deepcopy(steps[t - 1])
    steps[t][0]["observation"]["step"] = number


def stale_observation(steps: Steps, t: int) -> None:
    side, kept = asked(steps, t), steps[t][asked(steps, t)]["observation"]
    steps[t][side]["observation"] = copy.deepcopy(steps[earlier(steps, t)][side]["observation"])
    if side == 0:
        steps[t][0]["observation"]["step"] = kept["step"]


def stale_answer(steps: Steps, t: int) -> None:
    side = asked(steps, t)
    steps[t + 1][side]["action"] = copy.deepcopy(steps[earlier(steps, t) + 1][side]["action"])


KINDS = (lost, doubled, swapped, stale_step, stale_observation, stale_answer)


def moment(decision: Decision) -> tuple[Any, ...]:
    state = decision.observation.current
    assert state is not None
    return state.round, state.turn, state.turn_action_count, decision.side


def answers(episode: Episode) -> dict[tuple[Any, ...], tuple[int, ...]]:
    return {moment(decision): decision.picks for game in episode.games for decision in game.decisions}


def mutant(kind: Callable[[Steps, int], None], index: int, renumbered: bool) -> tuple[int, dict[str, Any]]:
    """The ``index``-th mutant of its kind: episodes in turn, places spread over the whole game."""
    episode = SMALL[index % len(SMALL)]
    document: dict[str, Any] = json.loads(thin(episode))
    steps = document["steps"]
    kind(steps, 3 + (index * 37) % (len(steps) - 6))
    if renumbered:
        for t, step in enumerate(steps):
            step[0]["observation"]["step"] = t
    return episode, document


@pytest.mark.parametrize("renumbered", [False, True], ids=["as it is", "renumbered"])
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_a_mutant_is_refused_or_all_its_labels_are_right(kind: Callable[[Steps, int], None], renumbered: bool) -> None:
    refusals = 0
    for index in range(COUNT):
        episode, document = mutant(kind, index, renumbered)
        try:
            found = parse_episode(dumps(document), f"{episode}.json")
        except Quarantine as refusal:
            assert refusal.reason in ("step_order", "label_proof", "illegal_label"), refusal.text
            refusals += 1
            continue
        # Some mutants change nothing that is read, as an answer that was the same before.
        assert answers(found) == answers(replay(episode).episode())
    assert refusals >= COUNT / 2


@pytest.mark.parametrize("kind", [lost, doubled, swapped])
def test_without_frames_the_steps_still_prove_their_order(kind: Callable[[Steps, int], None]) -> None:
    for index in range(8):
        episode, document = mutant(kind, index, False)
        del document["steps"][0][0]["visualize"]
        assert refusal(document, episode).startswith("step_order: ")


def refusal(document: Any, episode: int) -> str:
    with pytest.raises(Quarantine) as caught:
        parse_episode(dumps(document), f"{episode}.json")
    assert caught.value.text.startswith(f"{episode}.json: ")
    return f"{caught.value.reason}: {caught.value.text.removeprefix(f'{episode}.json: ')}"


@pytest.mark.parametrize("item", replays(), ids=lambda item: item.name)
def test_no_rule_refuses_or_counts_anything_of_a_real_replay(item: Replay) -> None:
    assert item.episode().caveats == {}


def test_the_reason_names_step_seat_expected_and_found() -> None:
    episode = 85000011

    def changed(change: Callable[[dict[str, Any], Steps], None]) -> str:
        document = json.loads(thin(episode))
        change(document["steps"][0][0]["visualize"], document["steps"])
        return refusal(document, episode)

    side = asked(json.loads(thin(episode))["steps"], 7)
    told = changed(lambda frames, steps: steps.pop(9))
    assert told == "step_order: steps[9][0].observation.step is 10, expected 9"
    told = changed(lambda frames, steps: steps[8][1 - side].update(action=[0]))
    assert told == f"step_order: steps[8][{1 - side}].action is [0], expected none: seat {side} was asked"
    told = changed(lambda frames, steps: frames[7].update(selected=[77]))
    assert re.fullmatch(rf"label_proof: steps\[7\]\[{side}\]: its answer is \[\d+\], visualize\[7\]\.selected is \[77\]", told)
    told = changed(lambda frames, steps: frames[6]["current"].update(turn=99))
    shows, asks = r"visualize\[6\] shows seat \d at turn 99, action \d+", rf"steps\[7\] asks seat {side} at turn \d+, action \d+"
    assert re.fullmatch(rf"label_proof: steps\[7\]\[{side}\]: {shows}, {asks}", told)
    told = changed(lambda frames, steps: frames[6]["current"].update(yourIndex=1 - side))
    assert f"shows seat {1 - side} at turn" in told and f"asks seat {side} at turn" in told
    told = changed(lambda frames, steps: frames[6].pop("current"))
    assert "visualize[6] shows no state" in told
    told = changed(lambda frames, steps: steps[7][side]["observation"]["current"].update(turn=0, turnActionCount=1))
    assert re.fullmatch(rf"step_order: steps\[7\]\[{side}\] is at turn 0, action 1, expected later than \d+, action \d+", told)


@pytest.mark.parametrize("place", [3, 20])
def test_a_frame_too_few_or_too_many_is_refused(place: int) -> None:
    for change in (lambda frames: frames.pop(place), lambda frames: frames.insert(place, copy.deepcopy(frames[place]))):
        document = json.loads(thin(85000011))
        change(document["steps"][0][0]["visualize"])
        assert refusal(document, 85000011).startswith("label_proof: ")


def test_a_number_is_missing_only_while_the_seat_waits() -> None:
    for status, reason in (("ACTIVE", "step_order: "), ("INACTIVE", "")):
        document = json.loads(thin(85000011))
        t = next(t for t, step in enumerate(document["steps"]) if t > 1 and step[0]["status"] == status)
        del document["steps"][t][0]["observation"]["step"]
        if reason:
            assert refusal(document, 85000011).startswith(f"{reason}steps[{t}][0].observation.step is None")
        else:
            assert answers(parse_episode(dumps(document), "85000011.json")) == answers(replay(85000011).episode())


@pytest.mark.parametrize("number", [True, 7.0, "7", -7, 10**30])
def test_a_number_that_is_no_index_is_refused(number: Any) -> None:
    document = json.loads(thin(85000011))
    document["steps"][7][0]["observation"]["step"] = number
    assert refusal(document, 85000011).startswith("step_order: ")


@pytest.mark.parametrize("terminal", [False, True], ids=["no frames", "terminal frames only"])
def test_labels_that_nothing_proves_are_counted(terminal: bool) -> None:
    document = json.loads(thin(93000011))
    frames = document["steps"][0][0].pop("visualize")
    if terminal:
        document["steps"][0][0]["visualize"] = [f for f in frames if any("reason" in log for log in f["logs"])]
    episode = parse_episode(dumps(document), "93000011.json")
    assert episode.caveats == {"unproven_labels": sum(len(game.decisions) for game in episode.games)}
    assert episode.content_hash == replay(93000011).episode().content_hash
