"""Decks: files, identity, the rules, a random one for variety."""

import ast
import functools
import random
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from tcg_core.base.atomic import write_bytes
from tcg_core.base.digest import sha256_bytes
from tcg_core.base.errors import UnknownId
from tcg_core.base.home import Home
from tcg_core.engine.battle import DECK_RULES, DECK_SIZE
from tcg_core.engine.cards import BASIC_ENERGY, POKEMON, CardData, cards_by_id, load_cards
from tcg_core.engine.errors import DeckError
from tcg_core.engine.library import REMEDY, EngineMissing, check_generation, engine_directory

__all__ = [
    "SAMPLE",
    "DeckError",
    "deck_error",
    "deck_hash",
    "is_basic_pokemon",
    "random_legal_deck",
    "read_deck",
    "resolve_deck",
    "sample_deck",
    "validate_deck",
    "write_deck",
]

SAMPLE = "sample"
COPIES = 4


@functools.cache
def sample_deck() -> tuple[int, ...]:
    """The deck of the wheel's own sample agents, read out of its source without running it. Raises :class:`EngineMissing`."""
    source = engine_directory() / "cabt.py"
    for node in ast.parse(source.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and [getattr(target, "id", None) for target in node.targets] == ["deck"]:
            return tuple(ast.literal_eval(node.value))
    raise EngineMissing(f"{source} defines no sample deck: {REMEDY}")


def read_deck(path: Path) -> tuple[int, ...]:
    """Card ids of a deck file, one a line; blank lines are skipped. Raises :class:`DeckError` naming file and line."""
    ids = []
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise DeckError(f"deck {path} cannot be read: {error}") from None
    for number, line in enumerate(lines, start=1):
        text = line.strip()
        if not text:
            continue
        if not (text.isascii() and text.isdigit()):
            raise DeckError(f"deck {path} line {number}: expected a card id, found {text[:40]!r}")
        ids.append(int(text))
    return tuple(ids)


def write_deck(path: Path, ids: Iterable[int]) -> None:
    """Writes a deck file, one id a line, atomically."""
    write_bytes(path, "".join(f"{card}\n" for card in ids).encode())


def deck_hash(ids: Iterable[int]) -> str:
    """Identity of a deck whatever its order: hex SHA-256 of the sorted ids joined by commas."""
    return sha256_bytes(",".join(map(str, sorted(ids))).encode())


def validate_deck(generation: str, ids: Sequence[int]) -> None:
    """Raises :class:`DeckError` with the first broken rule in words.

    60 cards; known ids; at most four of one name over all prints (Basic Energy free); at least one Basic Pokémon
    (fossil Items are none); at most one ACE SPEC.
    """
    if len(ids) != DECK_SIZE:
        raise DeckError(f"the deck holds {len(ids)} cards, expected {DECK_SIZE}")
    code, detail = deck_error(generation, ids)
    if code:
        raise DeckError(f"the deck is not legal in engine {generation}: {DECK_RULES[code]}: {detail}")


def deck_error(generation: str, ids: Sequence[int]) -> tuple[int, str]:
    """The engine's error number of a 60-card deck (0: legal) and what broke the rule.

    Card by card in the deck's order, as the engine does, so that a deck with several faults gets the engine's number.
    """
    table = cards_by_id(check_generation(generation))
    names: Counter[str] = Counter()
    specials: list[str] = []
    for index in ids:
        card = None if isinstance(index, bool) else table.get(index)
        if card is None:
            return 1, f"id {index!r}"
        names[card.name] += 1
        if card.card_type != BASIC_ENERGY and names[card.name] > COPIES:
            return 2, f"a fifth {card.name}"
        specials.extend([card.name] if card.ace_spec else [])
        if len(specials) > 1:
            return 4, " and ".join(specials)
    if not any(is_basic_pokemon(table[index]) for index in ids):
        return 3, "60 other cards"
    return 0, ""


def is_basic_pokemon(card: CardData) -> bool:
    """Whether the card counts as the Basic Pokémon that a deck needs."""
    return card.card_type == POKEMON and card.basic


def random_legal_deck(generation: str, seed: int) -> tuple[int, ...]:
    """A legal deck that can be played, the same for the same seed.

    Three evolution families of one or two energy types with all their stages, Trainers in twos to fours, and 18 Basic
    Energy of those types.
    """
    rng = random.Random(f"deck:{generation}:{seed}")
    cards = load_cards(check_generation(generation))
    energies = {card.energy_type: card for card in cards if card.card_type == BASIC_ENERGY}
    first = rng.choice(sorted(energies))
    types = {first, rng.choice(sorted(energies))}
    names: Counter[str] = Counter()
    deck: list[int] = []
    basics = [card for card in cards if is_basic_pokemon(card) and card.energy_type in types]
    for basic in rng.sample(basics, min(3, len(basics))):
        for card in _family(rng, cards, basic):
            _add(deck, names, card, rng.randint(2, COPIES))
    trainers = [card for card in cards if card.card_type not in (POKEMON, BASIC_ENERGY) and not card.ace_spec]
    if rng.random() < 0.5:
        _add(deck, names, rng.choice([card for card in cards if card.ace_spec]), 1)
    for card in rng.sample(trainers, len(trainers)):
        if len(deck) >= DECK_SIZE - 18:
            break
        _add(deck, names, card, min(rng.randint(2, COPIES), DECK_SIZE - 18 - len(deck)))
    while len(deck) < DECK_SIZE:
        deck.append(energies[rng.choice(sorted(types))].card_id)
    return tuple(deck[:DECK_SIZE])


def _family(rng: random.Random, cards: Sequence[CardData], basic: CardData) -> list[CardData]:
    family = [basic]
    while True:
        nexts = [card for card in cards if card.card_type == POKEMON and card.evolves_from == family[-1].name]
        if not nexts:
            return family
        family.append(rng.choice(nexts))


def _add(deck: list[int], names: Counter[str], card: CardData, count: int) -> None:
    count = min(count, COPIES - names[card.name])
    names[card.name] += count
    deck.extend([card.card_id] * count)


def resolve_deck(home: Home, name: str) -> tuple[int, ...]:
    """The deck called ``name``: ``sample``, or ``decks/NAME.csv`` of the home. Raises :class:`UnknownId` listing them."""
    if name == SAMPLE:
        return sample_deck()
    path = home.decks / f"{name}.csv"
    if Path(name).name != name or not path.is_file():
        known = [SAMPLE, *sorted(file.stem for file in home.decks.glob("*.csv"))]
        raise UnknownId(f"deck {name!r}: no {path}; decks here: {', '.join(known)}")
    return read_deck(path)
