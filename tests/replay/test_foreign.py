"""Cards that a seat shows and its deck list does not hold."""

from typing import Any

import pytest

from tcg_core.replay.episode import Quarantine, parse_episode
from tcg_core.replay.foreign import MAX_FOREIGN
from tests.golden.replays import dumps, replay, replays


def differing() -> list[int]:
    """Golden episodes in which the two seats play other decks."""
    decks = {int(item.name.removesuffix(".json")): item.episode().decks for item in replays()}
    found = [episode for episode, (first, second) in decks.items() if sorted(first) != sorted(second)]
    assert len(found) >= 3
    return found


@pytest.mark.parametrize("episode", differing())
def test_swapped_deck_lists_are_refused(episode: int) -> None:
    document = replay(episode).document()
    first, second = document["steps"][1]
    first["action"], second["action"] = second["action"], first["action"]
    with pytest.raises(Quarantine, match=rf"^{episode}\.json: seat 0 shows \d+ cards in game 0 that its deck lacks") as caught:
        parse_episode(dumps(document), f"{episode}.json")
    assert caught.value.reason == "foreign_cards"
    assert int(caught.value.text.split(" shows ")[1].split()[0]) >= 10


def rewrite(value: Any, serials: set[int]) -> None:
    """Gives the cards of these serials an id that no deck holds, wherever a seat is shown them."""
    if isinstance(value, list):
        for part in value:
            rewrite(part, serials)
    elif isinstance(value, dict):
        if value.get("serial") in serials and "id" in value:
            value["id"] = 9999
        for part in value.values():
            rewrite(part, serials)


def discarded(document: Any, side: int) -> list[int]:
    """Serials in the seat's discard pile at its last decision."""
    last = next(step for step in reversed(document["steps"][:-1]) if step[side]["status"] == "ACTIVE")
    return [card["serial"] for card in last[side]["observation"]["current"]["players"][side]["discard"]]


@pytest.mark.parametrize("side", [0, 1])
def test_few_foreign_cards_are_counted_and_more_refuse_the_episode(side: int) -> None:
    serials = discarded(replay(93000001).document(), side)
    assert len(serials) > MAX_FOREIGN
    for count in (0, 1, MAX_FOREIGN, MAX_FOREIGN + 1):
        document = replay(93000001).document()
        last = max(step[0]["observation"]["current"]["round"] for step in document["steps"][1:-1])
        for step in document["steps"][1:-1]:
            if step[0]["observation"]["current"]["round"] == last == step[1]["observation"]["current"]["round"]:
                rewrite(step, set(serials[:count]))
        if count > MAX_FOREIGN:
            with pytest.raises(Quarantine) as caught:
                parse_episode(dumps(document), "93000001.json")
            told = f"seat {side} shows {count} cards in game {last - 1} that its deck lacks (ids 9999), the cap is {MAX_FOREIGN}"
            assert (caught.value.reason, caught.value.text) == ("foreign_cards", f"93000001.json: {told}")
        else:
            episode = parse_episode(dumps(document), "93000001.json")
            assert episode.caveats == ({"foreign_card": count} if count else {})


def test_copies_beyond_those_of_the_deck_are_foreign() -> None:
    document = replay(85000011).document()
    deck = document["steps"][1][0]["action"]
    document["steps"][1][0]["action"] = [card if deck.index(card) == place else 9999 for place, card in enumerate(deck)]
    with pytest.raises(Quarantine) as caught:
        parse_episode(dumps(document), "85000011.json")
    assert caught.value.reason == "foreign_cards"
