"""Worths that several rules share: an attack, a Pokémon, a hand card, a switch. All are plain numbers, larger is better."""

from tcg_core.engine.agents.damage import expected, milled, missing, own_energy_lost, recoil
from tcg_core.engine.agents.roles import roles
from tcg_core.engine.agents.view import Pokemon, View
from tcg_core.engine.cards import BASIC_ENERGY, ITEM, POKEMON, SPECIAL_ENERGY, SUPPORTER, Attack, CardData

KNOCK_OUT, WIN = 1000.0, 100000.0
_STATUS = ("Paralyzed", "Asleep", "Confused", "Poisoned", "Burned")


def prizes(view: View, pokemon: Pokemon) -> int:
    """Prize cards that the knock-out of a Pokémon gives."""
    card = view.card(pokemon["id"])
    return card.prizes if card else 1


def attack_worth(view: View, attack: Attack, user: Pokemon, target: Pokemon | None) -> float:
    """Worth of using the attack now: damage, a knock-out with its prizes, less what it costs the user."""
    hits = expected(view, attack, user, target)
    worth = hits
    if target is not None:
        worth = min(hits, target["hp"])
        if hits >= target["hp"]:
            taken = prizes(view, target)
            worth = KNOCK_OUT + 200 * taken
            if taken >= len(view.mine["prize"]) or not view.theirs["bench"]:
                return WIN
    worth += sum(15 for status in _STATUS if f"is now {status}" in attack.text)
    worth += 12 if attack.damage == 0 and attack.text else 0
    worth -= 12 * own_energy_lost(attack, user)
    worth -= 0.4 * recoil(attack) + (400 if recoil(attack) >= user["hp"] else 0)
    worth -= 30 if "can’t use attacks" in attack.text or "can’t attack" in attack.text else 0
    if milled(attack) and view.mine["deckCount"] - milled(attack) < 3:
        worth -= 3000
    return worth


def best_attack_now(view: View, pokemon: Pokemon, target: Pokemon | None, extra: int = 0) -> float:
    """Worth of the best attack a Pokémon can pay with its Energy and ``extra`` more of the right kind; 0 if none."""
    energies = tuple(pokemon["energies"])
    usable = [a for a in view.own_attacks(pokemon) if missing(energies, a.energies) <= extra]
    return max((attack_worth(view, attack, pokemon, target) for attack in usable), default=0.0)


def future(view: View, pokemon: Pokemon, energies: tuple[int, ...]) -> float:
    """Worth of a Pokémon as an attacker to be, its evolutions in our deck included: damage over the Energy still missing."""
    best = 0.0
    for card_id in (pokemon["id"], *_evolutions(view, pokemon["id"])):
        card = view.cards[card_id]
        for index in card.attacks:
            attack = view.attacks[index]
            damage = expected(view, attack, {**pokemon, "id": card_id}, None) + 5
            best = max(best, damage / (1 + missing(energies, attack.energies)) ** 1.5)
    return best


def attach_gain(view: View, pokemon: Pokemon, energy_type: int) -> float:
    """What one more Energy of this kind does for a Pokémon."""
    before = tuple(pokemon["energies"])
    return future(view, pokemon, (*before, energy_type)) - future(view, pokemon, before)


def threat(view: View, pokemon: Pokemon) -> float:
    """Damage that their Active Pokémon may do to ours in their next turn, one more Energy supposed."""
    foe = view.target
    if foe is None:
        return 0.0
    energies = tuple(foe["energies"])
    usable = [a for a in view.own_attacks(foe) if missing(energies, a.energies) <= 1]
    return max((expected(view, attack, foe, pokemon) for attack in usable), default=0.0)


def as_active(view: View, pokemon: Pokemon, extra: int = 1) -> float:
    """Worth of a Pokémon in the Active Spot: what it can do now or with one more Energy, and how long it lasts."""
    now = best_attack_now(view, pokemon, view.target)
    soon = best_attack_now(view, pokemon, view.target, extra)
    lasting = 60.0 if threat(view, pokemon) < pokemon["hp"] else 0.0
    body = 0.2 * pokemon["hp"] + 8 * len(pokemon["energies"]) - 15 * prizes(view, pokemon)
    return float(now + 0.5 * soon + lasting + body)


def switch_gain(view: View) -> float:
    """How much better our best Benched Pokémon would attack than the Active one; 0 or less: stay."""
    active = view.active
    if active is None or not view.mine["bench"]:
        return 0.0
    stuck = any(view.mine[state] for state in ("asleep", "paralyzed"))
    here = 0.0 if stuck else best_attack_now(view, active, view.target)
    there = max(best_attack_now(view, pokemon, view.target) for pokemon in view.mine["bench"])
    return there - here - 20


def gust_gain(view: View) -> float:
    """How much better a Benched Pokémon of theirs would be as the target of our attack; 0 or less: leave it."""
    active = view.active
    if active is None or not view.theirs["bench"]:
        return 0.0
    there = max(best_attack_now(view, active, pokemon) for pokemon in view.theirs["bench"])
    return there - best_attack_now(view, active, view.target) - 100 if there >= KNOCK_OUT else 0.0


def alone(view: View) -> bool:
    """Whether the next knock-out of our only Pokémon ends the game and no Basic Pokémon is at hand."""
    return len(view.in_play) <= 1 and not any(_is_basic(view, card_id) for card_id in view.hand)


def need(view: View, card_id: int) -> float:
    """How much we want a card in our hand now (0 to about 130); the least wanted is discarded first."""
    card = view.card(card_id)
    if card is None:
        return 10.0
    copies = view.hand.count(card_id)
    if card.card_type == POKEMON and card.basic:
        ready = len(view.in_play) + sum(1 for other in set(view.hand) if _is_basic(view, other))
        line = future(view, fresh(card), ())
        return (85.0 if ready < 3 else 35.0) + card.hp / 20 + min(20.0, line / 4) - 8 * copies
    if card.card_type == POKEMON:
        stages = [pokemon for pokemon in view.in_play if _name(view, pokemon["id"]) == card.evolves_from]
        if len(stages) > copies:
            return 100.0 + card.hp / 20
        in_hand = any(_name(view, other) == card.evolves_from for other in view.hand)
        return (65.0 if in_hand else 40.0) - 10 * copies
    if card.card_type in (BASIC_ENERGY, SPECIAL_ENERGY):
        held = sum(1 for other in view.hand if _is_energy(view, other))
        wanted = max((attach_gain(view, pokemon, card.energy_type) for pokemon in view.in_play), default=0.0)
        return (80.0 if held == 0 else 45.0 - 6 * held) + min(20.0, wanted / 5)
    if len(view.in_play) < 3 and "finds_basic" in roles(view.generation, card_id).names:
        at_once = card.card_type == ITEM or not view.state["supporterPlayed"]
        return (85.0 if alone(view) else 70.0) - (0 if at_once else 20) - 10 * copies
    if card.card_type == SUPPORTER:
        others = sum(1 for other in view.hand if other != card_id and _type(view, other) == SUPPORTER)
        return (60.0 if others == 0 else 30.0) - 12 * copies
    return (45.0 if card.card_type == ITEM else 20.0) - 10 * copies


def fresh(card: CardData) -> Pokemon:
    """A card as it would come into play."""
    return {"id": card.card_id, "hp": card.hp, "maxHp": card.hp, "energies": []}


def _evolutions(view: View, card_id: int) -> list[int]:
    name = _name(view, card_id)
    direct = sorted({c for c in view.deck if c in view.cards and view.cards[c].evolves_from == name}) if name else []
    return direct + [later for card in direct for later in _evolutions(view, card)]


def _name(view: View, card_id: int) -> str | None:
    card = view.card(card_id)
    return card.name if card else None


def _type(view: View, card_id: int) -> int | None:
    card = view.card(card_id)
    return card.card_type if card else None


def _is_basic(view: View, card_id: int) -> bool:
    card = view.card(card_id)
    return card is not None and card.card_type == POKEMON and card.basic


def _is_energy(view: View, card_id: int) -> bool:
    return _type(view, card_id) in (BASIC_ENERGY, SPECIAL_ENERGY)
