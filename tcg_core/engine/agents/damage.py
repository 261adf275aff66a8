"""How much an attack would do and what is still missing to use it."""

import functools
import re
from collections import Counter

from tcg_core.engine.agents.view import Pokemon, View
from tcg_core.engine.cards import BASIC_ENERGY, Attack

COLORLESS, RAINBOW = 0, 10
RESISTANCE = 30
_EACH = re.compile(r"(\d+) (more )?damage for each ([^.]*)")
_MILL = re.compile(r"[Dd]iscard the top (\d+) cards? of your deck")
_DISCARD_OWN = re.compile(r"[Dd]iscard (all|an?|\d+) (?:\{.\} )?Energy from this Pokémon")
_RECOIL = re.compile(r"does (\d+) damage to itself")
_FLIPS = re.compile(r"[Ff]lip (a|\d+) coins?")
_BONUS = re.compile(r"this attack does (\d+) more damage")


@functools.cache
def missing(energies: tuple[int, ...], cost: tuple[int, ...]) -> int:
    """Energy still needed to pay ``cost`` with attached ``energies`` (EnergyType numbers)."""
    pool = Counter(energies)
    short = colorless = 0
    for kind in cost:
        if kind == COLORLESS:
            colorless += 1
        elif pool[kind] > 0:
            pool[kind] -= 1
        elif pool[RAINBOW] > 0:
            pool[RAINBOW] -= 1
        else:
            short += 1
    return short + max(0, colorless - pool.total())


def milled(attack: Attack) -> int:
    """Cards of our own deck that the attack discards."""
    match = _MILL.search(attack.text)
    return int(match.group(1)) if match else 0


def own_energy_lost(attack: Attack, pokemon: Pokemon) -> int:
    """Energy that the attack takes off its user."""
    match = _DISCARD_OWN.search(attack.text)
    if not match:
        return 0
    word = match.group(1)
    return len(pokemon["energies"]) if word == "all" else int(word) if word.isdigit() else 1


def recoil(attack: Attack) -> int:
    """Damage that the attack does to its user."""
    match = _RECOIL.search(attack.text)
    return int(match.group(1)) if match else 0


def expected(view: View, attack: Attack, user: Pokemon, target: Pokemon | None) -> float:
    """Expected damage of ``user``'s attack on ``target`` with Weakness and Resistance; without a target neither counts."""
    damage = float(attack.damage)
    text = attack.text
    each = _EACH.search(text)
    if each:
        amount = int(each.group(1)) * _count(view, attack, each.group(3), user, target)
        damage = damage + amount if each.group(2) else amount
    elif "Flip a coin. If tails, this attack does nothing" in text:
        damage /= 2
    elif bonus := _BONUS.search(text):
        damage += int(bonus.group(1)) / 2
    if target is None or damage <= 0:
        return damage
    kind = view.cards[user["id"]].energy_type if user["id"] in view.cards else COLORLESS
    card = view.card(target["id"])
    if card and card.weakness == kind:
        damage *= 2
    elif card and card.resistance == kind:
        damage -= RESISTANCE
    return max(0.0, damage)


def _count(view: View, attack: Attack, what: str, user: Pokemon, target: Pokemon | None) -> float:
    """How many of ``what`` (the words after "for each") there are or are to be expected, seen by the user of the attack."""
    if "heads" in what:
        flips = _FLIPS.search(attack.text)
        return 0.5 * (int(flips.group(1)) if flips and flips.group(1).isdigit() else 1) if flips else 1.0
    own, foe = (view.mine, view.theirs) if user.get("playerIndex", view.seat) == view.seat else (view.theirs, view.mine)
    if milled(attack) and "discarded in this way" in what:
        return float(min(milled(attack), own["deckCount"])) * _energy_share(view)
    of_foe = "opponent" in what
    side = foe if of_foe else own
    subject = target if of_foe else user
    counts: dict[str, float] = {
        "damage counter": (subject["maxHp"] - subject["hp"]) / 10 if subject else 0,
        "Energy attached": len(subject["energies"]) if subject else 0,
        "Energy card in": sum(1 for card in side["discard"] if _is_basic_energy(view, card["id"])),
        "Benched": len(side["bench"]),
        "in play": len(side["bench"]) + 1,
        "Prize card": 6 - len(foe["prize"]) if of_foe else 6 - len(own["prize"]),
        "hand": foe["handCount"],
    }
    return next((count for words, count in counts.items() if words in what), 1.0)


def _is_basic_energy(view: View, card_id: int) -> bool:
    card = view.card(card_id)
    return card is not None and card.card_type == BASIC_ENERGY


def _energy_share(view: View) -> float:
    """Share of Basic Energy in our deck list; theirs is not known and is supposed to be like it."""
    return sum(_is_basic_energy(view, card_id) for card_id in view.deck) / max(1, len(view.deck))
