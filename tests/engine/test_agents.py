"""The baselines: legal, deterministic, and the heuristic as strong as is claimed."""

import random
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from tcg_core.base.errors import UnknownId
from tcg_core.engine.agents import BASELINES, make_agent
from tcg_core.engine.battle import Battle
from tcg_core.engine.decks import random_legal_deck, sample_deck
from tcg_core.engine.library import GENERATIONS

Player = Callable[[dict[str, Any]], list[int]]
DECK = sample_deck()
CAP = 3000
both = pytest.mark.parametrize("generation", GENERATIONS)


def game(generation: str, players: list[Player], decks: list[tuple[int, ...]]) -> tuple[int, int]:
    """Result (-1: cut at the cap) and number of decisions; the engine refuses any illegal answer."""
    with Battle(generation, *decks) as battle:
        for decision in range(CAP):
            battle.select(players[battle.seat](battle.observation))
            if battle.ended:
                return battle.result, decision + 1
    return -1, CAP


def match(generation: str, names: tuple[str, str], games: int, decks: Callable[[int], tuple[int, ...]]) -> Counter[str]:
    """Seat-balanced games of two agents with the same decks on both sides in turn; counts seen by the first agent."""
    counts: Counter[str] = Counter()
    for index in range(games):
        pair = [decks(index), decks(index + 1)]
        agents = [
            make_agent(name, generation, deck, 2 * index + side)
            for side, (name, deck) in enumerate(zip(names, pair, strict=True))
        ]
        seat = index % 2
        if seat:
            agents.reverse()
            pair.reverse()
        result, _ = game(generation, agents, pair)
        counts["cut" if result < 0 else "draw" if result == 2 else "win" if result == seat else "loss"] += 1
    return counts


@both
def test_heuristic_beats_random(generation: str) -> None:
    counts = match(generation, ("heuristic", "random"), 300, lambda index: DECK)
    assert counts["cut"] == 0
    assert counts["win"] >= 270, counts


def test_heuristic_beats_first() -> None:
    counts = match("v1", ("heuristic", "first"), 100, lambda index: DECK)
    assert counts["win"] >= 54, counts


@both
def test_heuristic_plays_any_deck(generation: str) -> None:
    counts = match(generation, ("heuristic", "random"), 60, lambda index: random_legal_deck(generation, index))
    assert counts["win"] >= 45, counts
    assert counts["cut"] == 0


def test_heuristic_finishes_against_itself() -> None:
    counts = match("v2", ("heuristic", "heuristic"), 60, lambda index: random_legal_deck("v2", 100 + index))
    assert counts["cut"] == 0, counts


def recorded(generation: str, deck: tuple[int, ...]) -> list[dict[str, Any]]:
    """Every observation of one random game."""
    observations, player = [], make_agent("random", generation, deck, 3)
    with Battle(generation, deck, deck) as battle:
        while not battle.ended:
            observations.append(battle.observation)
            battle.select(player(battle.observation))
    return observations


@pytest.mark.parametrize("name", BASELINES)
def test_agents_are_deterministic_and_start_with_their_deck(name: str) -> None:
    observations = recorded("v2", random_legal_deck("v2", 8))
    one, two = (make_agent(name, "v2", DECK, 5) for _ in range(2))
    assert one({"select": None}) == list(DECK)
    assert [one(observation) for observation in observations] == [two(observation) for observation in observations]


def test_heuristic_is_a_function_of_the_observation() -> None:
    observations = recorded("v1", DECK)
    agent = make_agent("heuristic", "v1", DECK, 5)
    forward = [agent(observation) for observation in observations]
    backward = [agent(observation) for observation in reversed(observations)]
    assert forward == backward[::-1]


def test_random_uses_the_whole_legal_range_and_its_seed() -> None:
    select = {"minCount": 1, "maxCount": 3, "option": [{}] * 5}
    agent = make_agent("random", "v1", DECK, 1)
    answers = [agent({"select": select}) for _ in range(400)]
    assert {len(answer) for answer in answers} == {1, 2, 3}
    assert {pick for answer in answers for pick in answer} == set(range(5))
    assert all(len(set(answer)) == len(answer) for answer in answers)
    other = make_agent("random", "v1", DECK, 2)
    assert answers != [other({"select": select}) for _ in range(400)]


def test_first_takes_the_first_options() -> None:
    assert make_agent("first", "v1", DECK, 0)({"select": {"minCount": 0, "maxCount": 2, "option": [{}] * 5}}) == [0, 1]


def test_an_unknown_agent_is_refused() -> None:
    with pytest.raises(UnknownId, match="'clever': expected one of random, first, heuristic"):
        make_agent("clever", "v1", DECK, 0)


def test_an_unknown_context_or_option_is_still_answered_legally() -> None:
    observation = random.Random(1).choice([o for o in recorded("v1", DECK) if len(o["select"]["option"]) > 1])
    strange = {**observation, "select": {**observation["select"], "context": 99, "minCount": 1, "maxCount": 1}}
    assert len(make_agent("heuristic", "v1", DECK, 0)(strange)) == 1
    options = [{"type": 77}, {"type": 14}]
    strange["select"] = {**strange["select"], "context": 0, "option": options}
    assert make_agent("heuristic", "v1", DECK, 0)(strange) == [1]
