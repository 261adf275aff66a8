"""The same encoder offline and live: identical arrays on all golden replays; and it runs in the sandbox."""

import ast
import sys
from pathlib import Path

import numpy as np
import pytest

import tcg_core.encode
from tcg_core.encode.columns import Columns
from tcg_core.encode.encoder import encode_decision
from tcg_core.encode.errors import EncodeError
from tcg_core.encode.observation import from_dict
from tcg_core.encode.rows import encode_episode
from tcg_core.encode.schema import SCHEMA
from tcg_core.encode.tracker import Tracker
from tests.encode.helpers import find_raw, raw_decisions
from tests.golden.replays import Replay, replays


@pytest.mark.parametrize("item", replays(), ids=lambda item: item.name)
def test_field_case_live_and_offline_encodings_are_identical(item: Replay) -> None:
    episode = item.episode()
    lanes: dict[tuple[int, int], list[dict[str, object]]] = {}
    trackers: dict[tuple[int, int], Tracker] = {}
    for game, side, _, raw, answer in raw_decisions(item):
        tracker = trackers.setdefault((game, side), Tracker(episode.decks[side]))
        observation = from_dict(raw)
        tracker.observe(observation)
        picks: list[int] = []
        select = raw["select"]
        while len(picks) < select["maxCount"]:
            lanes.setdefault((game, side), []).append(encode_decision(tracker, observation, picks))
            if len(picks) == len(answer):
                break
            picks.append(answer[len(picks)])
        tracker.answered(observation, answer)
    live = Columns.from_rows([row for lane in sorted(lanes) for row in lanes[lane]])
    offline = encode_episode(episode, item.day)
    assert live.rows == offline.rows
    for stream in SCHEMA.of_role("feature"):
        assert np.array_equal(live[stream.name], offline[stream.name]), stream.name
    for group, offsets in live.offsets.items():
        assert np.array_equal(offsets, offline.offsets[group]), group
    for name in ("opt_group", "is_attack", "forced"):
        assert np.array_equal(live[name], offline[name]), name


def test_encode_imports_the_sandbox_only() -> None:
    allowed = set(sys.stdlib_module_names) | {"numpy"}
    folder = Path(tcg_core.encode.__file__ or "").parent
    for path in folder.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            for name in names:
                assert name.split(".")[0] in allowed or name.startswith("tcg_core.encode"), f"{path.name} imports {name}"


@pytest.mark.parametrize(
    ("path", "value", "complaint"),
    [
        (("current", "turn"), None, "state.turn"),
        (("current", "players"), {}, "state.players"),
        (("select", "minCount"), True, "select.minCount"),
        (("select", "option"), None, "select.option"),
        (("logs",), "x", "observation.logs"),
    ],
)
def test_a_live_field_of_another_type_is_named(path: tuple[str, ...], value: object, complaint: str) -> None:
    _, _, raw = find_raw(lambda observation: True)
    changed = {key: dict(part) if isinstance(part, dict) else part for key, part in raw.items()}
    target = changed
    for key in path[:-1]:
        target = target[key]
    target[path[-1]] = value
    with pytest.raises(EncodeError, match=complaint):
        from_dict(changed)
    del target[path[-1]]
    with pytest.raises(EncodeError, match=f"no key '{path[-1]}'"):
        from_dict(changed)


def test_the_deck_question_is_read_and_is_no_decision() -> None:
    observation = from_dict({"select": None, "logs": [], "current": None, "search_begin_input": None})
    with pytest.raises(EncodeError, match="no decision"):
        Tracker([1] * 60).observe(observation)
