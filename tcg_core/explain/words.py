"""The table of a decision in words: cards by name where the engine is installed, by id where it is not."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from tcg_core.encode.encoder import EncodedDecision
from tcg_core.encode.schema import CARD_ZONES, UNKNOWN_CARD
from tcg_core.engine.cards import attacks_by_id, cards_by_id
from tcg_core.engine.errors import EngineMissing

#: The engine's energy types, by number.
ENERGIES = (
    "colorless", "grass", "fire", "water", "lightning", "psychic", "fighting", "darkness", "metal", "dragon", "rainbow",
    "team rocket",
)  # fmt: skip
CONDITIONS = ("poisoned", "burned", "asleep", "paralyzed", "confused")


@dataclass(frozen=True)
class Names:
    """Names of cards and attacks of one engine generation; None where the engine is not installed."""

    cards: Mapping[int, Any] | None
    attacks: Mapping[int, Any] | None

    @classmethod
    def of(cls, generation: str) -> "Names":
        """The engine's own names, if it is here."""
        try:
            return cls(cards_by_id(generation), attacks_by_id(generation))
        except EngineMissing:
            return cls(None, None)

    def card(self, identity: int) -> str:
        """A card: its name, ``card 123`` without one."""
        if identity == UNKNOWN_CARD:
            return "face-down card"
        found = None if self.cards is None else self.cards.get(identity)
        return f"card {identity}" if found is None else str(found.name)

    def attack(self, identity: int) -> str:
        """An attack with its printed damage."""
        found = None if self.attacks is None else self.attacks.get(identity)
        if found is None:
            return f"attack {identity}"
        return f"{found.name} ({found.damage})" if found.damage else str(found.name)

    def several(self, identities: Iterable[int]) -> str:
        """Cards with their counts, by name."""
        counts = Counter(self.card(identity) for identity in identities)
        return ", ".join(f"{count} {name}" if count > 1 else name for name, count in sorted(counts.items())) or "nothing"


def unit_in_words(unit: Any, names: Names) -> str:
    """A unit in play; ``unit`` is None for one that lies face down."""
    if unit is None:
        return "face down"
    parts = [f"{names.card(unit.id)} {unit.hp}/{unit.max_hp} HP"]
    if unit.energies:
        counts = Counter(unit.energies)
        parts.append("energy " + ", ".join(f"{counts[kind]} {_energy(kind)}" for kind in sorted(counts)))
    if unit.tools:
        parts.append("tool " + names.several(card.id for card in unit.tools))
    if unit.pre_evolution:
        parts.append("over " + names.several(card.id for card in unit.pre_evolution))
    if unit.appear_this_turn:
        parts.append("new this turn")
    return "; ".join(parts)


def _energy(kind: int) -> str:
    return ENERGIES[kind] if 0 <= kind < len(ENERGIES) else f"type {kind}"


def table_in_words(decision: EncodedDecision, names: Names) -> tuple[str, ...]:
    """The observation, line by line, as the deciding seat sees it."""
    state, side = decision.tokens.state, decision.tokens.side
    own, other = state.players[side], state.players[1 - side]
    first = "you" if state.first_player == side else "the opponent" if state.first_player == 1 - side else "not chosen yet"
    flags = [
        word
        for word, done in (
            ("supporter played", state.supporter_played),
            ("stadium played", state.stadium_played),
            ("energy attached", state.energy_attached),
            ("retreated", state.retreated),
        )
        if done
    ]
    lines = [
        f"turn {state.turn}{' (set-up)' if state.turn == 0 else ''}, action {state.turn_action_count}; first: {first}"
        + (f"; {', '.join(flags)}" if flags else "")
    ]
    for title, player in (("you", own), ("opponent", other)):
        lines.append(
            f"{title}: {len(player.prize)} prizes, {player.hand_count} in hand, {player.deck_count} in deck, "
            f"{len(player.discard)} discarded"
        )
        conditions = [name for name in CONDITIONS if getattr(player, name)]
        for unit in player.active:
            lines.append(f"  active: {unit_in_words(unit, names)}" + (f"; {', '.join(conditions)}" if conditions else ""))
        for unit in player.bench:
            lines.append(f"  bench: {unit_in_words(unit, names)}")
        if player.hand is not None:
            lines.append(f"  hand: {names.several(card.id for card in player.hand)}")
        if player.discard:
            lines.append(f"  discard: {names.several(card.id for card in player.discard)}")
    believed = _zone(decision, "opponent_hand")
    if believed and set(believed) != {UNKNOWN_CARD}:
        lines.append(f"  hand, as far as known: {names.several(believed)}")
    if state.stadium:
        lines.append(f"stadium: {names.several(card.id for card in state.stadium)}")
    if state.looking:
        lines.append(f"looking at: {names.several(UNKNOWN_CARD if card is None else card.id for card in state.looking)}")
    return tuple(lines)


def _zone(decision: EncodedDecision, name: str) -> list[int]:
    """Card ids of a zone's tokens, each as often as it is there."""
    tokens, zone = decision.tokens, CARD_ZONES.index(name)
    rows = zip(tokens.card_zone, tokens.card_id, tokens.card_count, strict=True)
    return [identity for where, identity, count in rows if where == zone for _ in range(count)]
