"""The engine's look-ahead on living battles of both generations."""

import random

import pytest

from tcg_core.base.home import Home
from tcg_core.engine.agents import make_agent
from tcg_core.engine.battle import Battle
from tcg_core.engine.decks import resolve_deck
from tcg_core.engine.library import GENERATIONS
from tcg_core.engine.search import HiddenZones, Lookahead, LookaheadRefused

ATTACK = 13


def zones(battle: Battle, deck: list[int], rng: random.Random) -> HiddenZones:
    players = battle.observation["current"]["players"]
    mine, other = players[battle.seat], players[1 - battle.seat]

    def draw(count: int) -> tuple[int, ...]:
        return tuple(rng.choice(deck) for _ in range(count))

    return HiddenZones(
        draw(mine["deckCount"]),
        draw(len(mine["prize"])),
        draw(other["deckCount"]),
        draw(len(other["prize"])),
        draw(other["handCount"]),
        draw(other["active"].count(None)),
    )


@pytest.mark.parametrize("generation", GENERATIONS)
def test_a_search_starts_at_what_the_seat_sees_and_leaves_the_battle_alone(home: Home, generation: str) -> None:
    deck = list(resolve_deck(home, "sample"))
    agent, rng = make_agent("heuristic", generation, deck, 3), random.Random(5)
    seen = 0
    with Lookahead(generation) as ahead:
        while seen < 4:
            with Battle(generation, deck, deck) as battle:
                while not battle.ended:
                    seen += _looked(battle, ahead, deck, rng)
                    battle.select(agent(battle.observation))


def _looked(battle: Battle, ahead: Lookahead, deck: list[int], rng: random.Random) -> bool:
    """Looks the first attack of the pending decision ahead, twice from one node; False if it holds none."""
    select = battle.observation["select"]
    attacks = [i for i, option in enumerate(select["option"]) if option["type"] == ATTACK and select["type"] == 0]
    if not attacks:
        return False
    before = battle.raw
    node = ahead.begin(battle.search_begin_input, zones(battle, deck, rng))
    assert node.observation["select"] == select
    after = [ahead.step(node, [attacks[0]]) for _ in range(2)]
    turns = [item.observation["current"]["turnActionCount"] for item in after]
    assert turns[0] == turns[1] and len({node.search_id, *(item.search_id for item in after)}) == 3
    assert battle.raw == before
    return True


def test_wrong_answers_and_guesses_are_refused_by_number(home: Home) -> None:
    deck = list(resolve_deck(home, "sample"))
    rng = random.Random(5)
    with Battle("v1", deck, deck) as battle, Lookahead("v1") as ahead:
        node = ahead.begin(battle.search_begin_input, zones(battle, deck, rng))
        for picks, code in (([99], 5), ([0, 0], 6), ([], 4)):
            with pytest.raises(LookaheadRefused, match=f"SearchStep answered {code}") as caught:
                ahead.step(node, picks)
            assert caught.value.code == code
        with pytest.raises(LookaheadRefused, match="a zone of 65 cards"):
            ahead.begin(battle.search_begin_input, HiddenZones(tuple(deck) + (1,) * 5, (), (), (), ()))
        ahead.end()
        with pytest.raises(LookaheadRefused, match=r"SearchStep answered [12]"):
            ahead.step(node, [0])
