"""Static features of a card and of an attack: numbers a network reads beside the embedding. All from the engine's own tables."""

import re
from collections.abc import Mapping
from typing import Any

ENERGIES = 12
_CARD_TYPES, _POKEMON_TYPES, _EVOLUTIONS = 7, 5, 4
_FLAGS = ("basic", "stage1", "stage2", "ex", "mega_ex", "tera", "ace_spec")

#: Words of rules text that tell kinds of effects apart; each is one feature, 1 where it occurs.
EFFECTS: Mapping[str, str] = {
    "draw": r"\bdraw\b",
    "search": r"\bsearch\b",
    "shuffle": r"\bshuffle\b",
    "discard": r"\bdiscard",
    "heal": r"\bheal\b",
    "switch": r"\bswitch\b",
    "bench": r"\bbench",
    "coin": r"\bcoin",
    "counters": r"\bdamage counter",
    "attach": r"\battach\b",
    "poisoned": r"\bpoisoned\b",
    "burned": r"\bburned\b",
    "asleep": r"\basleep\b",
    "paralyzed": r"\bparalyzed\b",
    "confused": r"\bconfused\b",
    "prevent": r"\bprevent",
    "cannot": r"\bcan(?:'|\N{RIGHT SINGLE QUOTATION MARK})t\b",
    "evolve": r"\bevol",
    "retreat": r"\bretreat",
    "prize": r"\bprize",
    "hand": r"\bhand\b",
    "more": r"\bmore damage\b",
    "each": r"\bfor each\b",
    "itself": r"\bitself\b",
    "once": r"\bonce\b",
    "knocked": r"\bknocked out\b",
    "tool": r"\btool",
    "stadium": r"\bstadium",
    "supporter": r"\bsupporter",
}
_PATTERNS = {name: re.compile(pattern) for name, pattern in EFFECTS.items()}

ATTACK_NAMES = (
    "damage",
    "no_damage",
    "cost",
    *(f"cost_{energy}" for energy in range(ENERGIES)),
    "text",
    *(f"effect_{name}" for name in EFFECTS),
)
CARD_NAMES = (
    *(f"type_{value}" for value in range(_CARD_TYPES)),
    *(f"pokemon_type_{value}" for value in range(_POKEMON_TYPES)),
    *(f"evolution_{value}" for value in range(_EVOLUTIONS)),
    *_FLAGS,
    "hp",
    "retreat",
    "prizes",
    *(f"energy_{energy}" for energy in range(ENERGIES)),
    *(f"weakness_{energy}" for energy in range(ENERGIES)),
    *(f"resistance_{energy}" for energy in range(ENERGIES)),
    "skills",
    "attacks",
    "most_damage",
    "least_cost",
    *(f"cost_{energy}" for energy in range(ENERGIES)),
    *(f"effect_{name}" for name in EFFECTS),
)


def attack_features(attack: Any) -> list[float]:
    """ATTACK_NAMES of one attack: damage / 350, costs / 5, the rest 0 or 1."""
    costs = [attack.energies.count(energy) / 5 for energy in range(ENERGIES)]
    numbers = [attack.damage / 350, float(attack.damage == 0), len(attack.energies) / 5, *costs, float(bool(attack.text))]
    return numbers + effects(attack.text)


def card_features_of(card: Any, attacks: Mapping[int, Any]) -> list[float]:
    """CARD_NAMES of one card: hp / 400, retreat / 4, prizes / 3, counts / 3, damage / 350, costs / 5, the rest 0 or 1."""
    own = [attacks[attack] for attack in card.attacks]
    costs = [sum(attack.energies.count(energy) for attack in own) / 5 for energy in range(ENERGIES)]
    return [
        *_one_hot(card.card_type, _CARD_TYPES, "card_type", card),
        *_one_hot(card.pokemon_type, _POKEMON_TYPES, "pokemon_type", card),
        *_one_hot(card.evolution_type, _EVOLUTIONS, "evolution_type", card),
        *(float(getattr(card, flag)) for flag in _FLAGS),
        card.hp / 400,
        card.retreat_cost / 4,
        card.prizes / 3 if card.hp else 0.0,
        *_one_hot(card.energy_type, ENERGIES, "energy_type", card),
        *_one_hot(card.weakness, ENERGIES, "weakness", card),
        *_one_hot(card.resistance, ENERGIES, "resistance", card),
        len(card.skills) / 3,
        len(own) / 3,
        max((attack.damage for attack in own), default=0) / 350,
        min((len(attack.energies) for attack in own), default=0) / 5,
        *costs,
        *effects(" ".join(skill.text for skill in card.skills)),
    ]


def effects(text: str) -> list[float]:
    """1 for each of EFFECTS whose words occur in the text."""
    lowered = text.lower()
    return [float(bool(pattern.search(lowered))) for pattern in _PATTERNS.values()]


def _one_hot(value: int | None, width: int, what: str, card: Any) -> list[float]:
    if value is not None and not 0 <= value < width:
        raise ValueError(f"card {card.card_id} ({card.name}): {what} is {value}, expected 0 to {width - 1}")
    return [float(value == position) for position in range(width)]
