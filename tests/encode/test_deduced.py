"""Own prizes that a search of the deck made certain stay certain, whatever the next questions name, and cost no option its
source. ``data/deck_search.json``: what a seat saw at the decisions around two searches, and what its prizes and deck were."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tcg_core.encode.encoder import encode_decision
from tcg_core.encode.observation import Card, Observation, Option, Select, from_dict
from tcg_core.encode.schema import CARD_FLAGS, CARD_ZONES
from tcg_core.encode.tracker import Tracker
from tests.encode.test_tracker import player, seen

GAME = json.loads((Path(__file__).parent / "data/deck_search.json").read_text())
PRIZE, HAND = 6, 2
SEARCHED = Card(5, 20, 0)


def _asked(own: Any, context: Card | None = None, effect: Card | None = None, deck: list[Card] | None = None) -> Observation:
    observation = seen(own=own)
    observation.select = Select(1, 0, 1, 1, 0, 0, [Option(14)], deck, context, effect)  # type: ignore[arg-type]
    return observation


def _deck(count: int) -> list[Card]:
    return [Card(5, 3 + k, 0) for k in range(count)]


def _searched() -> tuple[Tracker, Any]:
    """A tracker whose prizes are certain: the deck of 52 was shown, two cards lie in the discard pile."""
    own = player(hand=[], deck_count=52, discard=[Card(7, 60, 0), Card(7, 61, 0)])
    made = Tracker([5] * 55 + [7] * 5)
    made.observe(_asked(own, deck=_deck(52)))
    assert made.prizes == {5: 3, 7: 3}
    return made, own


@pytest.mark.parametrize("shown", [True, False], ids=["deck shown", "deck not shown"])
def test_a_found_card_that_is_asked_about_still_lies_in_the_deck(shown: bool) -> None:
    made, own = _searched()
    made.observe(_asked(own, context=SEARCHED, deck=_deck(52) if shown else None))
    assert made.prizes == {5: 3, 7: 3} and sum(made.unseen.values()) == 52 + 6


def test_a_card_that_left_the_deck_and_lies_nowhere_is_taken_off() -> None:
    made, own = _searched()
    own.deck_count = 51
    made.observe(_asked(own, context=SEARCHED))
    assert made.unseen[5] == 55 - 1 and made.prizes == {5: 3, 7: 3}


def test_the_card_in_play_is_off_the_list_while_the_found_one_is_not() -> None:
    made, own = _searched()
    own.discard = own.discard[:1]
    made.observe(_asked(own, context=SEARCHED, effect=Card(7, 61, 0)))
    assert made.unseen == {5: 55, 7: 3} and made.prizes == {5: 3, 7: 3}


def test_recorded_searches_leave_the_six_prizes_certain() -> None:
    made = Tracker(GAME["deck"])
    for item in GAME["decisions"]:
        made.observe(from_dict(item["observation"]))
        assert Counter(made.unseen) == Counter(item["prize"] + item["deck"]), item["step"]
        assert made.prizes == Counter(item["prize"]), item["step"]
    named = [item for item in GAME["decisions"] if item["observation"]["select"]["contextCard"]]
    assert {item["observation"]["select"]["deck"] is None for item in named} == {True, False}, "both kinds are recorded"


def _options(row: dict[str, Any]) -> list[tuple[int, ...]]:
    """Each option with the token that it points to in place of the pointer."""
    tokens = list(zip(row["card_zone"], row["card_id"], row["card_count"], row["card_flag"], strict=True))
    names = ("option_type", "option_card", "option_target", "option_target_card", "option_attack", "opt_group")
    return [
        (*tokens[source], *others)
        for source, *others in zip(row["option_source"], *(row[name] for name in names), strict=True)
        if source >= 0
    ]


@pytest.mark.parametrize("count", [1, 2])
def test_picking_a_prize_is_the_same_choice_before_and_after_the_deduction(count: int) -> None:
    made, own = _searched()
    asks = _asked(own)
    asks.select.option = [Option(3, area=PRIZE, index=k, player_index=0) for k in range(6)]  # type: ignore[union-attr]
    asks.select.max_count = count  # type: ignore[union-attr]
    fresh = Tracker([5] * 55 + [7] * 5)
    rows = []
    for tracker in (fresh, made):
        tracker.observe(asks)
        rows.append(encode_decision(tracker, asks))
    assert fresh.prizes is None and made.prizes is not None
    before, after = (_options(row) for row in rows)
    assert before == after and len(after) == 6
    assert after[0][:4] == (CARD_ZONES.index("self_prize"), -1, 6, CARD_FLAGS.index("unknown"))
    assert rows[1]["card_id"].count(-1) == rows[0]["card_id"].count(-1)


def test_without_such_an_option_the_prizes_are_listed_once() -> None:
    made, own = _searched()
    row = encode_decision(made, _asked(own))
    tokens = zip(row["card_zone"], row["card_id"], row["card_count"], strict=True)
    assert [token[1:] for token in tokens if token[0] == CARD_ZONES.index("self_prize")] == [(5, 3), (7, 3)]


def test_a_pick_out_of_a_hand_that_is_believed_whole_keeps_its_source() -> None:
    made = Tracker([5] * 60)
    made.revealed = {70: 9, 71: 9}
    made.beliefs = {70: (9, True), 71: (9, True)}
    asks = seen(hand_count=2)
    asks.select.option = [Option(3, area=HAND, index=k, player_index=1) for k in range(2)]  # type: ignore[union-attr]
    made.observe(asks)
    hidden = (CARD_ZONES.index("opponent_hand"), -1, 2, CARD_FLAGS.index("unknown"))
    assert [option[:4] for option in _options(encode_decision(made, asks))] == [hidden] * 2
    asks.select.option = [Option(14)]  # type: ignore[union-attr]
    row = encode_decision(made, asks)
    assert hidden not in zip(row["card_zone"], row["card_id"], row["card_count"], row["card_flag"], strict=True)
