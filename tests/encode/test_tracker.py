"""What a seat learns: beliefs of the opponent's hand, cards revealed, own cards unseen, abilities used."""

from collections import Counter
from typing import Any

import pytest

from tcg_core.encode.errors import EncodeError
from tcg_core.encode.observation import Card, Log, Observation, Option, Player, Pokemon, Select, State
from tcg_core.encode.state import Tokens
from tcg_core.encode.tracker import Tracker
from tests.golden.replays import Replay, replays

THEIRS = 70  # a serial of seat 1


def player(**changes: Any) -> Player:
    values: dict[str, Any] = {
        "active": [], "bench": [], "bench_max": 5, "deck_count": 47, "discard": [], "prize": [None] * 6,
        "hand_count": 7, "hand": None,
        "poisoned": False, "burned": False, "asleep": False, "paralyzed": False, "confused": False,
    }  # fmt: skip
    return Player(**(values | changes))


def seen(*logs: Log, turn: int = 1, hand_count: int = 7, own: Player | None = None, option: Option | None = None) -> Observation:
    """An observation of seat 0, whose opponent holds ``hand_count`` cards."""
    players = [own or player(hand=[]), player(hand_count=hand_count)]
    state = State(turn, 0, 0, 0, False, False, False, False, [], None, players)
    select = Select(0, 0, 1, 1, 0, 0, [option or Option(14)], None, None, None)
    return Observation(select, list(logs), state)


def tracker(*observations: Observation) -> Tracker:
    made = Tracker([5] * 60)
    for observation in observations:
        made.observe(observation)
    return made


def into_hand(serial: int, card: int) -> Log:
    return Log(6, 1, card, serial, 1, 2)


def test_a_search_into_the_hand_is_believed_with_certainty() -> None:
    made = tracker(seen(into_hand(THEIRS, 9)))
    assert made.beliefs == {THEIRS: (9, True)} and made.revealed == {THEIRS: 9}


@pytest.mark.parametrize(
    "leave",
    [Log(10, 1, 9, THEIRS), Log(11, 1, 9, THEIRS, serial_target=71), Log(12, 1, 9, THEIRS), Log(6, 1, 9, THEIRS, 2, 3)],
    ids=["play", "attach", "evolve", "discard"],
)
def test_a_card_that_leaves_the_hand_openly_is_forgotten(leave: Log) -> None:
    made = tracker(seen(into_hand(THEIRS, 9), into_hand(THEIRS + 1, 8)), seen(leave))
    assert made.beliefs == {THEIRS + 1: (8, True)} and made.revealed[THEIRS] == 9


def test_a_face_down_exit_lowers_certainty_and_an_emptied_hand_clears_it() -> None:
    blind = Log(7, 1, from_area=2, to_area=1)
    made = tracker(seen(into_hand(THEIRS, 9), hand_count=3), seen(blind, hand_count=2))
    assert made.beliefs == {THEIRS: (9, False)}
    made.observe(seen(into_hand(THEIRS, 9), hand_count=2))
    assert made.beliefs == {THEIRS: (9, True)}
    made.observe(seen(blind, blind, Log(5, 1), Log(5, 1), Log(5, 1), hand_count=3))
    assert made.beliefs == {}


def test_the_believed_hand_never_exceeds_the_hand() -> None:
    blind = Log(7, 1, from_area=2, to_area=1)
    made = tracker(
        seen(into_hand(THEIRS, 1), into_hand(THEIRS + 1, 2), hand_count=6),
        seen(blind, into_hand(THEIRS + 2, 3), into_hand(THEIRS + 3, 4), hand_count=3),
    )
    assert made.beliefs == {THEIRS + 1: (2, False), THEIRS + 2: (3, True), THEIRS + 3: (4, True)}
    made.observe(seen(hand_count=1))
    assert made.beliefs == {THEIRS + 3: (4, True)}


def test_own_cards_in_the_log_are_no_belief() -> None:
    made = tracker(seen(Log(6, 0, 9, 10, 1, 2)))
    assert made.beliefs == {} and made.revealed == {}


def test_own_unseen_cards_are_the_list_without_what_is_visible() -> None:
    unit = Pokemon(5, 3, 0, 60, 60, False, [3], [Card(3, 4, 0)], [], [])
    own = player(hand=[Card(5, 6, 0)], active=[unit], discard=[Card(7, 8, 0)])
    made = Tracker([5] * 50 + [3] * 9 + [7])
    made.observe(seen(own=own))
    assert made.unseen == {5: 48, 3: 8}


def test_the_own_active_put_down_in_set_up_is_known_and_the_opponents_is_not() -> None:
    made = Tracker([5] * 60)
    own = player(hand=[], active=[None])
    observation = seen(Log(6, 0, 5, 9, 2, 4), Log(7, 1, from_area=2, to_area=4), turn=0, own=own)
    observation.current.players[1].active.append(None)  # type: ignore[union-attr]
    made.observe(observation)
    assert Tokens(made, observation).unit_id == [5, -1]


def test_an_ability_counts_for_the_turn_it_was_used_in() -> None:
    unit = Pokemon(5, 9, 0, 60, 60, False, [], [], [], [])
    own = player(hand=[], bench=[unit])
    observation = seen(own=own, option=Option(10, area=5, index=0), turn=3)
    made = tracker(observation)
    assert Tokens(made, observation).unit_attributes[0][-1] == 0
    made.answered(observation, [0])
    made.observe(observation)
    assert Tokens(made, observation).unit_attributes[0][-1] == 1
    later = seen(own=own, turn=5)
    made.observe(later)
    assert Tokens(made, later).unit_attributes[0][-1] == 0


def test_another_seats_observation_and_a_short_deck_are_refused() -> None:
    made = tracker(seen())
    other = seen()
    other.current.your_index = 1  # type: ignore[union-attr]
    with pytest.raises(EncodeError, match="seat 0 was shown an observation of seat 1"):
        made.observe(other)
    with pytest.raises(EncodeError, match="59 cards"):
        Tracker([5] * 59)
    with pytest.raises(EncodeError, match="tracker before"):
        Tokens(Tracker([5] * 60), seen())


def _deck_shown(own: Player) -> Observation:
    observation = seen(own=own)
    observation.select.deck = [Card(5, 3 + k, 0) for k in range(own.deck_count)]  # type: ignore[union-attr]
    return observation


def test_a_look_at_the_whole_deck_tells_the_prizes() -> None:
    own = player(hand=[], deck_count=52, discard=[Card(7, 60, 0), Card(7, 61, 0)])
    made = Tracker([5] * 55 + [7] * 5)
    made.observe(seen(own=own))
    assert made.prizes is None
    made.observe(_deck_shown(own))
    assert made.prizes == {5: 3, 7: 3}
    tokens = Tokens(made, seen(own=own))
    assert [tokens.card_count[tokens.card_token("self_prize", card)] for card in (5, 7)] == [3, 3]
    assert tokens.card_token("self_prize", -1) == -1 and tokens.card_count[tokens.card_token("self_deck", 5)] == 52
    own.prize = [None] * 5
    made.observe(seen(Log(6, 0, 7, 50, 6, 2), own=own))
    assert made.prizes == {5: 3, 7: 2}
    made.observe(seen(Log(7, 0, from_area=1, to_area=6), own=own))
    assert made.prizes is None


def test_prizes_that_do_not_add_up_are_not_deduced() -> None:
    made = Tracker([5] * 55 + [7] * 5)
    made.observe(_deck_shown(player(hand=[], deck_count=53, discard=[Card(7, 60, 0)], prize=[None] * 5)))
    assert made.prizes is None


def test_certain_beliefs_are_true() -> None:
    """Against the full-information frames: a card believed with certainty is in the opponent's hand."""
    assert sum(_certain_beliefs(item) for item in replays()) > 200


def test_own_hidden_cards_are_known_as_far_as_they_can_be() -> None:
    """Against the frames: the unseen cards are deck and face-down prizes, and deduced prizes are the prizes."""
    deduced = 0
    for item in replays():
        frames = iter(item.document()["steps"][0][0]["visualize"])
        for game in item.episode().games:
            trackers = [Tracker(deck) for deck in item.episode().decks]
            for decision in game.decisions:
                made = trackers[decision.side]
                made.observe(decision.observation)
                truth = next(frames)["current"]["players"][decision.side]
                prizes, deck = (Counter(card["id"] for card in truth[pile]) for pile in ("prize", "deck"))
                assert Counter(made.unseen) == prizes + deck, f"{item.name} step {decision.step_id}"
                if made.prizes is not None:
                    assert Counter(made.prizes) == prizes, f"{item.name} step {decision.step_id}"
                    deduced += 1
            next(frames)
    assert deduced > 500


def _certain_beliefs(item: Replay) -> int:
    frames = iter(item.document()["steps"][0][0]["visualize"])
    checked = 0
    for game in item.episode().games:
        trackers = [Tracker(deck) for deck in item.episode().decks]
        for decision in game.decisions:
            made = trackers[decision.side]
            made.observe(decision.observation)
            made.answered(decision.observation, decision.picks)
            hand = {card["serial"]: card["id"] for card in next(frames)["current"]["players"][1 - decision.side]["hand"]}
            assert len(made.beliefs) <= len(hand)
            for serial, (card, certain) in made.beliefs.items():
                if certain:
                    assert hand.get(serial) == card, f"{item.name} step {decision.step_id}"
                    checked += 1
        next(frames)
    return checked
