"""Real replays, mutated: each ends as an episode with all its rows, or refused whole; never in another way."""

import functools
import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tcg_core.encode.errors import EncodeError
from tcg_core.encode.rows import encode_episode
from tcg_core.replay.episode import Quarantine, parse_episode
from tcg_core.replay.recount import recount
from tests.golden.replays import Replay, replay

SMALL = (85000011, 93000011)  # one of each layout
quiet = settings(max_examples=50, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
values = st.sampled_from(
    [None, True, -1, 0, 1, 7, 63, 127, 300, 2**15, 2**31, 2**40, 2**63, 2**70, 1.5, "x", "ACTIVE", [], {}, [[]], [0, 0], [None]]
)


@functools.cache
def trimmed(episode: int) -> bytes:
    """A golden replay with its terminal frames only: a fifth of the bytes, so mutations hit what is read."""
    document = replay(episode).document()
    frames = document["steps"][0][0]["visualize"]
    for frame in frames:
        del frame["obs"], frame["action"]
    document["steps"][0][0]["visualize"] = [frame for frame in frames if any("reason" in log for log in frame["logs"])]
    document["specification"] = {}
    return json.dumps(document).encode()


def survives(data: bytes, name: str) -> str:
    """What became of the bytes; asserts that what gave rows gave all of them."""
    try:
        episode = parse_episode(data, name)
    except Quarantine as refusal:
        assert (refusal.reason and name in refusal.text) or "steps[" in refusal.text
        return refusal.reason
    try:
        columns = encode_episode(episode, "2026-01-01")
    except EncodeError as refusal:
        assert str(refusal).startswith("episode ")
        return "encode"
    counts = recount(episode)
    assert columns.rows == sum(rows for _, rows in counts.values())
    assert set(zip(columns["game"].tolist(), columns["side"].tolist(), strict=True)) == {
        lane for lane, (_, rows) in counts.items() if rows
    }
    return "rows"


def slots(value: Any, found: list[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
    """All (container, key) of a document."""
    for key, part in list(value.items()) if isinstance(value, dict) else list(enumerate(value)):
        found.append((value, key))
        if isinstance(part, dict | list):
            slots(part, found)
    return found


@quiet
@given(
    episode=st.sampled_from(SMALL),
    where=st.floats(0, 1, exclude_max=True),
    value=values,
    times=st.integers(1, 3),
    seed=st.integers(1, 997),
)
def test_replaced_values(episode: int, where: float, value: Any, times: int, seed: int) -> None:
    document = json.loads(trimmed(episode))
    places = slots(document, [])
    for turn in range(times):
        container, key = places[(int(where * len(places)) + turn * seed) % len(places)]
        container[key] = value
    survives(json.dumps(document).encode(), f"{episode}.json")


@quiet
@given(episode=st.sampled_from(SMALL), where=st.floats(0, 1, exclude_max=True))
def test_deleted_keys_and_items(episode: int, where: float) -> None:
    document = json.loads(trimmed(episode))
    places = slots(document, [])
    container, key = places[int(where * len(places))]
    del container[key]
    survives(json.dumps(document).encode(), f"{episode}.json")


@quiet
@given(episode=st.sampled_from(SMALL), one=st.floats(0, 1, exclude_max=True), other=st.floats(0, 1, exclude_max=True))
def test_swapped_and_doubled_steps(episode: int, one: float, other: float) -> None:
    document = json.loads(trimmed(episode))
    steps = document["steps"]
    first, second = int(one * len(steps)), int(other * len(steps))
    if first == second:
        steps.insert(first, steps[first])
    else:
        steps[first], steps[second] = steps[second], steps[first]
    survives(json.dumps(document).encode(), f"{episode}.json")


@quiet
@given(episode=st.sampled_from(SMALL), where=st.floats(0, 1, exclude_max=True), byte=st.integers(0, 255), cut=st.booleans())
def test_cut_and_flipped_bytes(episode: int, where: float, byte: int, cut: bool) -> None:
    data = bytearray(trimmed(episode))
    place = int(where * len(data))
    if cut:
        assert survives(bytes(data[:place]), f"{episode}.json") == "broken_json"
    else:
        data[place] = byte
        survives(bytes(data), f"{episode}.json")


@pytest.mark.parametrize("episode", SMALL)
def test_every_field_that_is_read_survives_every_value(episode: int) -> None:
    """Systematically on the last decision of a replay cut short: each of its fields with what numbers, lists and pointers
    trip over. Some are refused by the parser, some by the encoder, and what is not read changes nothing."""
    document = json.loads(trimmed(episode))
    document["configuration"]["bo"] = 1
    del document["steps"][11:], document["steps"][0][0]["visualize"][1:]
    entry = next(entry for entry in document["steps"][9] if entry["status"] == "ACTIVE")
    for side in document["steps"][10]:
        side["status"] = "DONE"
    assert survives(json.dumps(document).encode(), f"{episode}.json") == "rows"
    results = set()
    for container, key in slots(entry, []):
        kept = container[key]
        for value in (None, -1, 2**15, 2**70, "x", [], [None]):
            container[key] = value
            results.add(survives(json.dumps(document).encode(), f"{episode}.json"))
        container[key] = kept
    assert {"malformed", "encode", "illegal_label", "rows"} <= results


def test_the_trimmed_replay_gives_the_golden_rows() -> None:
    for episode in SMALL:
        item: Replay = replay(episode)
        trim = encode_episode(parse_episode(trimmed(episode), item.name), item.day)
        assert trim.digest() == encode_episode(item.episode(), item.day).digest()
