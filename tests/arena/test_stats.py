"""Published vectors, closed forms and simulations of every statistic."""

import itertools
import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tcg_core.arena.stats.bradley_terry import Result, ratings
from tcg_core.arena.stats.power import games_needed, minimal_detectable_score
from tcg_core.arena.stats.score import (
    NORMAL,
    StatisticsError,
    elo_of_score,
    likelihood_of_superiority,
    logistic_elo,
    normalised_elo,
    pentanomial,
    score,
    score_of_elo,
    wilson,
)
from tcg_core.arena.stats.sprt import bounds, log_likelihood_ratio, sprt


@pytest.mark.parametrize(
    ("counts", "elo0", "elo1", "llr", "digits"),
    [
        ([365, 16618, 36229, 16974, 390], 0, 2, 2.25037, 5),
        ([93, 18711, 58877, 18739, 100], -1.75, 0.25, 2.9421, 4),
        ([10, 20, 40, 25, 15], 0, 5, 0.24312, 5),
        ([60, 50, 90], 0, 5, 0.47785, 5),
    ],
)
def test_llr_of_published_vectors(counts, elo0, elo1, llr, digits):
    assert round(log_likelihood_ratio(counts, elo0, elo1), digits) == llr


@pytest.mark.parametrize(("counts", "elo", "half"), [([10, 20, 40, 25, 15], 23.7256, 37.3261), ([60, 50, 90], 52.5116, 42.2361)])
def test_logistic_elo_of_published_vectors(counts, elo, half):
    interval = logistic_elo(counts)
    assert round(interval.value, 4) == elo
    assert round(interval.half_width, 4) == half


def test_los_of_published_vector():
    assert round(likelihood_of_superiority([10, 20, 40, 25, 15]), 4) == 0.8952


@pytest.mark.parametrize("model", ["normalised", "logistic"])
@pytest.mark.parametrize("counts", [[0, 0, 0, 0, 10], [10, 0, 0, 0, 0], [0, 0, 7, 0, 0], [3, 0, 0], [0, 0, 3]])
def test_zero_counts_stay_finite(counts, model):
    assert math.isfinite(log_likelihood_ratio(counts, 0, 5, model))


def test_llr_sign_follows_the_result():
    assert log_likelihood_ratio([0, 0, 0, 0, 10], 0, 5) > 0 > log_likelihood_ratio([10, 0, 0, 0, 0], 0, 5)


@given(st.lists(st.integers(0, 500), min_size=5, max_size=5).filter(any), st.sampled_from(["normalised", "logistic"]))
def test_llr_mirrors(counts, model):
    """Seen from the other player, elo1 against elo0 is -elo0 against -elo1: the LLR changes its sign."""
    there = log_likelihood_ratio(counts, -2, 3, model)
    back = log_likelihood_ratio(counts[::-1], -3, 2, model)
    assert there == pytest.approx(-back, abs=1e-6 * max(1.0, sum(counts)))


def test_sprt_error_rates_by_simulation():
    """Under elo0 the test accepts elo1 in about alpha of the runs, and the reverse: 150 runs, 3.5 standard errors."""
    rng, wrong = random.Random(5), {0: 0, 60: 0}
    for truth in wrong:
        for _ in range(150):
            counts = [0, 0, 0]
            while (state := sprt(counts, 0, 60, 0.1, 0.1, "logistic")).verdict == "continue":
                for _ in range(20):
                    counts[2 if rng.random() < score_of_elo(truth) else 0] += 1
            wrong[truth] += state.verdict == ("accept" if truth == 0 else "reject")
    assert all(0 < share / 150 < 0.1 + 3.5 * math.sqrt(0.09 / 150) for share in wrong.values())


def test_sprt_verdicts_and_bounds():
    assert bounds(0.05, 0.05) == pytest.approx((-math.log(19), math.log(19)))
    assert sprt([0, 0, 10, 200, 300], 0, 5).verdict == "accept"
    assert sprt([300, 200, 10, 0, 0], 0, 5).verdict == "reject"
    assert sprt([0, 0, 0], 0, 5).llr == 0.0
    with pytest.raises(StatisticsError, match="below"):
        sprt([1, 1, 1], 5, 0)


def test_wilson_closed_form():
    interval = wilson(8, 0, 2)
    assert (round(interval.low, 4), round(interval.high, 4)) == (0.4902, 0.9433)  # the textbook example 8 of 10
    assert wilson(0, 0, 10).low == 0.0 and wilson(10, 0, 0).high == 1.0
    assert wilson(4, 2, 4).value == score(4, 2, 4) == 0.5


def test_wilson_covers_by_simulation():
    """The 95 % interval covers the true score in 93 to 97.5 % of 2,000 matches of 100 games."""
    rng, covered = random.Random(3), 0
    for _ in range(2000):
        wins = sum(rng.random() < 0.7 for _ in range(100))
        covered += wilson(wins, 0, 100 - wins).low <= 0.7 <= wilson(wins, 0, 100 - wins).high
    assert 0.93 < covered / 2000 < 0.975


@given(st.floats(-800, 800))
def test_elo_and_score_invert(elo):
    assert elo_of_score(score_of_elo(elo)) == pytest.approx(elo, abs=1e-6)


def test_pairs_are_less_noisy_than_games_when_seats_decide():
    """If the first seat always wins, pairs never vary: the pentanomial knows, the trinomial does not."""
    assert pentanomial([(1.0, 0.0)] * 50) == [0, 0, 50, 0, 0]
    assert logistic_elo([0, 0, 50, 0, 0]).half_width == 0.0
    assert logistic_elo([50, 0, 50]).half_width > 60
    assert normalised_elo([0, 0, 50, 0, 0]).value == 0.0


def test_normalised_elo_agrees_between_games_and_independent_pairs():
    """Pairs of independent games have twice the variance of one: both countings give the same normalised Elo."""
    chances = [0.2, 0.3, 0.5]
    pairs = [0.0] * 5
    for (i, p), (j, q) in itertools.product(enumerate(chances), repeat=2):
        pairs[i + j] += p * q
    assert normalised_elo(pairs).value == pytest.approx(normalised_elo(chances).value)


def test_bad_counts_are_refused():
    for counts in ([1, 2], [0, 0, 0], [-1, 2, 3], [math.nan, 1, 1]):
        with pytest.raises(StatisticsError):
            logistic_elo(counts)


def test_bradley_terry_of_two_is_the_logistic_elo():
    fitted = ratings([Result("a", "b", 750.0, 1000)], anchor="b", prior=1e-6)
    assert fitted["a"].value == pytest.approx(elo_of_score(0.75), abs=1e-3)
    assert fitted["a"].half_width == pytest.approx(1.96 * 400 / math.log(10) / math.sqrt(1000 * 0.75 * 0.25), rel=1e-3)
    assert fitted["b"].half_width == 0.0


def test_bradley_terry_recovers_a_field_by_simulation():
    rng, truth = random.Random(11), {"a": 0.0, "b": 100.0, "c": -150.0}
    results = []
    for first, second in itertools.combinations(truth, 2):
        won = sum(rng.random() < score_of_elo(truth[first] - truth[second]) for _ in range(4000))
        results.append(Result(first, second, float(won), 4000))
    fitted = ratings(results, anchor="a")
    for name, elo in truth.items():
        assert fitted[name].value == pytest.approx(elo, abs=20)


def test_bradley_terry_stays_finite_and_refuses_nonsense():
    assert math.isfinite(ratings([Result("a", "b", 10.0, 10)])["a"].value)
    for results in ([], [Result("a", "a", 1.0, 2)], [Result("a", "b", 3.0, 2)]):
        with pytest.raises(StatisticsError):
            ratings(results)


def power(games, true_score, alpha=0.05, deviation=0.5):
    """Probability that so many games of a player whose score is ``true_score`` reject 1/2, on either side."""
    shift, z = (true_score - 0.5) * math.sqrt(games) / deviation, NORMAL.inv_cdf(1.0 - alpha / 2.0)
    return NORMAL.cdf(shift - z) + NORMAL.cdf(-shift - z)


def test_power_and_detectable_difference_agree():
    detectable = minimal_detectable_score(400)
    assert power(400, detectable) == pytest.approx(0.8, abs=1e-4)
    assert games_needed(elo_of_score(detectable)) in (400, 401)
    assert power(400, 0.5) == pytest.approx(0.05)
    with pytest.raises(StatisticsError):
        games_needed(0.0)
