"""The agent at play: lanes as in training, legal always, and never a silent fallback."""

import copy

import numpy as np
import pytest
import torch

from tcg_core.engine.agents import make_agent
from tcg_core.engine.battle import Battle
from tcg_core.engine.decks import random_legal_deck, sample_deck
from tcg_core.submission.runtime.agent import PolicyAgent
from tcg_core.submission.runtime.answers import legal_default
from tcg_core.submission.runtime.clock import RESERVE
from tcg_core.submission.runtime.groups import groups, shape_of
from tcg_core.submission.runtime.lane import Lane, Thought

V1 = {"version": 1}
REQUEST = {"select": None, "logs": [], "current": None, "search_begin_input": None}


def decisions(seed: int, seat: int = 0, generation: str = "v1", deck=None) -> list[dict]:
    """What one seat saw in a random game, with the multi-pick decisions that it had."""
    deck = deck or sample_deck()
    agents = [make_agent("random", generation, deck, seed + s) for s in (0, 1)]
    seen = []
    with Battle(generation, deck, deck) as battle:
        while not battle.ended:
            if battle.seat == seat:
                seen.append(copy.deepcopy(battle.observation))
            battle.select(agents[battle.seat](battle.observation))
    return seen


@pytest.fixture
def agent(packed) -> PolicyAgent:
    return PolicyAgent(packed.folder)


def legal(obs: dict, picks: list[int]) -> bool:
    select = obs["select"]
    inside = all(type(pick) is int and 0 <= pick < len(select["option"]) for pick in picks)
    return inside and len(set(picks)) == len(picks) and select["minCount"] <= len(picks) <= select["maxCount"]


def test_deck_request_answers_the_deck(agent):
    assert agent(REQUEST) == list(sample_deck())


def test_whole_games_against_itself_are_legal_without_fallback(agent):
    for generation, version in (("v1", 1), ("v2", 2)):
        agent(REQUEST)
        with Battle(generation, sample_deck(), sample_deck()) as battle:
            while not battle.ended:
                picks = agent(battle.observation, {"version": version})
                assert legal(battle.observation, picks)
                battle.select(picks)
    assert agent.summary()["fallbacks"]["total"] == 0
    assert agent.summary()["decisions"] > 4


def test_many_at_once_answer_as_one_by_one(packed):
    games = [decisions(seed) for seed in range(4)]
    single, batched = PolicyAgent(packed.folder), PolicyAgent(packed.folder)
    alone = [[single.act_many([(f"{g}", obs)], V1)[0] for obs in game] for g, game in enumerate(games)]
    together: list[list[list[int]]] = [[] for _ in games]
    for step in range(max(map(len, games))):
        places = [g for g, game in enumerate(games) if step < len(game)]
        for place, answer in zip(places, batched.act_many([(f"{g}", games[g][step]) for g in places], V1), strict=True):
            together[place].append(answer)
    assert together == alone
    assert batched.summary()["fallbacks"]["total"] == 0


def test_every_pick_reads_the_memory_of_the_decision_s_start_and_the_last_is_kept(agent, monkeypatch):
    deck = random_legal_deck("v1", 4)
    calls: list[tuple[torch.Tensor, torch.Tensor]] = []
    forward = agent.policy.forward

    def spy(rows, memories, generations):
        [(logits, written)] = forward(rows, memories, generations)
        calls.append((memories[0].clone(), written.clone()))
        return [(logits, written)]

    monkeypatch.setattr(agent.policy, "forward", spy)
    agent.deck = list(deck)
    kept, several = agent.policy.initial_memory(), 0
    for seed in range(40):
        if several > 3:
            break
        agent(REQUEST)
        kept = agent.policy.initial_memory()
        for obs in decisions(seed, deck=deck):
            calls.clear()
            agent(obs, V1)
            assert all(torch.equal(read, kept) for read, _ in calls)
            several += len(calls) > 1
            kept = calls[-1][1] if calls else kept
    assert several > 3, "no decision of several picks was met"
    assert agent.summary()["fallbacks"]["total"] == 0


def test_a_seat_starts_afresh_with_its_game_and_the_other_seat_is_left_alone(agent):
    first, second = decisions(1, seat=0), decisions(1, seat=1)
    for obs in (first[0], second[0], first[1], second[1]):
        agent(obs, V1)
    seat1 = agent._lanes["", 1]
    late = [obs for obs in first if obs["current"]["turn"] > 0]
    agent(late[0], V1)
    before = agent._lanes["", 0]
    agent(first[0], V1)
    assert agent._lanes["", 0] is not before, "turns never go back within a game"
    assert agent._lanes["", 1] is seat1
    agent(REQUEST)
    assert not agent._lanes


def test_the_next_game_of_a_best_of_three_starts_afresh(agent):
    obs = decisions(3, generation="v2")[0]
    obs["current"]["round"] = 1
    agent(obs, {"version": 2})
    before = agent._lanes["", 0]
    following = copy.deepcopy(obs)
    following["current"]["round"] = 2
    agent(following, {"version": 2})
    assert agent._lanes["", 0] is not before


def fallbacks(agent) -> dict[str, int]:
    return agent.summary()["fallbacks"]["by_reason"]


def test_an_exception_is_answered_legally_and_counted(agent, monkeypatch):
    def broken(rows, memories, generations):
        raise RuntimeError("no network today")

    game = decisions(5)
    monkeypatch.setattr(agent.policy, "forward", broken)
    assert all(legal(obs, agent(obs, V1)) for obs in game)
    assert fallbacks(agent) == {"exception:RuntimeError": len(game)}
    assert agent.summary()["fallbacks"]["first"] == {"exception:RuntimeError": "no network today"}


def test_one_broken_game_does_not_take_the_others_with_it(agent):
    good, bad = decisions(6)[0], decisions(7)[0]
    del bad["current"]["players"][0]["deckCount"]
    answers = agent.act_many([("good", good), ("bad", bad)], V1)
    assert legal(good, answers[0]) and legal(bad, answers[1])
    assert agent.end("good") == {} and agent.end("bad") == {"exception:EncodeError": 1}


def test_logits_that_are_no_numbers_are_counted(agent, monkeypatch):
    forward = agent.policy.forward

    def poisoned(rows, memories, generations):
        return [(np.full_like(logits, np.nan), written) for logits, written in forward(rows, memories, generations)]

    monkeypatch.setattr(agent.policy, "forward", poisoned)
    obs = decisions(8)[0]
    assert legal(obs, agent(obs, V1))
    assert fallbacks(agent) == {"exception:ArithmeticError": 1}


@pytest.mark.parametrize("left", [RESERVE - 1, 0.5, -3])
def test_little_time_left_is_answered_at_once_and_counted(agent, left):
    obs = decisions(9)[0] | {"remainingOverageTime": left}
    assert legal(obs, agent(obs, V1))
    assert fallbacks(agent) == {"clock": 1}


def test_our_own_clock_counts_too(agent):
    game = decisions(10)
    agent(game[0], V1)
    agent._lanes["", 0].clock.used = 599.0
    agent(game[1] | {"remainingOverageTime": 600}, V1)
    assert fallbacks(agent) == {"clock": 1}


def test_another_generation_is_not_played_blindly(agent):
    agent.policy.generations = ("v2",)
    obs = decisions(11)[0]
    assert legal(obs, agent(obs, V1))
    assert fallbacks(agent) == {"generation": 1}


def test_generation_without_a_configuration(agent):
    v1, v2 = decisions(12)[0], decisions(12, generation="v2")[0]
    agent.act_many([("a", v1), ("b", v2)])
    assert {name: lane.generation for (name, _), lane in agent._lanes.items()} == {"a": "v1", "b": "v2"}


def test_default_is_legal_whatever_was_picked():
    select = {"option": [{}] * 5, "minCount": 3, "maxCount": 4}
    assert legal_default({"select": select}) == [0, 1, 2]
    assert legal_default({"select": select}, [4, 1]) == [4, 1, 0]
    assert legal_default({"select": select | {"minCount": 0}}) == []


def test_rows_are_asked_in_groups_of_like_size_each_once(agent):
    rows = [row for seed in range(4) for row in rows_of(agent, seed)]
    found = groups(rows)
    assert sorted(place for group in found for place in group) == list(range(len(rows)))
    assert 1 < len(found) < len(rows)
    padded = [shape_of([rows[place] for place in group]) for group in found]
    assert max(shape.cards for shape in padded) == max(len(row["card_id"]) for row in rows)
    memory = agent.policy.initial_memory()
    together = agent.policy.forward(rows, [memory] * len(rows), ["v1"] * len(rows))
    for row, (logits, written) in zip(rows, together, strict=True):
        [(alone, kept)] = agent.policy.forward([row], [memory], ["v1"])
        options = len(row["option_type"])
        assert np.allclose(logits[:options], alone[:options], atol=1e-5) and np.isclose(logits[-1], alone[-1], atol=1e-5)
        assert torch.allclose(written, kept, atol=1e-5)


def rows_of(agent, seed: int) -> list[dict]:
    """Rows of one game's decisions."""
    game = decisions(seed)
    lane = Lane(agent.deck, agent.policy.initial_memory(), game[0], "v1")
    return [Thought(lane, obs).row() for obs in game]
