"""What a card is for, read from its text in the engine's table: coarse roles that the rules of play ask for."""

import functools
import re
from dataclasses import dataclass

from tcg_core.engine.cards import cards_by_id

_PATTERNS = {
    "search": r"[Ss]earch your deck|look at the (?:top|bottom) \d+ cards of your deck",
    "finds_basic": r"[Ss]earch your deck for (?:up to )?(?:a|\d+) (?:Basic )?(?:\{.\} )?Pokémon(?! \{ex\}| Tool)",
    "draw": r"\b[Dd]raws? (?:a card|\d+ cards|cards until)",
    "reshuffle": r"[Ss]huffles? (?:your|their) hand|[Dd]iscard your hand",
    "gust": r"[Ss]witch (?:in|out) (?:1 of )?your opponent’s",
    "switch": r"[Ss]witch (?:your|their|this) (?:Active|Pokémon)",
    "heal": r"\b[Hh]eal \d+|\b[Hh]eal all",
    "energy": r"[Aa]ttach .*Energy",
    "damage": r"(?:[Pp]ut|[Pp]lace) \d+ damage counters? on",
    "suicide": r"this Pokémon is Knocked Out",
    "ends_turn": r"[Yy]our turn ends",
    "endless": r"[Aa]s often as you like.*(?:[Mm]ove|devolve)",
    "both_suffer": r"Both Active",
}
_COMPILED = {role: re.compile(pattern, re.DOTALL) for role, pattern in _PATTERNS.items()}
_PRICE = re.compile(r"discard (another|\d+ other|an?|\d+) (?:[^.]* )?cards? from your hand", re.IGNORECASE)


@dataclass(frozen=True)
class Roles:
    """``names``: the roles found in the text; ``price``: hand cards that must be discarded to use it."""

    names: frozenset[str]
    price: int


@functools.cache
def roles(generation: str, card_id: int) -> Roles:
    """The roles of a card's effect or ability. An unknown id has none."""
    card = cards_by_id(generation).get(card_id)
    text = "\n".join(skill.text for skill in card.skills) if card else ""
    price = _PRICE.search(text)
    word = price.group(1).split()[0].lower() if price else "0"
    return Roles(
        frozenset(role for role, pattern in _COMPILED.items() if pattern.search(text)),
        int(word) if word.isdigit() else 1,
    )
