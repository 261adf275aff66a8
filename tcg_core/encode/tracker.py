"""What a seat has learned so far in one game: the opponent's cards it saw, what it believes of the hidden hand, the
abilities it used this turn. The same object serves training and play; it must see every decision of the lane, in order."""

from collections import Counter
from collections.abc import Sequence

from tcg_core.encode.enums import FIRST_SERIAL_OF_SEAT_1, Area, LogType, OptionType
from tcg_core.encode.errors import EncodeError
from tcg_core.encode.observation import Card, Log, Observation, Option, Player, Pokemon, State

DECK_SIZE = 60

# Logs that name cards besides cardId and serial: SWITCH, CHANGE, ATTACH, EVOLVE, DEVOLVE, MOVE_ATTACHED.
_TARGET, _SWAP = (("serial_target", "card_id_target"),), (("serial_before", "card_id_before"), ("serial_after", "card_id_after"))
_NAMED_BESIDE = {
    8: (("serial_active", "card_id_active"), ("serial_bench", "card_id_bench")),
    9: _SWAP,
    11: _TARGET,
    12: _TARGET,
    13: _TARGET,
    14: _SWAP,
}


class Tracker:
    """Memory of one lane (one seat of one game).

    deck: the seat's own 60 card ids; another count raises :class:`EncodeError`. Call :meth:`observe` once per decision
    before encoding it and :meth:`answered` once after it was answered.
    """

    __slots__ = (
        "_ability_turn",
        "_hand_running",
        "abilities",
        "beliefs",
        "deck",
        "facedown_active",
        "prizes",
        "revealed",
        "side",
        "unseen",
    )

    def __init__(self, deck: Sequence[int]) -> None:
        if len(deck) != DECK_SIZE:
            raise EncodeError(f"the own deck has {len(deck)} cards, expected {DECK_SIZE}")
        #: own list: card id -> copies
        self.deck = Counter(deck)
        #: the seat, known after the first observation
        self.side: int | None = None
        #: opponent's cards seen in this game: serial -> card id
        self.revealed: dict[int, int] = {}
        #: opponent's hand as far as known: serial -> (card id, certain), oldest knowledge first
        self.beliefs: dict[int, tuple[int, bool]] = {}
        #: serials of own units whose ability this seat used this turn
        self.abilities: set[int] = set()
        #: own cards this seat cannot see: card id -> copies, deck and face-down prizes together
        self.unseen: dict[int, int] = {}
        #: own face-down prizes, deduced when the whole deck was shown: card id -> copies; None while unknown
        self.prizes: dict[int, int] | None = None
        #: id of the own active placed face down in set-up; -1 before
        self.facedown_active = -1
        self._ability_turn = -1
        self._hand_running = 0

    def observe(self, obs: Observation) -> None:
        """Takes in the logs and the visible table of the next decision. Raises :class:`EncodeError` when it is another
        seat's, or holds no state."""
        state, select = obs.current, obs.select
        if state is None or select is None:
            raise EncodeError("an observation without state or select is no decision")
        if self.side is None:
            if state.your_index not in (0, 1) or len(state.players) != 2:
                raise EncodeError(
                    f"current.yourIndex is {state.your_index} with {len(state.players)} players, expected 0 or 1 of 2"
                )
            self.side = state.your_index
        elif state.your_index != self.side or len(state.players) != 2:
            raise EncodeError(f"a tracker of seat {self.side} was shown an observation of seat {state.your_index}")
        if state.turn != self._ability_turn:
            self._ability_turn = state.turn
            self.abilities.clear()
        for log in obs.logs:
            self._log(log)
        self._look(obs, state)
        self._balance(state.players[1 - self.side].hand_count)

    def answered(self, obs: Observation, picks: Sequence[int]) -> None:
        """Notes the abilities used by the answer to the observation last observed."""
        state, select = obs.current, obs.select
        if state is None or select is None:
            raise EncodeError("an observation without state or select is no decision")
        for pick in picks:
            option = select.option[pick]
            if option.type == OptionType.ABILITY:
                unit = self._own_unit(state, option)
                if unit is not None:
                    self.abilities.add(unit.serial)

    def _own_unit(self, state: State, option: Option) -> Pokemon | None:
        assert self.side is not None
        player = state.players[self.side]
        row = {Area.ACTIVE: player.active, Area.BENCH: player.bench}.get(option.area or 0, [])
        return row[option.index] if option.index is not None and 0 <= option.index < len(row) else None

    def _log(self, log: Log) -> None:
        kind, serial, card = log.type, log.serial, log.card_id
        other = 1 - (self.side or 0)
        if kind in _NAMED_BESIDE:
            for serial_name, card_name in _NAMED_BESIDE[kind]:
                self._note(getattr(log, serial_name), getattr(log, card_name), other)
        if serial is None or card is None:
            if log.player_index != other:
                if kind == LogType.MOVE_CARD_REVERSE and Area.PRIZE in (log.from_area, log.to_area):
                    self.prizes = None
            elif kind == LogType.DRAW_REVERSE or (kind == LogType.MOVE_CARD_REVERSE and log.to_area == Area.HAND):
                self._hand_running += 1
            elif kind == LogType.MOVE_CARD_REVERSE and log.from_area == Area.HAND:
                self._blind_exit()
            return
        if (serial >= FIRST_SERIAL_OF_SEAT_1) != (other == 1):
            if kind == LogType.MOVE_CARD:
                self._own_move(card, log.from_area, log.to_area)
            return
        self.revealed[serial] = card
        if kind == LogType.MOVE_CARD:
            if log.from_area == Area.HAND:
                self._known_exit(serial)
            if log.to_area == Area.HAND:
                self.beliefs.pop(serial, None)
                self.beliefs[serial] = (card, True)
                self._hand_running += 1
        elif kind == LogType.PLAY or kind == LogType.ATTACH or kind == LogType.EVOLVE:
            self._known_exit(serial)

    def _own_move(self, card: int, source: int | None, target: int | None) -> None:
        if source == Area.HAND and target == Area.ACTIVE:
            self.facedown_active = card
        if self.prizes is None or Area.PRIZE not in (source, target):
            return
        left = self.prizes.get(card, 0) + (1 if target == Area.PRIZE else -1)
        self.prizes[card] = left
        if left == 0:
            del self.prizes[card]
        elif left < 0:
            self.prizes = None

    def _note(self, serial: int | None, card: int | None, other: int) -> None:
        if serial is not None and card is not None and (serial >= FIRST_SERIAL_OF_SEAT_1) == (other == 1):
            self.revealed[serial] = card

    def _known_exit(self, serial: int) -> None:
        self.beliefs.pop(serial, None)
        self._hand_running -= 1

    def _blind_exit(self) -> None:
        """A card left the hand face down: any believed card may have been it; an emptied hand holds none."""
        self._hand_running -= 1
        if self._hand_running <= 0:
            self.beliefs.clear()
            return
        for serial, (card, _) in self.beliefs.items():
            self.beliefs[serial] = (card, False)

    def _look(self, obs: Observation, state: State) -> None:
        """One pass over all visible cards: the opponent's are revealed, the own ones are taken off the own list."""
        assert self.side is not None and obs.select is not None
        side, revealed, own, select = self.side, self.revealed, dict[int, int](), obs.select
        shown: list[Card | Pokemon | None] = [*state.stadium]
        if state.looking:
            shown.extend(state.looking)
        for player in state.players:
            shown.extend(player.discard)
            shown.extend(player.prize)
            if player.hand:
                shown.extend(player.hand)
            for row in (player.active, player.bench):
                for unit in row:
                    if unit is not None:
                        shown.append(unit)
                        shown.extend(unit.energy_cards)
                        shown.extend(unit.tools)
                        shown.extend(unit.pre_evolution)
        asked = [card for card in (select.effect, select.context_card) if card is not None]
        named = [card for card in asked if card.player_index == side]
        shown.extend(card for card in asked if card.player_index != side)
        for card in shown:
            if card is not None:
                if card.player_index == side:
                    own[card.serial] = card.id
                else:
                    revealed[card.serial] = card.id
                    if card.serial in self.beliefs:
                        del self.beliefs[card.serial]
        mine = state.players[side]
        hidden = [self.facedown_active] if None in mine.active and self.facedown_active > 0 else []
        unseen = dict(self.deck)
        for identity in (*own.values(), *hidden):
            _take(unseen, identity)
        for known in named:
            if known.serial not in own and not self._lies_hidden(known, unseen, mine, select.deck):
                own[known.serial] = known.id
                _take(unseen, known.id)
        self.unseen = unseen
        self._deduce_prizes(mine, select.deck)

    @staticmethod
    def _lies_hidden(card: Card, unseen: dict[int, int], mine: Player, deck: list[Card | None] | None) -> bool:
        """Whether an own card that only the question names still lies in the deck or among the face-down prizes: a search
        may ask about a found card before it moves. Either the deck is shown with it, or deck and prizes need it to have as
        many cards as they have."""
        if deck is not None and any(other is not None and other.serial == card.serial for other in deck):
            return True
        return sum(unseen.values()) <= mine.deck_count + mine.prize.count(None)

    def _deduce_prizes(self, mine: Player, deck: list[Card | None] | None) -> None:
        """Whoever sees the whole own deck knows the face-down prizes: they are the rest of the unseen cards."""
        if deck is not None and len(deck) == mine.deck_count:
            rest = Counter(self.unseen)
            rest.subtract(card.id for card in deck if card is not None and card.player_index == self.side)
            whole = all(count >= 0 for count in rest.values()) and None not in deck
            self.prizes = dict(+rest) if whole else None
        if self.prizes is not None and sum(self.prizes.values()) != mine.prize.count(None):
            self.prizes = None

    def _balance(self, hand_count: int) -> None:
        """The believed hand is never larger than the hand: uncertain beliefs go first, then the oldest."""
        self._hand_running = hand_count
        surplus = len(self.beliefs) - hand_count
        if surplus <= 0:
            return
        order = sorted(self.beliefs.items(), key=lambda item: item[1][1])
        for serial, _ in order[:surplus]:
            del self.beliefs[serial]


def _take(counts: dict[int, int], card: int) -> None:
    """One copy less; a card that changed its print is not on the list, and nothing is taken off for it."""
    left = counts.get(card, 0)
    if left > 1:
        counts[card] = left - 1
    elif left == 1:
        del counts[card]
