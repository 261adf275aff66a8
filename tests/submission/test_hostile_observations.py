"""The agent under observations that no engine sends: it never raises, its answer has the shape of one, and each is counted."""

import copy
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tcg_core.submission.archive import extract_archive
from tcg_core.submission.host.process import AgentProcess
from tcg_core.submission.runtime.agent import PolicyAgent
from tcg_core.submission.runtime.answers import Unanswerable, asked_of, legal_default
from tests.encode.helpers import find_raw
from tests.submission.test_agent import V1, decisions, fallbacks, legal

QUESTION = decisions(21)[0]
#: A recorded main decision with units on both sides.
FULL_TABLE = find_raw(lambda raw: any(option["type"] == 13 for option in raw["select"]["option"]))[2]
CARD = 30_000  # in no table


@pytest.fixture
def agent(packed) -> PolicyAgent:
    return PolicyAgent(packed.folder)


@pytest.fixture(scope="module")
def one(packed) -> PolicyAgent:
    """One agent for all drawn observations: what it remembers of one must not spoil the next."""
    return PolicyAgent(packed.folder)


def changed(**select: Any) -> dict[str, Any]:
    return QUESTION | {"select": QUESTION["select"] | select}


def without(*path: str) -> dict[str, Any]:
    made = copy.deepcopy(QUESTION)
    place = made
    for key in path[:-1]:
        place = place[key]
    del place[path[-1]]
    return made


def shaped(obs: Any, picks: Any) -> bool:
    """A list of distinct indexes of the options that are there, as many as the question allows at most."""
    select = obs.get("select") if isinstance(obs, dict) else None
    options = select.get("option") if isinstance(select, dict) else None
    count = len(options) if isinstance(options, list) else 0
    inside = type(picks) is list and all(type(pick) is int and 0 <= pick < count for pick in picks)
    most = select.get("maxCount") if isinstance(select, dict) else None
    return inside and len(set(picks)) == len(picks) and (type(most) is not int or len(picks) <= max(most, 0))


@pytest.mark.parametrize(
    "obs",
    [
        without("select"), without("select", "option"), without("select", "minCount"), without("select", "maxCount"),
        changed(option=None), changed(option={}), changed(option="ab"), changed(minCount=None), changed(maxCount=None),
        changed(minCount=True), changed(minCount=1.0), changed(minCount="1"), changed(minCount=2, maxCount=1),
        changed(minCount=99, maxCount=99), changed(minCount=-1), changed(maxCount=-1), changed(option=[]),
        QUESTION | {"select": 7}, QUESTION | {"select": []}, {}, None, [], "observation", 7,
    ],
)  # fmt: skip
def test_a_question_without_an_answer_is_answered_in_shape_and_counted(agent, obs) -> None:
    assert shaped(obs, agent(obs, V1))
    assert fallbacks(agent) == {"unanswerable": 1}
    assert legal(QUESTION, agent(QUESTION, V1)) and fallbacks(agent) == {"unanswerable": 1}, "the next question is answered"


def test_a_question_that_allows_nothing_is_answered_with_nothing_and_is_no_fallback(agent) -> None:
    assert agent(changed(minCount=0, maxCount=0, option=[]), V1) == []
    assert fallbacks(agent) == {}


@pytest.mark.parametrize(
    "obs",
    [
        without("current"), QUESTION | {"current": None}, QUESTION | {"logs": None}, without("current", "yourIndex"),
        QUESTION | {"current": QUESTION["current"] | {"turn": "7"}},
        QUESTION | {"current": QUESTION["current"] | {"players": []}},
        changed(option=[None, 3]), changed(option=[{"type": "x"}, {}]),
    ],
)  # fmt: skip
def test_a_question_about_a_table_that_is_none_is_answered_legally_and_counted(agent, obs) -> None:
    assert shaped(obs, agent(obs, V1)) and len(agent(obs, V1)) == obs["select"]["minCount"]
    assert sum(fallbacks(agent).values()) == 2 and all(reason.startswith("exception:") for reason in fallbacks(agent))


@pytest.mark.parametrize("left", [float("nan"), float("inf"), -float("inf"), 10**30, -(10**30), "600", None, [], True], ids=str)
def test_no_clock_that_kaggle_might_send_raises(agent, left) -> None:
    obs = QUESTION | {"remainingOverageTime": left}
    assert legal(obs, agent(obs, V1))
    assert fallbacks(agent) == ({"clock": 1} if isinstance(left, int | float) and left < 0 else {})


@pytest.mark.parametrize("config", [None, {}, {"version": []}, {"version": None}, {"version": "1"}, {"version": 9}, [], 7])
def test_a_configuration_that_says_nothing_costs_no_decision(agent, config) -> None:
    assert legal(QUESTION, agent(QUESTION, config)) and fallbacks(agent) == {}


JUNK = st.sampled_from(
    [None, True, -1, 0, 1, 2, 61, 2**31, 2**63, 10**400, 0.5, float("nan"), "", "x", [], {}, [None], [[]], [{}]]
)


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_whatever_is_changed_in_an_observation_the_agent_answers_and_counts(one, data) -> None:
    one.end()  # a lane of the observation before would make an example depend on the one before it
    obs = copy.deepcopy(data.draw(st.sampled_from([QUESTION, FULL_TABLE])))
    for _ in range(data.draw(st.integers(1, 3))):
        place: Any = obs
        for _ in range(data.draw(st.integers(0, 5))):
            keys = list(place) if isinstance(place, dict) else list(range(len(place))) if isinstance(place, list) else []
            inner = [key for key in keys if isinstance(place[key], dict | list) and place[key]]
            if not inner:
                break
            place = place[data.draw(st.sampled_from(inner))]
        key = data.draw(st.sampled_from(list(place) if isinstance(place, dict) else list(range(len(place)))))
        if data.draw(st.booleans()):
            place[key] = copy.deepcopy(data.draw(JUNK))
        else:
            del place[key]
        if not obs:
            break
    asked = isinstance(obs, dict) and not ("select" in obs and obs["select"] is None)
    before = one.summary()["fallbacks"]["total"]
    answer = one(obs, V1)
    if not asked:
        assert answer == one.deck
        return
    assert shaped(obs, answer)
    counted = one.summary()["fallbacks"]["total"] - before
    try:
        asked_of(obs)
    except Unanswerable:
        assert counted == 1
    else:
        assert legal(obs, answer), "where there is a legal answer, that is given"


@given(
    option=st.one_of(JUNK, st.lists(st.none(), max_size=6)), low=JUNK, high=JUNK,
    picked=st.lists(st.integers(0, 3), unique=True, max_size=2),
)  # fmt: skip
def test_the_default_never_raises(option, low, high, picked) -> None:
    found = legal_default({"select": {"option": option, "minCount": low, "maxCount": high}}, picked)
    assert found[: len(picked)] == picked and len(set(found)) == len(found)


def with_new_print(obs: dict[str, Any]) -> dict[str, Any]:
    """The observation of seat 0 with a card in the own hand that no table has."""
    made = copy.deepcopy(obs)
    made["current"]["players"][0]["hand"][0]["id"] = CARD
    return made


def test_a_new_print_in_sight_is_counted_and_the_policy_is_still_asked(agent, monkeypatch) -> None:
    asked = []
    forward = agent.policy.forward
    monkeypatch.setattr(agent.policy, "forward", lambda *found: asked.append(1) or forward(*found))
    game = [obs for obs in decisions(22) if obs["current"]["players"][0]["hand"]]
    for obs in map(with_new_print, game):
        assert legal(obs, agent(obs, V1))
    assert fallbacks(agent) == {} and asked
    found = agent.summary()["unknown_card"]
    assert found["ids"][f"card {CARD}"] == found["decisions"] > 0
    before = found["decisions"]
    agent(QUESTION, V1)
    assert agent.summary()["unknown_card"]["decisions"] == before, "a table of known cards counts nothing"


def test_a_new_attack_is_counted_too(agent) -> None:
    made = copy.deepcopy(FULL_TABLE)
    next(option for option in made["select"]["option"] if option["type"] == 13)["attackId"] = 31_000
    assert legal(made, agent(made, V1)) and fallbacks(agent) == {}
    assert agent.summary()["unknown_card"]["ids"] == {"attack 31000": 1}


def test_an_unknown_print_is_another_token_than_a_face_down_card(agent) -> None:
    """Both are cards without a known identity; the network must be able to tell them apart."""
    hidden, new = (agent.policy.tables.cards("v1", [id])[0] for id in (-1, CARD))
    assert hidden != new
    weights = agent.policy.net.card.weight
    assert bool((weights[int(new)] == 0).all()) and bool((weights[int(hidden)] != 0).any())


def test_an_agent_whose_policy_does_not_load_answers_them_too(packed, tmp_path) -> None:
    weights = packed.files()["weights.safetensors"][:-8]
    (tmp_path / "x").mkdir()
    extract_archive(packed.changed(tmp_path / "x.tar.gz", **{"weights.safetensors": weights}), tmp_path / "x")
    hostile = [without("select"), {}, changed(option=None), changed(minCount=None), changed(minCount="1"), QUESTION]
    with AgentProcess(tmp_path / "x", scratch=tmp_path) as process:
        answers = process.call("act_many", [["", obs] for obs in hostile], V1, timeout=60.0)
        counted = process.call("summary")["fallbacks"]["by_reason"]
    assert all(shaped(obs, answer) for obs, answer in zip(hostile, answers, strict=True)) and legal(QUESTION, answers[-1])
    assert counted == {"load": len(hostile)}
