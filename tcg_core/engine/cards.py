"""The engine's own card and attack tables. Read at run time, never stored in the repository (the texts are not ours)."""

import functools
import json
from dataclasses import dataclass
from typing import Any

from tcg_core.engine.library import check_generation, load_library

POKEMON, ITEM, TOOL, SUPPORTER, STADIUM, BASIC_ENERGY, SPECIAL_ENERGY = range(7)


@dataclass(frozen=True)
class Skill:
    """An ability, or the effect of a Trainer or Special Energy card."""

    name: str
    text: str


@dataclass(frozen=True)
class CardData:
    """One card. ``card_type``: 0 Pokémon, 1 Item, 2 Tool, 3 Supporter, 4 Stadium, 5 Basic Energy, 6 Special Energy.

    ``pokemon_type``: 0 none, 1 normal, 2 fossil Item, 3 ex, 4 Mega ex; ``ex`` is false for a Mega ex. ``energy_type``,
    ``weakness`` and ``resistance`` are EnergyType numbers, None where the card has none. ``attacks`` are attack ids of
    the same generation. ``basic`` is true for fossil Items too, which do not count as a Basic Pokémon of a deck.
    """

    card_id: int
    name: str
    card_type: int
    pokemon_type: int
    evolution_type: int
    retreat_cost: int
    hp: int
    weakness: int | None
    resistance: int | None
    energy_type: int
    basic: bool
    stage1: bool
    stage2: bool
    ex: bool
    mega_ex: bool
    tera: bool
    ace_spec: bool
    evolves_from: str | None
    skills: tuple[Skill, ...]
    attacks: tuple[int, ...]

    @property
    def prizes(self) -> int:
        """Prize cards taken for its knock-out: 3 for a Mega ex, 2 for an ex, 1 otherwise."""
        return 3 if self.mega_ex else 2 if self.ex else 1


@dataclass(frozen=True)
class Attack:
    """One attack. ``damage`` is the printed number, 0 where the text alone decides; ``energies`` are EnergyType numbers."""

    attack_id: int
    name: str
    text: str
    damage: int
    energies: tuple[int, ...]


@functools.cache
def load_cards(generation: str) -> tuple[CardData, ...]:
    """All cards of ``generation`` in id order (v1: 1,267; v2: 1,431)."""
    raw = json.loads(load_library(check_generation(generation)).AllCard())
    return tuple(sorted((_card(value) for value in raw), key=lambda card: card.card_id))


@functools.cache
def load_attacks(generation: str) -> tuple[Attack, ...]:
    """All attacks of ``generation`` in id order (v1: 1,556; v2: 1,755). Ids are not stable across generations."""
    raw = json.loads(load_library(check_generation(generation)).AllAttack())
    attacks = (Attack(v["attackId"], v["name"], v["text"], v["damage"], tuple(v["energies"])) for v in raw)
    return tuple(sorted(attacks, key=lambda attack: attack.attack_id))


@functools.cache
def cards_by_id(generation: str) -> dict[int, CardData]:
    """The cards of ``generation`` by id. Shared: do not change it."""
    return {card.card_id: card for card in load_cards(generation)}


@functools.cache
def attacks_by_id(generation: str) -> dict[int, Attack]:
    """The attacks of ``generation`` by id. Shared: do not change it."""
    return {attack.attack_id: attack for attack in load_attacks(generation)}


def _card(value: dict[str, Any]) -> CardData:
    return CardData(
        card_id=value["cardId"],
        name=value["name"],
        card_type=value["cardType"],
        pokemon_type=value["pokemonType"],
        evolution_type=value["evolutionType"],
        retreat_cost=value["retreatCost"],
        hp=value["hp"],
        weakness=value["weakness"],
        resistance=value["resistance"],
        energy_type=value["energyType"],
        basic=value["basic"],
        stage1=value["stage1"],
        stage2=value["stage2"],
        ex=value["ex"],
        mega_ex=value["megaEx"],
        tera=value["tera"],
        ace_spec=value["aceSpec"],
        evolves_from=value["evolvesFrom"],
        skills=tuple(Skill(skill["name"], skill["text"]) for skill in value["skills"]),
        attacks=tuple(value["attacks"]),
    )
