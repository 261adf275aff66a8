"""A guess of the cards a seat does not see that contradicts nothing it saw: a pure function of tracker, state and generator."""

import random
from collections import Counter
from collections.abc import Sequence

from tcg_core.encode.observation import Player, State
from tcg_core.encode.tracker import Tracker
from tcg_core.engine.search import HiddenZones


def candidates(tracker: Tracker, known_decks: Sequence[Counter[int]]) -> list[Counter[int]]:
    """Lists that the opponent may play: those of ``known_decks`` that hold every card of theirs that was seen, else those that
    hold most of them; without any known deck the seen cards themselves."""
    seen = Counter(tracker.revealed.values())
    missing = [sum((seen - deck).values()) for deck in known_decks]
    return [deck for deck, count in zip(known_decks, missing, strict=True) if count == min(missing)] or [seen]


def guess(tracker: Tracker, state: State, lists: Sequence[Counter[int]], rng: random.Random) -> HiddenZones:
    """Draws hidden zones.

    The own deck and face-down prizes are the own list less what is visible, the deduced prizes where they are known. The
    opponent's list is one of ``lists`` (:func:`candidates`); what the seat believes of their hand is in their hand.
    """
    assert tracker.side is not None
    mine, other = state.players[tracker.side], state.players[1 - tracker.side]
    own = _spread(tracker.unseen, rng)
    hidden_prizes = mine.prize.count(None)
    if tracker.prizes is not None and sum(tracker.prizes.values()) == hidden_prizes:
        prizes = _spread(tracker.prizes, rng)
        deck = list((Counter(own) - Counter(prizes)).elements())
        rng.shuffle(deck)
    else:
        prizes, deck = own[:hidden_prizes], own[hidden_prizes:]
    listed = rng.choice(lists)
    believed = [card for card, _ in tracker.beliefs.values()][: other.hand_count]
    visible = _visible(tracker, other, believed)
    rest = list((listed - visible).elements())
    rng.shuffle(rest)
    filler = sorted(listed.elements()) or [1]
    facedown = other.active.count(None)

    def take(count: int) -> list[int]:
        return [rest.pop() if rest else rng.choice(filler) for _ in range(count)]

    hand = believed + take(other.hand_count - len(believed))
    active = take(facedown)
    own_filler = sorted(tracker.deck) or [1]
    return HiddenZones(
        own_deck=_fit(deck, mine.deck_count, own_filler, rng),
        own_prizes=_prizes(mine, prizes, own_filler, rng),
        other_deck=tuple(take(other.deck_count)),
        other_prizes=_prizes(other, take(other.prize.count(None)), filler, rng),
        other_hand=tuple(hand),
        other_active=tuple(active),
    )


def _visible(tracker: Tracker, other: Player, believed: Sequence[int]) -> Counter[int]:
    """Of the opponent's cards seen so far, those that are not hidden again: on the table, or believed to be in the hand."""
    table: Counter[int] = Counter(card.id for card in other.discard)
    table.update(card.id for card in other.prize if card is not None)
    for unit in (*other.active, *other.bench):
        if unit is not None:
            table[unit.id] += 1
            table.update(card.id for part in (unit.energy_cards, unit.tools, unit.pre_evolution) for card in part)
    table.update(believed)
    return table


def _prizes(player: Player, hidden: Sequence[int], filler: Sequence[int], rng: random.Random) -> tuple[int, ...]:
    """One id a prize card left, the visible ones at their places."""
    waiting = list(hidden)
    return tuple(card.id if card is not None else (waiting.pop() if waiting else rng.choice(filler)) for card in player.prize)


def _fit(ids: Sequence[int], count: int, filler: Sequence[int], rng: random.Random) -> tuple[int, ...]:
    return (*ids[:count], *(rng.choice(filler) for _ in range(count - len(ids))))


def _spread(counts: dict[int, int] | Counter[int], rng: random.Random) -> list[int]:
    ids = sorted(card for card, count in counts.items() for _ in range(count))
    rng.shuffle(ids)
    return ids
