"""Aux targets: hand-worked examples, and the frames' prize counts as an oracle."""

import pytest

from tcg_core.encode.rows import encode_episode
from tcg_core.encode.targets import NO_TARGET, Moment, Target, aux_targets, prizes_left
from tcg_core.replay.episode import parse_episode
from tests.golden.replays import Replay, dumps, replay, replays

ATTACK = 13

# Seat 0 moves first. Turn 1: nothing. Turn 2: seat 1 knocks out, takes 1. Turn 3: seat 0 knocks out an ex, takes 2, and
# its own active falls between turns: seat 1 takes 1 in turn 3 too. Turn 4: seat 1 loses its last unit, one prize, the game.
GAME = [
    Moment(0, 1, (6, 6)),
    Moment(1, 2, (6, 6)),
    Moment(1, 2, (6, 6)),
    Moment(0, 3, (6, 5)),
    Moment(0, 3, (6, 5)),
    Moment(1, 3, (4, 5)),
    Moment(1, 4, (4, 4)),
]
END = (3, 4)


def test_hand_worked_game() -> None:
    worked = [
        # by seat 0 to the end: takes 3, loses 2, wins: (3 - 2) / 6 + 1
        Target(True, 0, 0.0, 0, 1 / 6 + 1),
        Target(True, 1, 1.0, 0, -1 / 6 - 1),
        Target(True, 1, 1.0, 0, -1 / 6 - 1),
        # turn 3: takes 2, loses 1; to the end takes 3, loses 1
        Target(True, 1, 1.0, 0, 2 / 6 + 1),
        Target(True, 1, 1.0, 0, 2 / 6 + 1),
        # seat 1 decides in turn 3 after the 2 were taken: takes 1 between turns; to the end takes 1, loses 1
        Target(True, 1, 1.0, 0, 0 / 6 - 1),
        # turn 4 ends with the game: loses 1
        Target(True, 0, -1.0, 1, -1 / 6 - 1),
    ]
    for found, expected in zip(aux_targets(GAME, END, 1), worked, strict=True):
        assert tuple(found) == pytest.approx(tuple(expected))


def test_without_an_end_the_last_window_says_nothing() -> None:
    with_end, without = aux_targets(GAME, END, 1), aux_targets(GAME, None, 1)
    assert without[-1] == NO_TARGET == Target(False, 0, 0.0, 0, 0.0)
    assert [t[:4] for t in without[:-1]] == [t[:4] for t in with_end[:-1]]
    assert without[0].ret == pytest.approx((2 - 2) / 6 + 1)  # the prize of the unseen end is not counted


def test_prizes_are_six_until_they_are_laid_out() -> None:
    assert [prizes_left(0, 0), prizes_left(0, 6), prizes_left(3, 0)] == [6, 6, 0]


def test_a_pile_that_is_being_exchanged_is_not_taken() -> None:
    """Redeemable Ticket: the prizes went under the deck, as many new ones are being ordered. Nobody has taken them."""
    assert [prizes_left(3, 0, 5), prizes_left(3, 4, 5)] == [5, 4]
    item = replay(85000011)
    document = item.document()
    steps = document["steps"]
    step, side = next(
        (t, side)
        for t, entries in enumerate(steps)
        for side, entry in enumerate(entries)
        if entry["status"] == "ACTIVE" and t > len(steps) // 2 and not entry["observation"]["current"]["looking"]
    )
    state = steps[step][side]["observation"]["current"]
    pile = state["players"][side]["prize"]
    state["players"][side]["prize"], state["looking"] = [], [None] * len(pile)
    plain = encode_episode(item.episode(), item.day)
    exchanging = encode_episode(parse_episode(dumps(document), item.name), item.day)
    for name in ("aux_valid", "aux_ko", "aux_prize_delta", "aux_terminal", "aux_return", "globals"):
        assert (plain[name] == exchanging[name]).all(), name


def test_hand_worked_replay() -> None:
    """Episode 93000011, game 0, worked by hand from its prize counts: seat 0 takes a prize in turns 3, 5 and 7, each by the
    attack that ends the turn, and wins; seat 1 takes none. Seat 1 promotes inside turns 3 and 5, after the prize."""
    columns = encode_episode(replay(93000011).episode(), "2026-10-25")
    rows = columns.take(((columns["game"] == 0) & (columns["substep"] == 0)).nonzero()[0])
    worked = {
        # step: ko, delta, terminal, return
        8: (0, 0, 0, 3 / 6 + 1),
        11: (0, 0, 0, -3 / 6 - 1),
        12: (1, 1, 0, 3 / 6 + 1),
        16: (1, 1, 0, 3 / 6 + 1),
        17: (1, 1, 0, 3 / 6 + 1),
        18: (0, 0, 0, -2 / 6 - 1),
        19: (0, 0, 0, -2 / 6 - 1),
        24: (1, 1, 0, 2 / 6 + 1),
        29: (0, 0, 0, -1 / 6 - 1),
        33: (1, 1, 1, 1 / 6 + 1),
        34: (1, 1, 1, 1 / 6 + 1),
    }
    for step, expected in worked.items():
        (row,) = (rows["step_id"] == step).nonzero()[0]
        found = [rows[f"aux_{name}"][row] for name in ("ko", "prize_delta", "terminal", "return")]
        assert found == pytest.approx(expected), step


@pytest.mark.parametrize("item", replays(), ids=lambda item: item.name)
def test_frames_agree_and_every_knock_out_of_a_turn_has_its_attack(item: Replay) -> None:
    """The oracle reads the full-information frames, one after each answer, and never the seats' observations."""
    episode, frames = item.episode(), item.document()["steps"][0][0]["visualize"]
    columns = encode_episode(episode, item.day)
    first_row = {}
    for row in range(columns.rows):
        key = (int(columns["game"][row]), int(columns["side"][row]), int(columns["step_id"][row]))
        first_row.setdefault(key, row)
    offset = knocked = 0
    for game in episode.games:
        count = len(game.decisions)
        tables = [frame["current"] for frame in frames[offset : offset + count + 1]]
        offset += count + 1
        piles = [[len(player["prize"]) if table["turn"] else 6 for player in table["players"]] for table in tables]
        for position, decision in enumerate(game.decisions):
            side, turn = decision.side, tables[position]["turn"]
            end = next((k for k in range(position, count + 1) if tables[k]["turn"] > turn), count)
            delta = [piles[position][seat] - piles[end][seat] for seat in (0, 1)]
            row = first_row[game.index, side, decision.step_id]
            assert columns["aux_prize_delta"][row] == delta[side] - delta[1 - side]
            assert columns["aux_ko"][row] == (delta[side] > 0)
            assert columns["aux_terminal"][row] == (end == count)
            if decision.observation.select.option[decision.picks[0] if decision.picks else 0].type == ATTACK and delta[side] > 0:
                knocked += 1
    assert knocked > 0 or item.name in ("92000002.json",)


def test_rows_without_frames_are_equal_but_for_the_last_window() -> None:
    document = replay(85000011).document()
    del document["steps"][0][0]["visualize"]
    whole = encode_episode(replay(85000011).episode(), "2026-08-15")
    cut = encode_episode(parse_episode(dumps(document), "85000011.json"), "2026-08-15")
    closed = cut["aux_valid"]
    assert not closed.all() and (closed | (whole["aux_terminal"] == 1)).all()
    for name in ("aux_ko", "aux_prize_delta", "aux_terminal", "aux_return"):
        assert (cut[name][~closed] == 0).all()
    assert (cut["aux_ko"][closed] == whole["aux_ko"][closed]).all()
