"""Cards that a seat shows and its deck does not hold: the sign of a deck list that is not the one that was played."""

from collections import Counter
from collections.abc import Sequence

from tcg_core.replay.decisions import Decision
from tcg_core.replay.errors import Quarantine
from tcg_core.replay.structs import Card, Pokemon

#: Foreign cards of one seat in one game that are only counted. No real game has any, and decks of the two seats that are swapped
#: show at least 10; but a deck holds up to four copies of a card, so one id that is told otherwise makes four.
MAX_FOREIGN = 4


def count_foreign(
    games: Sequence[Sequence[Decision]], decks: tuple[tuple[int, ...], tuple[int, ...]], name: str, caveats: Counter[str]
) -> None:
    """Counts them over all games as the caveat ``foreign_card``; raises :class:`Quarantine` (``foreign_cards``) for more than
    MAX_FOREIGN of a seat in a game.

    A card is foreign if the list has fewer copies than were seen. Seen are hands, units and what is attached to them, discard
    piles, stadiums, open prizes, looked-at and shown deck cards, of both seats' observations; each serial once.
    """
    for index, decisions in enumerate(games):
        seen: dict[int, Card | Pokemon] = {}
        for decision in decisions:
            _see(decision, seen)
        for side, deck in enumerate(decks):
            held = Counter(card.id for card in seen.values() if card.player_index == side)
            foreign = held - Counter(deck)
            total = foreign.total()
            if total > MAX_FOREIGN:
                cards = ", ".join(str(card) for card in sorted(foreign)[:5])
                text = (
                    f"seat {side} shows {total} cards in game {index} that its deck lacks (ids {cards}), the cap is {MAX_FOREIGN}"
                )
                raise Quarantine("foreign_cards", f"{name}: {text}")
            if total:
                caveats["foreign_card"] += total


def _see(decision: Decision, seen: dict[int, Card | Pokemon]) -> None:
    # Written out, as it runs over some sixty cards a decision.
    state, select = decision.observation.current, decision.observation.select
    assert state is not None and select is not None
    for player in state.players:
        for row in (player.active, player.bench):
            for unit in row:
                if unit is not None:
                    seen[unit.serial] = unit
                    for attached in (unit.energy_cards, unit.tools, unit.pre_evolution):
                        for card in attached:
                            seen[card.serial] = card
        for card in player.discard:
            seen[card.serial] = card
        for card in player.hand or ():
            seen[card.serial] = card
        for hidden in player.prize:
            if hidden is not None:
                seen[hidden.serial] = hidden
    for card in state.stadium:
        seen[card.serial] = card
    for hidden in (*(state.looking or ()), *(select.deck or ())):
        if hidden is not None:
            seen[hidden.serial] = hidden
