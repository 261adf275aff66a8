"""The table as tokens: cards as multisets by zone, units, attached cards, the globals vector."""

from collections.abc import Iterable, Sequence

from tcg_core.encode.enums import ENERGY_TYPES, Area
from tcg_core.encode.errors import EncodeError
from tcg_core.encode.observation import Card, Observation, Player, Pokemon, Select, State
from tcg_core.encode.schema import ATTACHED_KINDS, CARD_FLAGS, CARD_ZONES, NO_POINTER, UNIT_ATTRIBUTES, UNIT_ZONES, UNKNOWN_CARD
from tcg_core.encode.targets import prizes_left
from tcg_core.encode.tracker import Tracker

ZONE = {name: position for position, name in enumerate(CARD_ZONES)}
FLAG = {name: position for position, name in enumerate(CARD_FLAGS)}
UNIT_ZONE = {name: position for position, name in enumerate(UNIT_ZONES)}
PRE_EVOLUTION, TOOL, ENERGY = (ATTACHED_KINDS.index(name) for name in ("pre_evolution", "tool", "energy"))
_NO_STATE = (0,) * len(UNIT_ATTRIBUTES)


class Tokens:
    """Card, unit and attached tokens of one decision, with the positions that options point to."""

    __slots__ = (
        "attached_id",
        "attached_kind",
        "attached_unit",
        "card_count",
        "card_flag",
        "card_id",
        "card_zone",
        "side",
        "state",
        "unit_at",
        "unit_attributes",
        "unit_id",
        "unit_zone",
        "zone_at",
    )  # fmt: skip

    def __init__(self, tracker: Tracker, obs: Observation) -> None:
        state, select = obs.current, obs.select
        if state is None or select is None or tracker.side is None or state.your_index != tracker.side:
            raise EncodeError("an observation must be shown to its lane's tracker before it is encoded")
        self.state, self.side = state, tracker.side
        self.card_zone: list[int] = []
        self.card_id: list[int] = []
        self.card_count: list[int] = []
        self.card_flag: list[int] = []
        self.unit_zone: list[int] = []
        self.unit_id: list[int] = []
        self.unit_attributes: list[Sequence[int]] = []
        self.attached_unit: list[int] = []
        self.attached_kind: list[int] = []
        self.attached_id: list[int] = []
        #: (zone, card id) -> position of its first card token
        self.zone_at: dict[tuple[int, int], int] = {}
        #: (player, area, index) -> position among the units
        self.unit_at: dict[tuple[int, int, int], int] = {}
        self._cards(tracker, state, select)
        self._units(tracker, state)

    def _cards(self, tracker: Tracker, state: State, select: Select) -> None:
        own, other = state.players[self.side], state.players[1 - self.side]
        none = FLAG["none"]
        self._counted(ZONE["self_deck"], _without(tracker.unseen, tracker.prizes), none)
        if own.hand is None:
            raise EncodeError("the deciding seat's own hand is not shown")
        self._multiset(ZONE["self_hand"], own.hand, none)
        self._multiset(ZONE["self_discard"], own.discard, none)
        self._prizes(ZONE["self_prize"], own, tracker.prizes, _asks_for(select, Area.PRIZE, self.side))
        self._prizes(ZONE["opponent_prize"], other, None, False)
        self._opponent_hand(tracker, other, _asks_for(select, Area.HAND, 1 - self.side))
        self._multiset(ZONE["opponent_discard"], other.discard, none)
        revealed: dict[int, int] = {}
        for identity in tracker.revealed.values():
            revealed[identity] = revealed.get(identity, 0) + 1
        self._counted(ZONE["opponent_revealed"], revealed, none)
        self._owned(ZONE["stadium"], state.stadium)
        if state.looking:
            self._owned(ZONE["looking"], state.looking)
        if select.deck is not None:
            self._multiset(ZONE["select_deck"], select.deck, none)
        self._owned(ZONE["effect"], [select.effect] if select.effect is not None else ())
        self._owned(ZONE["context"], [select.context_card] if select.context_card is not None else ())

    def _counted(self, zone: int, counts: dict[int, int], flag: int) -> None:
        for identity in sorted(counts):
            self.zone_at.setdefault((zone, identity), len(self.card_zone))
            self.card_zone.append(zone)
            self.card_id.append(identity)
            self.card_count.append(counts[identity])
            self.card_flag.append(flag)

    def _multiset(self, zone: int, cards: Iterable[Card | None], flag: int) -> None:
        counts: dict[int, int] = {}
        for card in cards:
            identity = UNKNOWN_CARD if card is None else card.id
            counts[identity] = counts.get(identity, 0) + 1
        self._counted(zone, counts, flag)

    def _owned(self, zone: int, cards: Iterable[Card | None]) -> None:
        cards = list(cards)
        self._multiset(zone, [c for c in cards if c is not None and c.player_index == self.side], FLAG["own"])
        self._multiset(zone, [c for c in cards if c is not None and c.player_index != self.side], FLAG["foreign"])
        self._multiset(zone, [c for c in cards if c is None], FLAG["unknown"])

    def _prizes(self, zone: int, player: Player, deduced: dict[int, int] | None, asked: bool) -> None:
        """Prizes that lie open or are deduced are certain, the others unknown. Deduced ones lie face down all the same:
        where they are ``asked`` for, the options point to the face-down cards, as they do before the deduction."""
        certain = dict(deduced or {})
        for card in player.prize:
            if card is not None:
                certain[card.id] = certain.get(card.id, 0) + 1
        self._counted(zone, certain, FLAG["certain"])
        if deduced is None or asked:
            self._multiset(zone, [card for card in player.prize if card is None], FLAG["unknown"])

    def _opponent_hand(self, tracker: Tracker, other: Player, asked: bool) -> None:
        """Beliefs, and the rest of the hand unknown; where the hand is ``asked`` for, its cards lie face down as a whole if
        all of them are believed to be known."""
        zone = ZONE["opponent_hand"]
        certain: dict[int, int] = {}
        uncertain: dict[int, int] = {}
        for identity, sure in tracker.beliefs.values():
            counts = certain if sure else uncertain
            counts[identity] = counts.get(identity, 0) + 1
        self._counted(zone, certain, FLAG["certain"])
        self._counted(zone, uncertain, FLAG["uncertain"])
        unknown = other.hand_count - len(tracker.beliefs)
        if unknown <= 0 and asked:
            unknown = other.hand_count
        if unknown > 0:
            self._counted(zone, {UNKNOWN_CARD: unknown}, FLAG["unknown"])

    def _units(self, tracker: Tracker, state: State) -> None:
        for player, active, bench in (
            (self.side, UNIT_ZONE["self_active"], UNIT_ZONE["self_bench"]),
            (1 - self.side, UNIT_ZONE["opponent_active"], UNIT_ZONE["opponent_bench"]),
        ):
            table = state.players[player]
            for zone, area, row in ((active, Area.ACTIVE, table.active), (bench, Area.BENCH, table.bench)):
                for index, unit in enumerate(row):
                    self.unit_at[player, area, index] = len(self.unit_zone)
                    self.unit_zone.append(zone)
                    if unit is not None:
                        self._unit(unit, player == self.side and unit.serial in tracker.abilities)
                        continue
                    # the seat knows what it put down itself, although the engine shows it face down until set-up ends
                    known = tracker.facedown_active if zone == UNIT_ZONE["self_active"] else UNKNOWN_CARD
                    self.unit_id.append(known)
                    self.unit_attributes.append(_NO_STATE)

    def _unit(self, unit: Pokemon, ability_used: bool) -> None:
        position = len(self.unit_id)
        self.unit_id.append(unit.id)
        histogram = [0] * ENERGY_TYPES
        for energy in unit.energies:
            if not 0 <= energy < ENERGY_TYPES:
                raise EncodeError(f"energy type {energy} of unit {unit.id} is outside 0..{ENERGY_TYPES - 1}")
            histogram[energy] += 1
        self.unit_attributes.append((
            unit.hp, unit.max_hp, unit.max_hp - unit.hp, int(unit.appear_this_turn), len(unit.energies), *histogram,
            len(unit.tools), len(unit.pre_evolution), int(ability_used),
        ))  # fmt: skip
        for kind, cards in ((PRE_EVOLUTION, unit.pre_evolution), (TOOL, unit.tools), (ENERGY, unit.energy_cards)):
            for card in cards:
                self.attached_unit.append(position)
                self.attached_kind.append(kind)
                self.attached_id.append(card.id)

    def card_token(self, zone: str, identity: int) -> int:
        """Position of the card token of that zone and card, NO_POINTER when there is none."""
        return self.zone_at.get((ZONE[zone], identity), NO_POINTER)

    def unit_token(self, player: int, area: int, index: int) -> int:
        """Position of the unit in [card tokens, units], NO_POINTER when there is none."""
        unit = self.unit_at.get((player, area, index))
        return NO_POINTER if unit is None else len(self.card_zone) + unit


def _asks_for(select: Select, area: int, player: int) -> bool:
    """Whether an option picks a card of that area of that player."""
    return any(option.area == area and option.player_index == player for option in select.option)


def _without(counts: dict[int, int], taken: dict[int, int] | None) -> dict[int, int]:
    if not taken:
        return counts
    return {identity: count - taken.get(identity, 0) for identity, count in counts.items() if count > taken.get(identity, 0)}


def global_values(state: State, select: Select, side: int, picked: int) -> list[int]:
    """The vector GLOBALS of the schema, in its order."""
    own, other = state.players[side], state.players[1 - side]
    first, turn = state.first_player, state.turn
    mine = first in (0, 1) and turn > 0 and (turn % 2 == 1) == (first == side)
    return [
        turn, state.turn_action_count, 0 if first not in (0, 1) else 1 if first == side else -1, int(mine),
        int(state.supporter_played), int(state.stadium_played), int(state.energy_attached), int(state.retreated),
        own.deck_count, other.deck_count,
        prizes_left(turn, len(own.prize), len(state.looking or ())), prizes_left(turn, len(other.prize)),
        own.hand_count, other.hand_count, len(own.bench), len(other.bench), own.bench_max, other.bench_max,
        int(own.poisoned), int(own.burned), int(own.asleep), int(own.paralyzed), int(own.confused),
        int(other.poisoned), int(other.burned), int(other.asleep), int(other.paralyzed), int(other.confused),
        select.remain_damage_counter, select.remain_energy_cost, select.min_count, select.max_count,
        picked, len(select.option),
    ]  # fmt: skip
