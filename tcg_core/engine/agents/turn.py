"""The rules of the main phase: first whatever improves the board, best first, then the attack, then the end of the turn."""

from collections.abc import Callable
from typing import Any

from tcg_core.engine.agents.judge import alone, attach_gain, attack_worth, need, switch_gain, threat
from tcg_core.engine.agents.judge import gust_gain as gain_of_gust
from tcg_core.engine.agents.roles import roles
from tcg_core.engine.agents.view import ACTIVE, View
from tcg_core.engine.cards import BASIC_ENERGY, POKEMON, SPECIAL_ENERGY, STADIUM, SUPPORTER

Option = dict[str, Any]
PLAY, ATTACH, EVOLVE, ABILITY, DISCARD, RETREAT, ATTACK, END = 7, 8, 9, 10, 11, 12, 13, 14
NEVER = -1.0
# An ability without a once-a-turn limit could be used for ever; a whole game can go on for ever by cards that refill a deck.
ACTIONS_PER_TURN, LAST_LIVELY_TURN = 60, 120
THIN_DECK = 8
# An evolution whose Pokémon is in play, or the only company of a lone one: a hand that is not shuffled away.
TREASURED = 95.0


def score(view: View, option: Option) -> float:
    """Worth of an option of the main phase; END is 0, what must not be chosen is negative.

    Bands: attacks lie in (0, 100), everything else that is worth doing above 100, so that it comes before the attack.
    """
    kind = option["type"]
    if kind == END:
        return 0.0
    if kind == ATTACK:
        return _attack(view, option)
    weary = view.state["turnActionCount"] > ACTIONS_PER_TURN or view.state["turn"] > LAST_LIVELY_TURN
    if weary and kind in (PLAY, ABILITY, RETREAT, DISCARD):
        return NEVER
    rule = RULES.get(kind)
    return rule(view, option) if rule else NEVER


def _attack(view: View, option: Option) -> float:
    attack = view.attacks.get(option["attackId"])
    if attack is None or view.active is None:
        return 1.0
    worth = attack_worth(view, attack, view.active, view.target)
    if worth <= 0:
        return NEVER
    return 1 + 98 * worth / (worth + 2000)


def _evolve(view: View, option: Option) -> float:
    card = view.option_place(option)
    hp = view.cards[card["id"]].hp if card and card["id"] in view.cards else 0
    return 900 + hp / 10 + (50 if option["inPlayArea"] == ACTIVE else 0)


def _attach(view: View, option: Option) -> float:
    card = view.option_place(option)
    target = view.at(option["inPlayArea"], option["inPlayIndex"], view.seat)
    if card is None or target is None:
        return 110.0
    data = view.card(card["id"])
    active = option["inPlayArea"] == ACTIVE
    if data is None or data.card_type not in (BASIC_ENERGY, SPECIAL_ENERGY):
        return 640.0 + (20 if active else 0) + 3 * len(target["energies"])
    gain = attach_gain(view, target, data.energy_type)
    if active:
        doomed = threat(view, target) >= target["hp"]
        gain *= 0.6 if doomed and switch_gain(view) <= 0 and view.mine["bench"] else 1.4
    return 500 + min(150.0, gain)


def _play(view: View, option: Option) -> float:
    card = view.mine["hand"][option["index"]]
    data = view.card(card["id"])
    if data is None:
        return 110.0
    if data.card_type == POKEMON:
        return 850 + data.hp / 10
    if data.card_type == STADIUM:
        ours = any(stadium["playerIndex"] == view.seat for stadium in view.state["stadium"])
        return NEVER if ours else 300.0
    worth = _effect(view, card["id"])
    return worth - 60 if worth > 0 and data.card_type == SUPPORTER else worth


def _ability(view: View, option: Option) -> float:
    place = view.option_place(option)
    if place is None:
        return 150.0
    found = roles(view.generation, place["id"]).names
    if "endless" in found or "suicide" in found:
        return NEVER
    return _effect(view, place["id"])


def _effect(view: View, card_id: int) -> float:
    """Worth of using a Trainer card or an ability, by the roles of its text; the first rule that knows it decides."""
    found = roles(view.generation, card_id)
    names, price = found.names, found.price
    others = len(view.hand) - 1
    thin = view.mine["deckCount"] <= THIN_DECK
    if price and _spare(view) < price:
        return NEVER
    if "gust" in names:
        gain = gain_of_gust(view)
        return 480.0 if gain > 0 else NEVER
    if "switch" in names:
        return 460.0 if switch_gain(view) > 0 else NEVER
    if "both_suffer" in names or "ends_turn" in names:
        return NEVER
    if "reshuffle" in names:
        treasured = any(need(view, other) >= TREASURED for other in view.hand if other != card_id)
        wanted = ((others <= 4 and not treasured) or alone(view)) and (not thin or others >= 2)
        return 350.0 - 10 * others if wanted else NEVER
    if "heal" in names and not names & {"search", "draw", "energy"}:
        hurt = max((pokemon["maxHp"] - pokemon["hp"] for pokemon in view.in_play), default=0)
        return 400.0 if hurt >= 50 else NEVER
    if "search" in names:
        return NEVER if view.mine["deckCount"] < 2 else 800.0 - 100 * price
    if "draw" in names:
        return NEVER if thin else 780.0 - 100 * price
    if "energy" in names:
        return 760.0
    return 420.0


def _spare(view: View) -> int:
    """Hand cards that could be discarded without regret (the card that asks for them is one of the hand)."""
    limit = 95 if alone(view) else 60
    return sum(1 for card_id in view.hand if need(view, card_id) < limit) - 1


def _retreat(view: View, option: Option) -> float:
    return 150.0 if switch_gain(view) > 0 else NEVER


RULES: dict[int, Callable[[View, Option], float]] = {
    PLAY: _play,
    ATTACH: _attach,
    EVOLVE: _evolve,
    ABILITY: _ability,
    RETREAT: _retreat,
}
