"""A battle plays through, refuses what is wrong, and no misuse reaches the library."""

import pickle
import random
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from tcg_core.engine.battle import Battle, BattleClosed, BattleEnded, DeckRejected, IllegalAnswer
from tcg_core.engine.decks import sample_deck
from tcg_core.engine.errors import EngineBroken
from tcg_core.engine.library import GENERATIONS

ROOT = Path(__file__).resolve().parents[2]
DECK = sample_deck()
both = pytest.mark.parametrize("generation", GENERATIONS)


def play(battle: Battle, seed: int = 0) -> int:
    rng, decisions = random.Random(seed), 0
    while not battle.ended:
        select = battle.observation["select"]
        battle.select(rng.sample(range(len(select["option"])), rng.randint(select["minCount"], select["maxCount"])))
        decisions += 1
    return decisions


@both
def test_a_battle_plays_to_its_end(generation: str) -> None:
    with Battle(generation, DECK, DECK) as battle:
        assert (battle.result, battle.ended, battle.seat) == (-1, False, 0)
        assert battle.observation.keys() == {"select", "logs", "current", "search_begin_input"}
        decisions = play(battle)
        assert battle.result in (0, 1, 2)
        frames = battle.visualize()
        assert len(frames) == decisions + 1
        assert frames[-1]["logs"][-1] == {"type": "Result", "result": battle.result, "reason": frames[-1]["logs"][-1]["reason"]}


def test_seat_1_opens_a_reversed_start_of_v2_only() -> None:
    with Battle("v2", DECK, DECK, reverse=True) as battle:
        assert battle.seat == 1
    with pytest.raises(EngineBroken, match="no reverse start"):
        Battle("v1", DECK, DECK, reverse=True)


@both
@pytest.mark.parametrize(
    ("picks", "code"),
    [
        *[([], 4), ([0, 1], 4), ([7], 5), ([-1], 5), ([2**40 + 7], 5), ([2**31], 5), ([0, False], 6)],
        *[([0.0], 0), (["0"], 0), ("0", 0), (None, 0), ({0}, 0)],
    ],
)
def test_a_wrong_answer_is_refused_and_changes_nothing(generation: str, picks: Any, code: int) -> None:
    with Battle(generation, DECK, DECK) as battle:
        before = battle.raw
        with pytest.raises(IllegalAnswer) as caught:
            battle.select(picks)
        assert caught.value.code == code
        assert battle.raw == before
        battle.select([0])


@both
@pytest.mark.parametrize("picks", [[True], [False], [2**40], [2**32 + 1], [-(2**32)]])
def test_integers_count_as_the_environment_on_kaggle_counts_them(generation: str, picks: list[int]) -> None:
    with Battle(generation, DECK, DECK) as battle:
        before = battle.raw
        battle.select(picks)
        assert battle.raw != before
    assert _verdict_of_kaggle(generation, picks) == "taken"


@both
@pytest.mark.parametrize("picks", [[0.0], ["0"], [None], [[0]], [2**40 + 7], [0, False], [], 0, None])
def test_what_the_environment_on_kaggle_refuses_is_refused(generation: str, picks: Any) -> None:
    with Battle(generation, DECK, DECK) as battle, pytest.raises(IllegalAnswer):
        battle.select(picks)
    assert _verdict_of_kaggle(generation, picks) == "refused"


def _verdict_of_kaggle(generation: str, picks: Any) -> str:
    """What the real environment says of ``picks`` as the answer to a game's first question."""
    from kaggle_environments import make  # slow to import, and only these tests need it

    environment = make("cabt", configuration={"version": int(generation[1:])}, debug=False)
    environment.step([list(DECK), list(DECK)])
    seat = next(place for place, state in enumerate(environment.state) if state["status"] == "ACTIVE")
    environment.step([picks if place == seat else [] for place in (0, 1)])
    return "refused" if environment.state[seat]["status"] == "INVALID" else "taken"


def test_the_message_says_what_was_expected() -> None:
    with (
        Battle("v1", DECK, DECK) as battle,
        pytest.raises(IllegalAnswer, match="out of range; expected 1 to 1 distinct indexes below 2"),
    ):
        battle.select([9])


@both
def test_decks_are_refused_with_seat_and_rule(generation: str) -> None:
    with pytest.raises(DeckRejected, match="deck of seat 1 refused: it holds 59 cards") as caught:
        Battle(generation, DECK, DECK[1:])
    assert (caught.value.player, caught.value.code) == (1, 0)
    for deck, code in ([9999] * 60, 1), ([721] * 60, 2), ([3] * 60, 3), ([2**40] * 60, 1), ([True] * 60, 1):
        with pytest.raises(DeckRejected) as caught:
            Battle(generation, deck, DECK)
        assert (caught.value.player, caught.value.code) == (0, code)


@both
def test_after_the_end_and_after_closing_everything_raises(generation: str) -> None:
    battle = Battle(generation, DECK, DECK)
    play(battle)
    with pytest.raises(BattleEnded):
        battle.select([0])
    battle.close()
    battle.close()
    for use in (lambda: battle.select([0]), battle.visualize):
        with pytest.raises(BattleClosed):
            use()
    assert battle.result in (0, 1, 2)


def test_exceptions_cross_process_borders() -> None:
    for error in (DeckRejected(1, 2, "too many"), IllegalAnswer(5, "out of range")):
        copy = pickle.loads(pickle.dumps(error))
        assert (str(copy), copy.code) == (str(error), error.code)


def test_battles_in_threads_do_not_disturb_each_other() -> None:
    results: list[int] = []

    def games(seed: int) -> None:
        for index in range(3):
            with Battle(GENERATIONS[index % 2], DECK, DECK) as battle:
                play(battle, seed)
                results.append(battle.result)

    threads = [threading.Thread(target=games, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 12
    assert set(results) <= {0, 1, 2}


MISUSE = """
import gc
from tcg_core.engine.battle import Battle
from tcg_core.engine.cards import load_cards
from tcg_core.engine.decks import sample_deck
from tcg_core.engine.library import load_library
from tcg_core.base.errors import TcgError

deck, survived = sample_deck(), 0

def attempt(action):
    global survived
    try:
        action()
    except (TcgError, TypeError):
        survived += 1

for generation in ("v1", "v2"):
    load_library(generation); load_library(generation); load_cards(generation)
    battle = Battle(generation, deck, deck)
    for picks in ([10**6], [-5], [0] * 1000, None, [None], 3, [2**70 + 10**6]):
        attempt(lambda: battle.select(picks))
    while not battle.ended:
        battle.select(range(battle.observation["select"]["maxCount"]))
    attempt(lambda: battle.select([0]))
    attempt(lambda: battle.select([]))
    battle.close(); battle.close(); battle.__del__()
    attempt(lambda: battle.select([0]))
    attempt(battle.visualize)
    for bad in ([], [3] * 60, [-(2**31)] * 60, [10**9] * 60, ["3"] * 60, [None] * 60):
        attempt(lambda: Battle(generation, bad, deck))
        attempt(lambda: Battle(generation, deck, bad))
    dropped = Battle(generation, deck, deck)
    del dropped
    gc.collect()
print(survived)
"""


def test_the_bare_library_would_die_of_an_answer_after_the_end() -> None:
    code = """
from tcg_core.engine.battle import Battle
from tcg_core.engine.decks import sample_deck
battle = Battle("v2", sample_deck(), sample_deck())
battle._library.BattleFinish(battle._pointer)
battle._library.GetBattleData(None)
"""
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True).returncode < 0


def test_no_misuse_kills_the_process() -> None:
    done = subprocess.run([sys.executable, "-c", MISUSE], cwd=ROOT, capture_output=True, text=True)
    assert (done.returncode, done.stdout.strip()) == (0, str(2 * (7 + 2 + 2 + 12))), done.stderr
