"""Nothing that a seat does not see reaches its rows."""

from typing import Any

import numpy as np
import pytest

from tcg_core.encode.columns import Columns
from tcg_core.encode.rows import encode_episode
from tcg_core.replay import episode
from tcg_core.replay.episode import parse_episode
from tests.golden.replays import Replay, dumps, replays


@pytest.fixture(autouse=True)
def _any_card(monkeypatch: pytest.MonkeyPatch) -> None:
    """The parser refuses an episode whose cards its decks do not hold. Here they are rewritten, and the encoder is asked."""
    monkeypatch.setattr(episode, "count_foreign", lambda *arguments: None)


@pytest.mark.parametrize("item", replays(), ids=lambda item: item.name)
@pytest.mark.parametrize("side", [0, 1])
def test_rewriting_hidden_cards_changes_no_row_of_the_seat(item: Replay, side: int) -> None:
    before = _rows_of(item.data, item, side)
    changed = item.document()
    for frame in changed["steps"][0][0]["visualize"]:
        _rewrite(frame)
    other = 1 - side
    for t, step in enumerate(changed["steps"]):
        # all that only the other seat is shown: its hand, what it looks at and chooses from, its log
        seen = step[other]["observation"]
        if seen.get("current"):
            for part in (
                seen["current"]["players"][other]["hand"],
                seen["current"]["looking"],
                seen["select"]["deck"],
                seen["logs"],
            ):
                _rewrite(part)
        if step[side]["status"] != "ACTIVE":
            _rewrite(step[side]["observation"])
        if t == 1:
            step[other]["action"] = [card % 1000 + 1 for card in step[other]["action"]]
    after = _rows_of(dumps(changed), item, side)
    assert before.rows == after.rows > 0
    for name, array in before.values.items():
        if name != "opponent_deck_hash":
            assert np.array_equal(array, after[name]), name
    assert not np.array_equal(before["opponent_deck_hash"], after["opponent_deck_hash"])


def test_the_rewriting_is_seen_by_the_other_seat() -> None:
    item = replays()[0]
    changed = item.document()
    for step in changed["steps"]:
        current = step[1]["observation"].get("current")
        if current:
            _rewrite(current["players"][1]["hand"])
    before, after = _rows_of(item.data, item, 1), _rows_of(dumps(changed), item, 1)
    assert not np.array_equal(before["card_id"], after["card_id"])


def _rows_of(data: bytes, item: Replay, side: int) -> Columns:
    columns = encode_episode(parse_episode(data, item.name), item.day)
    return columns.take(np.flatnonzero(columns["side"] == side))


def _rewrite(value: Any) -> None:
    """Other card ids, in place, wherever there are any."""
    if isinstance(value, list):
        for part in value:
            _rewrite(part)
    elif isinstance(value, dict):
        for key, part in value.items():
            if key in ("id", "cardId") and isinstance(part, int):
                value[key] = part % 1000 + 1
            elif key not in ("obs", "action"):
                _rewrite(part)
