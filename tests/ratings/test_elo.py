import pytest
from hypothesis import given
from hypothesis import strategies as st

from tcg_core.catalog.standing import INITIAL, K
from tcg_core.ratings.elo import GameResult, Standing, expected_score, play


def test_hand_worked_games():
    after = play({}, [GameResult(1, 2, 1)])
    assert after == {1: Standing(616.0, 1, 1, 0, 0), 2: Standing(584.0, 1, 0, 1, 0)}
    # 616 against 584 expects 1 / (1 + 10^(-32/400)) = 0.54592; a draw is half a point, so the better one loses 32 * 0.04592.
    drawn = play(after, [GameResult(2, 1, 0)])
    assert drawn[1].elo == pytest.approx(614.5305, abs=1e-4) and drawn[1].draws == 1
    assert drawn[2].elo == pytest.approx(585.4695, abs=1e-4)


def test_a_seat_is_not_an_advantage_and_a_mirror_says_nothing():
    assert play({}, [GameResult(1, 2, 1)]) == play({}, [GameResult(2, 1, -1)])
    assert play({}, [GameResult(1, 1, 1)]) == {}


def test_the_standings_given_are_not_changed():
    before = {1: Standing()}
    play(before, [GameResult(1, 2, 1)])
    assert before == {1: Standing()}


@given(st.lists(st.builds(GameResult, st.integers(0, 5), st.integers(0, 5), st.sampled_from([-1, 0, 1])), max_size=60))
def test_points_and_games_are_kept(games):
    after = play({}, games)
    counted = [game for game in games if game.agent0 != game.agent1]
    assert sum(s.elo for s in after.values()) == pytest.approx(INITIAL * len(after))
    assert sum(s.games for s in after.values()) == 2 * len(counted)
    assert all(s.games == s.wins + s.losses + s.draws for s in after.values())
    assert sum(s.wins for s in after.values()) == sum(s.losses for s in after.values())
    assert play(play({}, games[:10]), games[10:]) == after, "a stored state must be continued to the same bits"


@given(st.floats(0, 2000), st.floats(0, 2000))
def test_the_two_expectations_add_up_and_a_game_moves_at_most_k(mine, other):
    assert expected_score(mine, other) + expected_score(other, mine) == pytest.approx(1.0)
    moved = play({1: Standing(mine), 2: Standing(other)}, [GameResult(1, 2, 1)])[1].elo - mine
    assert -1e-9 <= moved <= K + 1e-9
