"""What a decision asks and its options in words."""

from collections.abc import Mapping
from typing import Any

from tcg_core.encode.encoder import EncodedDecision
from tcg_core.encode.enums import Area, OptionType
from tcg_core.encode.schema import CARD_ZONES, NO_CARD
from tcg_core.explain.words import CONDITIONS, Names

STOP = "STOP (no further pick)"
#: The engine's select contexts that say more than the options do, by number.
CONTEXTS = (
    "main", "set up the active Pokémon", "set up the bench", "switch", "to the active spot", "to the bench", "into play",
    "to the hand", "discard", "to the deck", "to the bottom of the deck", "to the prizes", "not to be moved", "damage counter",
    "damage counters, anywhere", "damage", "remove a damage counter", "heal", "evolves from", "evolves to", "devolve",
    "attach from", "attach to", "detach from", "look at", "target of the effect", "discard an energy card", "discard a tool",
    "switch an energy card", "discard a card or an attached one", "discard energy", "energy to the hand", "energy to the deck",
    "switch energy", "order of skills", "attack", "disable an attack", "evolve", "number of cards to draw",
    "number of damage counters", "number of damage counters to remove", "go first", "mulligan", "activate", "first effect",
    "devolve further", "coin", "special condition to cause", "special condition to recover",
)  # fmt: skip
_AREAS = {Area.DECK: "deck", Area.HAND: "hand", Area.DISCARD: "discard", Area.PRIZE: "prize", Area.LOOKING: "looking"}
_VERBS = {
    OptionType.YES: "yes",
    OptionType.NO: "no",
    OptionType.CARD: "choose",
    OptionType.TOOL_CARD: "choose tool",
    OptionType.ENERGY_CARD: "choose energy card",
    OptionType.ENERGY: "choose energy",
    OptionType.PLAY: "play",
    OptionType.ATTACH: "attach",
    OptionType.EVOLVE: "evolve into",
    OptionType.ABILITY: "use the ability of",
    OptionType.DISCARD: "discard",
    OptionType.RETREAT: "retreat",
    OptionType.ATTACK: "attack:",
    OptionType.END: "end the turn",
    OptionType.SKILL: "resolve",
}


def context_in_words(context: int) -> str:
    """What a select asks for; the number where the engine has a newer one."""
    return CONTEXTS[context] if 0 <= context < len(CONTEXTS) else f"context {context}"


def question_in_words(decision: EncodedDecision, names: Names) -> str:
    """What is asked: context, how many picks, and which effect asks."""
    select = decision.select
    picks = f"{select.min_count}" if select.min_count == select.max_count else f"{select.min_count} to {select.max_count}"
    effect = "" if select.effect is None else f", by {names.card(select.effect.id)}"
    about = "" if select.context_card is None else f", about {names.card(select.context_card.id)}"
    left = f", {select.remain_damage_counter} damage counters left" if select.remain_damage_counter else ""
    left += f", {select.remain_energy_cost} energy left to pay" if select.remain_energy_cost else ""
    return f"{context_in_words(select.context)}: {picks} of {len(select.option)} options{effect}{about}{left}"


def options_in_words(decision: EncodedDecision, names: Names) -> tuple[str, ...]:
    """Each option, in the engine's order, by what the row says of it."""
    row = decision.row()
    return tuple(_option(decision, row, position, names) for position in range(len(decision.select.option)))


def _option(decision: EncodedDecision, row: Mapping[str, Any], position: int, names: Names) -> str:
    option, kind = decision.select.option[position], row["option_type"][position]
    card, source, target = (row[name][position] for name in ("option_card", "option_source", "option_target"))
    if kind == OptionType.NUMBER:
        return f"number {option.number}"
    if kind == OptionType.SPECIAL_CONDITION:
        known = option.special_condition_type
        return CONDITIONS[known] if known is not None and 0 <= known < len(CONDITIONS) else f"special condition {known}"
    words = [_VERBS.get(kind, f"option type {kind}")]
    if kind == OptionType.ATTACK:
        words.append(names.attack(row["option_attack"][position]))
    elif card != NO_CARD and kind not in (OptionType.YES, OptionType.NO, OptionType.END):
        words.append(names.card(card))
    cards = len(row["card_zone"])
    if kind in (OptionType.ATTACH, OptionType.EVOLVE) and target >= cards:
        words.append(f"{'to' if kind == OptionType.ATTACH else 'from'} {_place(decision, target, names)}")
    elif kind in (OptionType.TOOL_CARD, OptionType.ENERGY_CARD, OptionType.ENERGY) and source >= cards:
        words.append(f"on {_place(decision, source, names)}")
    elif kind in (OptionType.CARD, OptionType.ABILITY, OptionType.DISCARD):
        # A face-down prize has no token of its own once the seat has deduced what its prizes are.
        words.append(f"({_where(decision, source)})" if source >= 0 else f"({_AREAS.get(option.area or 0, 'hidden')})")
    if option.count is not None:
        words.append(f"× {option.count}")
    return " ".join(words)


def _place(decision: EncodedDecision, token: int, names: Names) -> str:
    tokens = decision.tokens
    return f"{names.card(tokens.unit_id[token - len(tokens.card_zone)])} ({_where(decision, token)})"


def _where(decision: EncodedDecision, token: int) -> str:
    """Zone of a token: cards first, then units."""
    tokens = decision.tokens
    if token < len(tokens.card_zone):
        return CARD_ZONES[tokens.card_zone[token]].replace("self_", "own ").replace("_", " ")
    for (player, area, index), unit in tokens.unit_at.items():
        if unit == token - len(tokens.card_zone):
            whose = "own" if player == tokens.side else "opponent"
            return f"{whose} {'active' if area == Area.ACTIVE else f'bench {index + 1}'}"
    return "elsewhere"
