"""An episode's rows: one a pick, STOP where it was chosen, canonical order, declared dtypes and ranges."""

from typing import Any

import numpy as np
import pytest

from tcg_core.encode.columns import Columns, numpy_dtype
from tcg_core.encode.errors import EncodeError
from tcg_core.encode.rows import check_ranges, deck_hash, empty_columns, encode_episode
from tcg_core.encode.schema import GLOBALS, SCHEMA, index_of
from tcg_core.replay.episode import parse_episode
from tcg_core.replay.recount import recount
from tests.golden.replays import Replay, answer, dumps, replay, replays

every = pytest.mark.parametrize("item", replays(), ids=lambda item: item.name)


@every
def test_streams_dtypes_and_coverage(item: Replay) -> None:
    columns = encode_episode(item.episode(), item.day)
    assert list(columns.values) == [stream.name for stream in SCHEMA.streams]
    for stream in SCHEMA.streams:
        array = columns[stream.name]
        assert array.dtype == numpy_dtype(stream), stream.name
        assert array.ndim == (2 if stream.width > 1 else 1)
    check_ranges(columns)
    lanes: dict[tuple[int, int], tuple[int, int]] = {}
    for game, side in {(int(g), int(s)) for g, s in zip(columns["game"], columns["side"], strict=True)}:
        mine = (columns["game"] == game) & (columns["side"] == side)
        lanes[game, side] = (len(np.unique(columns["step_id"][mine])), int(mine.sum()))
    assert lanes == recount(item.episode())


@every
def test_canonical_order_and_lane_starts(item: Replay) -> None:
    columns = encode_episode(item.episode(), item.day)
    keys = [tuple(int(columns[name][row]) for name in ("game", "side", "step_id", "substep")) for row in range(columns.rows)]
    assert keys == sorted(set(keys))
    starts = [row for row in range(columns.rows) if row == 0 or keys[row][:2] != keys[row - 1][:2]]
    assert np.flatnonzero(columns["new_episode"]).tolist() == starts
    for row in range(columns.rows):
        first = row in starts
        same = not first and keys[row][2] == keys[row - 1][2]
        before = 0 if first else int(columns["decision_id"][row - 1])
        assert columns["decision_id"][row] == (0 if first else before + (not same))
        assert columns["substep"][row] == (columns["substep"][row - 1] + 1 if same else 0)


def test_each_game_of_a_match_is_its_own_lane_and_outcome() -> None:
    item = replay(93000002)
    columns = encode_episode(item.episode(), item.day)
    found = {(int(g), int(s)): int(o) for g, s, o in zip(columns["game"], columns["side"], columns["outcome"], strict=True)}
    assert found == {(0, 0): -1, (0, 1): 1, (1, 0): 1, (1, 1): -1, (2, 0): -1, (2, 1): 1}
    assert columns["new_episode"].sum() == 6


def _multiple(document: Any) -> tuple[int, int, Any]:
    for t, step in enumerate(document["steps"]):
        for side, entry in enumerate(step):
            select = entry["observation"].get("select")
            if entry["status"] == "ACTIVE" and select and select["maxCount"] > 1:
                return t, side, select
    raise AssertionError("no multiple choice in this replay")


def _rows_at(columns: Columns, t: int, side: int) -> Columns:
    return columns.take(np.flatnonzero((columns["step_id"] == t) & (columns["side"] == side)))


def test_field_case_an_empty_answer_is_a_labelled_stop() -> None:
    item = replay(93000002)
    document = item.document()
    t, side, select = _multiple(document)
    select["minCount"] = 0
    answer(document, t, side, [], [])
    rows = _rows_at(encode_episode(parse_episode(dumps(document), item.name), item.day), t, side)
    assert rows.rows == 1 and rows["y"][0] == len(select["option"]) and not rows["forced"][0]


def test_picks_become_rows_and_stop_follows_below_the_maximum() -> None:
    item = replay(93000002)
    document = item.document()
    t, side, select = _multiple(document)
    count = len(select["option"])
    for picks, low, high, labels in (
        ([1, 0], 2, 2, [1, 0]),
        ([1], 1, 2, [1, count]),
        ([0, 1], 0, count + 1, [0, 1, count]),
    ):
        select["minCount"], select["maxCount"] = low, high
        answer(document, t, side, picks, picks)
        rows = _rows_at(encode_episode(parse_episode(dumps(document), item.name), item.day), t, side)
        assert rows["y"].tolist() == labels
        assert rows["substep"].tolist() == list(range(len(labels)))
        assert rows["globals"][:, index_of(GLOBALS)["picked"]].tolist() == list(range(len(labels)))


def test_metadata() -> None:
    item = replay(93000012)
    columns, episode = encode_episode(item.episode(), item.day), item.episode()
    for row in (0, columns.rows - 1):
        side = int(columns["side"][row])
        assert (
            columns["player_name"][row] == episode.team_names[side]
            and columns["opponent_name"][row] == episode.team_names[1 - side]
        )
        assert columns["player_deck_hash"][row] == deck_hash(episode.decks[side])
        assert columns["opponent_deck_hash"][row] == deck_hash(reversed(episode.decks[1 - side]))  # type: ignore[arg-type]
    assert set(columns["day"]) == {"2026-10-25"} and set(columns["generation"]) == {"v2"}


def test_excluded_games_give_no_rows_with_every_stream_still_there() -> None:
    document = replay(85000011).document()
    document["statuses"], document["rewards"] = ["DONE", "ERROR"], [1, None]
    columns = encode_episode(parse_episode(dumps(document), "85000011.json"), "2026-08-15")
    assert columns.rows == 0 and list(columns.values) == [stream.name for stream in SCHEMA.streams]
    whole = encode_episode(replay(85000011).episode(), "2026-08-15")
    assert Columns.concatenate([columns, whole]).digest() == whole.digest()
    assert empty_columns(SCHEMA.streams)["unit_attributes"].shape == (0, 20)


def test_a_value_outside_its_stream_names_the_episode_and_the_stream() -> None:
    document = replay(85000011).document()
    for step in document["steps"]:
        for entry in step:
            if entry["observation"].get("current"):
                entry["observation"]["current"]["turnActionCount"] += 2**40
    del document["steps"][0][0]["visualize"]
    with pytest.raises(EncodeError, match="stream globals"):
        encode_episode(parse_episode(dumps(document), "85000011.json"), "2026-08-15")
    columns = encode_episode(replay(85000011).episode(), "2026-08-15")
    columns["card_count"][3] = 61
    with pytest.raises(EncodeError, match="stream card_count: values 1 to 61, expected 1 to 60"):
        check_ranges(columns)


def test_an_observation_that_cannot_be_encoded_names_its_lane() -> None:
    document = replay(85000011).document()
    for entry in document["steps"][5]:
        select = entry["observation"]["select"]
        if entry["status"] == "ACTIVE":
            select["option"] = [{"type": 7, "index": 99}] * len(select["option"])
    with pytest.raises(EncodeError, match=r"episode 85000011 game 0 side \d step 5: option 0: area 2 index 99"):
        encode_episode(parse_episode(dumps(document), "85000011.json"), "2026-08-15")
