"""Deck files and deck rules; the rules are the engine's own, proven against it."""

import random
from collections import Counter
from pathlib import Path

import pytest

from tcg_core.base.errors import UnknownId
from tcg_core.base.home import Home
from tcg_core.engine.battle import Battle, DeckRejected
from tcg_core.engine.cards import load_cards
from tcg_core.engine.decks import (
    DeckError,
    deck_error,
    deck_hash,
    random_legal_deck,
    read_deck,
    resolve_deck,
    sample_deck,
    validate_deck,
    write_deck,
)
from tcg_core.engine.library import GENERATIONS

both = pytest.mark.parametrize("generation", GENERATIONS)


def spoiled_deck(generation: str, rng: random.Random) -> list[int]:
    """A deck that is legal or broken in one or several ways, in random order."""
    cards = load_cards(generation)
    deck = list(random_legal_deck(generation, rng.randrange(10**6)) if rng.random() < 0.5 else sample_deck())
    if rng.random() < 0.4:
        for _ in range(rng.randint(1, 4)):
            deck[rng.randrange(60)] = rng.choice(cards).card_id
    if rng.random() < 0.2:
        deck[rng.randrange(60)] = rng.choice([card.card_id for card in cards if card.ace_spec])
    if rng.random() < 0.2:
        deck[:5] = [rng.choice(cards).card_id] * 5
    if rng.random() < 0.1:
        deck[rng.randrange(60)] = rng.choice([0, -1, len(cards) + 1, 99999])
    if rng.random() < 0.2:
        deck = [
            card if 1 <= card <= len(cards) and not (cards[card - 1].basic and cards[card - 1].hp > 60) else 3 for card in deck
        ]
    rng.shuffle(deck)
    return deck


@both
def test_our_rules_agree_with_the_engine(generation: str) -> None:
    rng, seen = random.Random(7), Counter[int]()
    for _ in range(600):
        deck = spoiled_deck(generation, rng)
        try:
            Battle(generation, deck, sample_deck()).close()
            verdict = 0
        except DeckRejected as error:
            verdict = error.code
        assert deck_error(generation, deck)[0] == verdict, deck
        seen[verdict] += 1
    assert min(seen[code] for code in range(5)) >= 10, seen


@both
def test_fossils_are_no_basic_pokemon(generation: str) -> None:
    fossils = [card.card_id for card in load_cards(generation) if card.basic and card.card_type != 0]
    assert fossils
    deck = [*fossils[:1], *[3] * 59]
    assert deck_error(generation, deck)[0] == 3
    with pytest.raises(DeckRejected, match="no Basic Pokémon"):
        Battle(generation, deck, sample_deck())


@both
def test_random_decks_are_legal_and_seeded(generation: str) -> None:
    decks = [random_legal_deck(generation, seed) for seed in range(60)]
    for deck in decks:
        validate_deck(generation, deck)
    assert random_legal_deck(generation, 5) == decks[5]
    assert len({deck_hash(deck) for deck in decks}) == 60


def test_messages_name_the_rule() -> None:
    deck = sample_deck()
    for spoiled, words in (
        (deck[:59], "59 cards, expected 60"),
        ((0, *deck[1:]), "unknown|does not know: id 0"),
        ((*[721] * 6, *deck[6:]), "more than 4 cards of one name .*: a fifth Kyogre"),
        ([3] * 60, "no Basic Pokémon"),
    ):
        with pytest.raises(DeckError, match=words):
            validate_deck("v1", spoiled)


def test_files(tmp_path: Path) -> None:
    path = tmp_path / "deck.csv"
    write_deck(path, sample_deck())
    assert read_deck(path) == sample_deck()
    path.write_text("721\n\n72x\n")
    with pytest.raises(DeckError, match=r"deck.csv line 3: expected a card id, found '72x'"):
        read_deck(path)
    with pytest.raises(DeckError, match=r"none.csv cannot be read"):
        read_deck(tmp_path / "none.csv")


def test_the_hash_ignores_order_and_nothing_else() -> None:
    deck = sample_deck()
    assert deck_hash(deck) == deck_hash(reversed(deck))
    assert deck_hash(deck) != deck_hash((*deck[:-1], 4))


def test_names(home: Home) -> None:
    assert resolve_deck(home, "sample") == sample_deck()
    write_deck(home.decks / "mine.csv", random_legal_deck("v1", 1))
    assert resolve_deck(home, "mine") == random_legal_deck("v1", 1)
    for name in ("yours", "../decks/mine"):
        with pytest.raises(UnknownId, match="decks here: sample, mine"):
            resolve_deck(home, name)


def test_the_sample_deck_is_legal_in_both_generations() -> None:
    for generation in GENERATIONS:
        validate_deck(generation, sample_deck())
