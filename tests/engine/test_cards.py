"""The card and attack tables as the engine gives them."""

import json

import pytest

from tcg_core.engine.cards import Attack, CardData, attacks_by_id, cards_by_id, load_attacks, load_cards
from tcg_core.engine.library import load_library

COUNTS = {"v1": (1267, 1556), "v2": (1431, 1755)}


@pytest.mark.parametrize("generation", COUNTS)
def test_counts_ids_and_links(generation: str) -> None:
    cards, attacks = load_cards(generation), load_attacks(generation)
    assert (len(cards), len(attacks)) == COUNTS[generation]
    assert [card.card_id for card in cards] == list(range(1, len(cards) + 1))
    assert {index for card in cards for index in card.attacks} <= attacks_by_id(generation).keys()
    assert load_cards(generation) is cards


@pytest.mark.parametrize("generation", COUNTS)
def test_every_field_of_the_engine_is_kept(generation: str) -> None:
    library = load_library(generation)
    assert all(len(card) == len(CardData.__dataclass_fields__) for card in json.loads(library.AllCard()))
    assert all(len(attack) == len(Attack.__dataclass_fields__) for attack in json.loads(library.AllAttack()))


def test_one_card_field_by_field() -> None:
    card = cards_by_id("v2")[723]
    assert (card.hp, card.mega_ex, card.ex, card.stage1, card.retreat_cost, card.weakness) == (350, True, False, True, 4, 8)
    assert card.prizes == 3
    assert [attacks_by_id("v2")[index].energies for index in card.attacks] == [(3, 3), (3, 3, 3)]
    assert cards_by_id("v2")[3].card_type == 5


def test_attack_ids_changed_their_meaning_between_generations() -> None:
    assert attacks_by_id("v1")[1408] != attacks_by_id("v2")[1408]


def test_a_card_of_one_generation_only_is_in_that_one() -> None:
    assert 1300 not in cards_by_id("v1")
    assert cards_by_id("v2")[1300].card_id == 1300
