"""The rules of every decision that is not the main phase, as one table: context -> (worth of an option, how many to take).

Worths are seen from our side: an option on our own card and one on a card of theirs get opposite signs where the context
hurts what it touches.
"""

from collections.abc import Callable
from typing import Any

from tcg_core.engine.agents.judge import as_active, attack_worth, best_attack_now, fresh, future, need, prizes
from tcg_core.engine.agents.judge import attach_gain as gain_of_attach
from tcg_core.engine.agents.view import ACTIVE, BENCH, View
from tcg_core.engine.cards import BASIC_ENERGY

Option = dict[str, Any]
Worth = Callable[[View, Option], float]
NUMBER, YES, NO, ATTACK = 0, 1, 2, 13

MOST, FEWEST, WORTHY = "most", "fewest", "worthy"
"""How many to take: as many as allowed, as few, or those with a worth above 0 (never fewer than required)."""


def _is_ours(view: View, option: Option) -> bool:
    return bool(option.get("playerIndex", view.seat) == view.seat)


def _pokemon(view: View, option: Option) -> dict[str, Any] | None:
    place = view.option_place(option)
    return place if place is not None and "hp" in place else None


def starter(view: View, option: Option) -> float:
    """Our first Active Pokémon: lasting, and soon able to attack."""
    place = view.option_place(option)
    card = view.card(place["id"]) if place else None
    if card is None:
        return 0.0
    return card.hp / 2 + future(view, fresh(card), ()) - 40 * (card.prizes - 1) - 10 * card.retreat_cost


def gain(view: View, option: Option) -> float:
    """A card that we get, or one that they lose the other way round."""
    place = view.option_place(option)
    if place is None:
        return 20.0
    worth = need(view, place["id"])
    return worth if _is_ours(view, option) else -worth


def loss(view: View, option: Option) -> float:
    """A card that its owner loses: our least needed one, or their best."""
    place = view.option_place(option)
    if place is None:
        return -20.0 if _is_ours(view, option) else 20.0
    pokemon = _pokemon(view, option)
    worth = need(view, place["id"]) + (3 * len(pokemon["energies"]) + 50 if pokemon else 0)
    return -worth if _is_ours(view, option) else worth


def to_active(view: View, option: Option) -> float:
    """Who comes to the Active Spot: our best attacker, or their best victim."""
    pokemon = _pokemon(view, option)
    if pokemon is None:
        return 0.0
    if _is_ours(view, option):
        return as_active(view, pokemon)
    active = view.active
    worth = best_attack_now(view, active, pokemon) if active else 0.0
    return float(worth + 20 * prizes(view, pokemon) - pokemon["hp"] / 10 - 5 * len(pokemon["energies"]))


def hurt(view: View, option: Option) -> float:
    """Damage: theirs, nearly knocked out, first; ours, most HP left, last."""
    pokemon = _pokemon(view, option)
    if pokemon is None:
        return 0.0
    if _is_ours(view, option):
        return float(pokemon["hp"] - 1000)
    return float(1000 + 60 * prizes(view, pokemon) - pokemon["hp"] + (30 if option.get("area") == ACTIVE else 0))


def mend(view: View, option: Option) -> float:
    """Healing: our most damaged, the Active one first."""
    pokemon = _pokemon(view, option)
    if pokemon is None or not _is_ours(view, option):
        return -1.0
    return float(pokemon["maxHp"] - pokemon["hp"] + (25 if option.get("area") == ACTIVE else 0))


def attach_to(view: View, option: Option) -> float:
    """Who gets an Energy or a Tool: where an Energy does most, the Active one before others."""
    pokemon = _pokemon(view, option)
    if pokemon is None:
        return gain(view, option)
    if not _is_ours(view, option):
        return -1.0
    kinds = {card.energy_type for card in map(view.card, view.deck) if card and card.card_type == BASIC_ENERGY}
    best = max((gain_of_attach(view, pokemon, kind) for kind in kinds), default=0.0)
    return best * (1.4 if option.get("area") == ACTIVE else 1.0) + 1


def evolve(view: View, option: Option) -> float:
    """The strongest form, the Active Pokémon first."""
    place = view.option_place(option)
    card = view.card(place["id"]) if place else None
    return (card.hp if card else 0) + (30.0 if option.get("area") in (ACTIVE, BENCH) else 1.0)


def detach(view: View, option: Option) -> float:
    """Energy that its holder loses: from theirs where it is most, from ours where it is least needed."""
    pokemon = _pokemon(view, option)
    if pokemon is None:
        return loss(view, option)
    worth = future(view, pokemon, tuple(pokemon["energies"]))
    return -worth if _is_ours(view, option) else worth


def attack(view: View, option: Option) -> float:
    """The attack that is worth most."""
    chosen = view.attacks.get(option.get("attackId", -1))
    if chosen is None or view.active is None:
        return 0.0
    return attack_worth(view, chosen, view.active, view.target)


def printed(view: View, option: Option) -> float:
    """The attack with the largest printed damage: the one to forbid them."""
    chosen = view.attacks.get(option.get("attackId", -1))
    return float(chosen.damage) if chosen else 0.0


def number(view: View, option: Option) -> float:
    """The largest number."""
    return float(option.get("number", 0))


def draw(view: View, option: Option) -> float:
    """The largest number of cards that leaves a deck to draw from."""
    count = option.get("number", 0)
    return float(count) if view.mine["deckCount"] - count >= 4 else -float(count)


def agree(view: View, option: Option) -> float:
    """Yes."""
    return 1.0 if option["type"] == YES else 0.0


def keep_deck(view: View, option: Option) -> float:
    """Yes, unless the deck is nearly empty."""
    wanted = YES if view.mine["deckCount"] >= 8 else NO
    return 1.0 if option["type"] == wanted else 0.0


RULES: dict[int, tuple[Worth, str]] = {
    1: (starter, MOST),  # set-up: Active
    2: (gain, MOST),  # set-up: Bench
    3: (to_active, MOST),
    4: (to_active, MOST),
    5: (gain, MOST),  # to the Bench
    6: (gain, MOST),  # into play
    7: (gain, WORTHY),  # to the hand
    8: (loss, WORTHY),  # discard
    9: (loss, WORTHY),  # to the deck
    10: (loss, WORTHY),
    11: (loss, WORTHY),
    12: (gain, MOST),  # stays
    13: (hurt, WORTHY),
    14: (hurt, WORTHY),
    15: (hurt, WORTHY),
    16: (mend, WORTHY),
    17: (mend, WORTHY),
    18: (evolve, MOST),
    19: (evolve, MOST),
    20: (detach, WORTHY),  # devolve
    21: (gain, MOST),  # what is attached
    22: (attach_to, WORTHY),
    23: (detach, WORTHY),
    24: (gain, MOST),  # look at
    25: (hurt, MOST),  # target of an effect
    26: (detach, WORTHY),
    27: (detach, WORTHY),
    28: (detach, WORTHY),
    29: (detach, WORTHY),
    30: (detach, FEWEST),  # an Energy price
    31: (detach, FEWEST),
    32: (detach, FEWEST),
    33: (detach, FEWEST),
    35: (attack, MOST),
    36: (printed, MOST),
    37: (evolve, MOST),
    38: (draw, MOST),
    39: (number, MOST),
    40: (number, MOST),
    41: (agree, MOST),  # going first
    42: (keep_deck, MOST),  # a card for their mulligan
    43: (agree, MOST),  # use an ability
    44: (agree, MOST),
    45: (agree, MOST),
    46: (agree, MOST),
    47: (hurt, WORTHY),
    48: (mend, WORTHY),
}
