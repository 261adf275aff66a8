"""Replays of both layouts become decisions: alignment, seats, games, layouts. Cases from the field are named as such."""

import itertools
from typing import Any

import pytest

from tcg_core.replay.episode import Episode, Quarantine, parse_episode
from tcg_core.replay.facts import generation
from tcg_core.replay.layout import Replay as Layout
from tcg_core.replay.recount import recount, recount_plain
from tests.golden.replays import Replay, answer, dumps, replay, replays
from tests.replay.structs_source import TARGET, source

every = pytest.mark.parametrize("item", replays(), ids=lambda item: item.name)


def parse(document: Any, name: str = "85000011.json") -> Episode:
    return parse_episode(dumps(document), name)


def refused(document: Any, name: str = "85000011.json") -> str:
    with pytest.raises(Quarantine) as caught:
        parse(document, name)
    assert "\n" not in caught.value.text and caught.value.text.startswith(name)
    return caught.value.reason


def test_structs_are_generated_from_the_field_table() -> None:
    assert TARGET.read_text() == source(), "run python -m tests.replay.structs_source"


@every
def test_recount_by_plain_json_agrees(item: Replay) -> None:
    episode = item.episode()
    assert all(game.excluded is None for game in episode.games)
    assert recount(episode) == recount_plain(item.data)


@every
def test_field_case_only_active_seats_give_decisions(item: Replay) -> None:
    document = item.document()
    decisions = [decision for game in item.episode().games for decision in game.decisions]
    assert len(decisions) == len(document["steps"]) - 2
    assert all(document["steps"][d.step_id][d.side]["status"] == "ACTIVE" for d in decisions)


@every
def test_field_case_label_is_the_next_steps_action(item: Replay) -> None:
    steps = item.document()["steps"]
    for game in item.episode().games:
        for decision in game.decisions:
            assert list(decision.picks) == steps[decision.step_id + 1][decision.side]["action"]


@every
def test_field_case_actions_shifted_one_back_are_refused(item: Replay) -> None:
    document = item.document()
    steps = document["steps"]
    for before, after in itertools.pairwise(steps[2:]):
        for side in (0, 1):
            before[side]["action"] = after[side]["action"]
    assert refused(document, item.name) == "illegal_label"


def test_generations_and_best_of() -> None:
    seen = {item.name: (item.episode().generation, item.episode().best_of, len(item.episode().games)) for item in replays()}
    assert seen["85000001.json"] == ("v1", 1, 1)
    assert seen["92000011.json"] == ("v2", 1, 1)
    assert seen["93000011.json"] == ("v2", 3, 2)
    assert seen["93000002.json"] == ("v2", 3, 3)


def test_best_of_of_version_1_is_not_trusted() -> None:
    document = replay(85000011).document()
    document["configuration"] |= {"version": 1, "bo": 3}
    document["module_version"] = "1.33.2"
    assert (parse(document).generation, parse(document).best_of) == ("v1", 1)


@pytest.mark.parametrize(
    ("configuration", "module", "expected"),
    [
        ({}, "1.32.7", ("v1", 1)),
        ({"bo": 1}, "1.33.0", ("v2", 1)),
        ({}, "1.33.0", ("v2", 3)),
        ({"version": 2}, None, ("v2", 3)),
        ({}, None, ("v1", 1)),
        ({"version": 1, "bo": 3}, "1.33.2", ("v1", 1)),
    ],
)
def test_generation_and_best_of_from_what_is_there(
    configuration: dict[str, int], module: str | None, expected: tuple[str, int]
) -> None:
    assert generation(Layout(configuration=configuration, module_version=module), "1.json") == expected


def test_unknown_generation_is_refused() -> None:
    document = replay(85000011).document()
    document["configuration"]["version"] = 3
    assert refused(document) == "unknown_generation"


def test_field_case_module_version_is_recorded() -> None:
    document = replay(85000011).document()
    document["module_version"] = "9.9.9"
    document["configuration"]["version"] = 1
    assert parse(document).module_version == "9.9.9"


def test_wrapped_replay_is_the_same_episode() -> None:
    item = replay(93000011)
    assert parse({"replay": item.document()}, item.name) == item.episode()


@pytest.mark.parametrize("place", ["observation", "top"])
def test_frames_are_found_at_their_known_places(place: str) -> None:
    item = replay(93000011)
    document = item.document()
    frames = document["steps"][0][0].pop("visualize")
    (document["steps"][0][0]["observation"] if place == "observation" else document)["visualize"] = frames
    episode = parse(document, item.name)
    assert [(game.prizes, game.reason) for game in episode.games] == [((3, 6), 3), ((5, 6), 3)]
    assert episode.content_hash == item.episode().content_hash


def test_without_frames_prizes_are_unknown_and_the_rest_is_equal() -> None:
    document = replay(85000011).document()
    del document["steps"][0][0]["visualize"]
    (game,) = parse(document).games
    assert (game.prizes, game.reason, game.outcome, game.excluded) == (None, None, 1, None)


def test_frames_of_another_number_of_games_are_refused() -> None:
    document = replay(93000002).document()
    frames = document["steps"][0][0]["visualize"]
    del frames[-1]
    assert refused(document, "93000002.json") == "visualize"


def test_field_case_unknown_numbers_in_logs_are_taken() -> None:
    document = replay(85000011).document()
    for step in document["steps"]:
        for entry in step:
            for log in entry["observation"].get("logs") or ():
                log["type"], log["toArea"] = 99, 14
    assert parse(document).content_hash == replay(85000011).episode().content_hash


@pytest.mark.parametrize(
    ("given", "caveat"),
    [([True], "boolean_index"), ([2**40 + 1], "wrapped_index"), ({"action": [1]}, "wrapped_action")],
)
def test_answers_are_normalised_as_the_engine_does(given: Any, caveat: str) -> None:
    document = replay(85000011).document()
    t, side = _decision_with(document, lambda select: select["maxCount"] == 1 and len(select["option"]) > 1)
    answer(document, t, side, given, [1])
    episode = parse(document)
    assert episode.caveats == {caveat: 1}
    assert next(d.picks for d in episode.games[0].decisions if d.step_id == t) == (1,)


@pytest.mark.parametrize("given", [None, [None], [1.0], ["1"], [[1]], [-1], [999], [0, 0], [2**40 + 999], "0", 3])
def test_answers_the_engine_refuses_are_quarantined(given: Any) -> None:
    document = replay(85000011).document()
    t, side = _decision_with(document, lambda select: select["maxCount"] == 1)
    document["steps"][t + 1][side]["action"] = given
    assert refused(document) == "illegal_label"


def test_field_case_broken_members_are_quarantined_whole() -> None:
    data = replay(85000011).data
    for broken, reason in (
        (data[: int(len(data) * 0.6)], "broken_json"),
        (b"", "broken_json"),
        (b"{}", "not_a_replay"),
        (b'{"replay": {}}', "not_a_replay"),
        (b"[]", "malformed"),
        (b"[" * 100_000, "malformed"),
        (b'{"info": {"a": ' + b"[" * 100_000, "broken_json"),
        (dumps({**replay(85000011).document(), "name": "kore_fleets"}), "other_game"),
    ):
        with pytest.raises(Quarantine) as caught:
            parse_episode(broken, "85000011.json")
        assert caught.value.reason == reason


def test_quarantine_travels_between_processes() -> None:
    import pickle

    error = pickle.loads(pickle.dumps(Quarantine("deck", "1.json: no deck")))
    assert (error.reason, error.text, str(error)) == ("deck", "1.json: no deck", "1.json: no deck")


def test_episode_id_of_name_and_info_must_agree() -> None:
    document = replay(85000011).document()
    assert refused(document, "85000012.json") == "episode_id"
    del document["info"]["EpisodeId"]
    assert parse(document, "85000012.json").episode_id == 85000012
    assert refused(document, "replay.json") == "episode_id"


def test_content_hash_ignores_ids_and_clocks_and_sees_play() -> None:
    item = replay(85000011)
    document = item.document()
    document["info"] = {"TeamNames": ["x", None]}
    for step in document["steps"]:
        for entry in step:
            entry["observation"]["remainingOverageTime"] = 1.5
            entry["observation"]["search_begin_input"] = "other"
    episode = parse(document, "1.json")
    assert episode.content_hash == item.episode().content_hash and episode.team_names == ("x", "unnamed")
    assert len({item.episode().content_hash for item in replays()}) == len(replays())
    t, side = _decision_with(document, lambda select: select["maxCount"] == 1 and len(select["option"]) > 1)
    other = [1 - document["steps"][t + 1][side]["action"][0] % 2]
    answer(document, t, side, other, other)
    assert parse(document, "1.json").content_hash != item.episode().content_hash


def test_a_state_of_the_other_seat_is_refused() -> None:
    document = replay(85000011).document()
    t, side = _decision_with(document, lambda select: True)
    document["steps"][t][side]["observation"]["current"]["yourIndex"] = 1 - side
    assert refused(document) == "malformed"


def _decision_with(document: Any, wanted: Any) -> tuple[int, int]:
    """(t, side) of the first decision whose select is ``wanted``."""
    for t, step in enumerate(document["steps"]):
        for side, entry in enumerate(step):
            select = entry["observation"].get("select")
            if entry["status"] == "ACTIVE" and select and wanted(select):
                return t, side
    raise AssertionError("no such decision")
