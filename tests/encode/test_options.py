"""Options resolve to cards, tokens and groups; what does not resolve is an error, never card 0."""

import copy
from typing import Any

import numpy as np
import pytest

from tcg_core.encode.columns import Columns
from tcg_core.encode.encoder import encode_decision, legal
from tcg_core.encode.errors import EncodeError
from tcg_core.encode.observation import Option, Select, from_dict
from tcg_core.encode.options import Encoded, meanings, option_groups
from tcg_core.encode.rows import encode_episode
from tcg_core.encode.schema import CARD_ZONES, NO_POINTER
from tcg_core.encode.tracker import Tracker
from tests.encode.helpers import find_raw
from tests.golden.replays import replays

PLAY, ATTACH, CARD, ATTACK, ENERGY = 7, 8, 3, 13, 6
HAND = CARD_ZONES.index("self_hand")


def encoded(raw: dict[str, Any], picked: tuple[int, ...] = ()) -> dict[str, Any]:
    """The row of one raw observation, shown to a fresh tracker."""
    observation = from_dict(raw)
    tracker = Tracker([1] * 60)
    tracker.observe(observation)
    return encode_decision(tracker, observation, picked)


def with_types(raw: dict[str, Any], kind: int, at_least: int = 1) -> bool:
    return sum(option["type"] == kind for option in raw["select"]["option"]) >= at_least


def test_field_case_play_options_name_the_card_of_their_hand_index() -> None:
    def wanted(raw: dict[str, Any]) -> bool:
        hand = raw["current"]["players"][raw["current"]["yourIndex"]]["hand"]
        return len({hand[option["index"]]["id"] for option in raw["select"]["option"] if option["type"] == PLAY}) >= 2

    _, side, raw = find_raw(wanted)
    row, hand = encoded(raw), raw["current"]["players"][side]["hand"]
    for position, option in enumerate(raw["select"]["option"]):
        if option["type"] == PLAY:
            card = hand[option["index"]]["id"]
            token = row["option_source"][position]
            assert row["option_card"][position] == card
            assert (row["card_zone"][token], row["card_id"][token]) == (HAND, card)


@pytest.mark.parametrize("change", [{"area": None}, {"area": 8}, {"area": 1}, {"index": 99}, {"index": -1}, {"index": None}])
def test_field_case_an_option_that_does_not_resolve_is_an_error(change: dict[str, int | None]) -> None:
    _, _, raw = find_raw(lambda raw: with_types(raw, CARD) and raw["select"]["deck"] is None)
    changed = copy.deepcopy(raw)
    option = next(option for option in changed["select"]["option"] if option["type"] == CARD)
    option |= change
    with pytest.raises(EncodeError, match=r"option \d+: area"):
        encoded(changed)


def test_attached_cards_point_to_their_unit_and_name_the_card() -> None:
    _, _, raw = find_raw(lambda raw: with_types(raw, ENERGY))
    row = encoded(raw)
    option = raw["select"]["option"][0]
    unit = raw["current"]["players"][option["playerIndex"]]["active"][option["index"]]
    assert row["option_card"][0] == unit["energyCards"][option["energyIndex"]]["id"]
    assert row["unit_id"][row["option_source"][0] - len(row["card_zone"])] == unit["id"]
    changed = copy.deepcopy(raw)
    changed["select"]["option"][0]["energyIndex"] = 40
    with pytest.raises(EncodeError, match="energy 40"):
        encoded(changed)


def test_an_attack_points_from_the_own_to_the_opposing_active() -> None:
    _, side, raw = find_raw(lambda raw: with_types(raw, ATTACK))
    row = encoded(raw)
    position = next(k for k, option in enumerate(raw["select"]["option"]) if option["type"] == ATTACK)
    players, units = raw["current"]["players"], len(row["card_zone"])
    assert row["option_attack"][position] == raw["select"]["option"][position]["attackId"] > 0
    assert row["unit_id"][row["option_source"][position] - units] == players[side]["active"][0]["id"]
    assert row["unit_id"][row["option_target"][position] - units] == players[1 - side]["active"][0]["id"]
    assert row["is_attack"]


def test_equal_cards_in_hand_are_one_choice_and_different_targets_are_not() -> None:
    def wanted(raw: dict[str, Any]) -> bool:
        hand = raw["current"]["players"][raw["current"]["yourIndex"]]["hand"]
        ids = [hand[option["index"]]["id"] for option in raw["select"]["option"] if option["type"] == ATTACH]
        return len(set(ids)) < len(ids) and raw["current"]["players"][raw["current"]["yourIndex"]]["bench"] != []

    _, side, raw = find_raw(wanted)
    groups, hand = encoded(raw)["opt_group"], raw["current"]["players"][side]["hand"]
    first: dict[tuple[Any, ...], int] = {}
    for position, option in enumerate(raw["select"]["option"]):
        card = hand[option["index"]]["id"] if "index" in option else None
        key = (option["type"], card, option.get("inPlayArea"), option.get("inPlayIndex"), option.get("attackId"))
        assert groups[position] == first.setdefault(key, position)
    assert len(first) < len(groups)


def test_face_down_prizes_are_one_choice_and_unknown_cards() -> None:
    _, _, raw = find_raw(
        lambda raw: all(option.get("area") == 6 for option in raw["select"]["option"]) and raw["select"]["maxCount"] == 1
    )
    row = encoded(raw)
    assert set(row["option_card"]) == {-1} and set(row["opt_group"]) == {0} and NO_POINTER not in row["option_source"]


def test_copies_are_one_class_among_the_options_that_can_still_be_picked() -> None:
    _, _, raw = find_raw(
        lambda raw: raw["select"]["maxCount"] > 1 and len(set(encoded(raw)["opt_group"])) + 1 < len(raw["select"]["option"])
    )
    count, free = len(raw["select"]["option"]), encoded(raw)
    meant = list(zip(free["option_type"], free["option_card"], strict=True))
    assert free["opt_group"] == [meant.index(meaning) for meaning in meant] and len(set(meant)) < count
    twins = [place for place in range(count) if meant[place] == meant[0]]
    row = encoded(raw, (0,))
    assert row["opt_group"][0] == 0 and {row["opt_group"][place] for place in twins[1:]} == {twins[1]}
    last = encoded(raw, (twins[1],))
    assert last["opt_group"][twins[1]] == twins[1] and last["opt_group"][0] == 0
    others = [place for place in range(count) if place not in twins]
    assert [row["opt_group"][place] for place in others] == [free["opt_group"][place] for place in others]


def test_picks_of_a_multiple_choice_are_flagged() -> None:
    _, _, raw = find_raw(lambda raw: raw["select"]["maxCount"] > 1 and len(raw["select"]["option"]) > 2)
    row = encoded(raw, (1,))
    assert [attributes[0] for attributes in row["option_attributes"]][:3] == [0, 1, 0]
    mask = legal(from_dict(raw), (1,))
    assert mask[:3] == [True, False, True] and mask[-1] == (raw["select"]["minCount"] <= 1)
    with pytest.raises(EncodeError, match="not distinct"):
        encoded(raw, (1, 1))


def test_cards_attached_to_one_unit_are_one_choice_and_those_of_two_units_are_not() -> None:
    _, _, raw = find_raw(lambda raw: with_types(raw, ENERGY, 2))
    options = raw["select"]["option"]
    groups, units = encoded(raw)["opt_group"], raw["current"]["players"]
    rows = {4: "active", 5: "bench"}
    cards = [
        units[option["playerIndex"]][rows[option["area"]]][option["index"]]["energyCards"][option["energyIndex"]]["id"]
        for option in options
    ]
    meant = [(option["area"], option["index"], card) for option, card in zip(options, cards, strict=True)]
    assert groups == [meant.index(meaning) for meaning in meant]
    moved = [Encoded(card=7), Encoded(card=7), Encoded(card=7), Encoded(card=8)]
    made = [Option(ENERGY, area=5, index=place, player_index=0, energy_index=k) for k, place in enumerate((0, 0, 1, 0))]
    select = Select(1, 0, 1, 2, 0, 0, made, None, None, None)
    assert option_groups(meanings(moved, select)) == [0, 0, 2, 3]
    assert option_groups(meanings(moved, select), (0,)) == [0, 1, 2, 3]


def test_units_in_play_stay_apart_even_if_they_look_the_same() -> None:
    made = [Option(CARD, area=5, index=place, player_index=0) for place in (0, 1)]
    select = Select(1, 0, 1, 2, 0, 0, made, None, None, None)
    assert option_groups(meanings([Encoded(card=7)] * 2, select)) == [0, 1]


def test_a_label_is_legal_and_opt_group_is_its_own_first_member_everywhere() -> None:
    several = 0
    for item in replays():
        columns: Columns = encode_episode(item.episode(), item.day)
        starts, lengths = columns.offsets["option"][:-1], columns.lengths("option")
        assert (columns["y"] <= lengths).all()
        for start, length in zip(starts, lengths, strict=True):
            group = columns["opt_group"][start : start + length]
            picked = columns["option_attributes"][start : start + length, 0] == 1
            assert (group <= np.arange(length)).all() and (group[group] == group).all()
            assert (group[picked] == np.flatnonzero(picked)).all() and not picked[group[~picked]].any()
            several += bool(picked.any())
    assert several > 10
