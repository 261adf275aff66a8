"""What is counted, and what is shown apart and counts for nothing."""

import re
from dataclasses import replace

from tcg_core.arena.forest import Forest
from tcg_core.arena.report import report, sentences
from tcg_core.arena.results import MatchResult
from tcg_core.arena.schedule import Contestant, make_schedule
from tcg_core.arena.stats.bradley_terry import Result, ratings
from tcg_core.arena.stats.score import Interval
from tcg_core.arena.summary import summarise

GAME = MatchResult(0, 0, "x", 0, "win", "prizes", "", "", 9, (5, 6), (0.1, 0.2), (0.05, 0.1), (0, 0), 0.5)


def games(*outcomes: str) -> list[MatchResult]:
    """Pairs in order, seats alternating."""
    return [replace(GAME, index=i, pair=i // 2, candidate_seat=i % 2, outcome=outcome) for i, outcome in enumerate(outcomes)]


def test_counts_seats_and_pairs():
    found = summarise("x", games("win", "win", "win", "loss", "draw", "loss", "loss", "loss"))
    assert (found.wins, found.draws, found.losses) == (3, 1, 4)
    assert found.seats == ((2, 1, 1), (1, 0, 3))
    assert found.pairs == (1, 1, 1, 0, 1)
    assert found.score is not None and found.score.value == 3.5 / 8


def test_games_that_are_no_evidence_are_shown_apart_with_their_pair():
    spoiled = games("win", "win", "win", "win", "win", "win", "win", "win")
    spoiled[0] = replace(spoiled[0], offender="opponent", reason="crash")
    spoiled[2] = replace(spoiled[2], fallbacks=(1, 0))
    spoiled[4] = replace(spoiled[4], outcome="none", reason="cap")
    found = summarise("x", spoiled)
    assert found.wins == 5 and found.pairs == (0, 0, 0, 0, 1)
    assert found.apart == {"opponent crash": 1, "fallback": 1, "cap": 1}
    facts = found.facts()
    assert (facts["errors"], facts["fallbacks"], facts["opponent_errors"], facts["clean"], facts["games"]) == (0, 1, 1, 5, 8)


def test_our_own_faults_are_counted_by_kind():
    spoiled = games("loss", "loss")
    spoiled[0] = replace(spoiled[0], offender="candidate", reason="timeout")
    spoiled[1] = replace(spoiled[1], offender="candidate", reason="illegal")
    found = summarise("x", spoiled)
    assert found.score is None and found.clean == 0
    assert (found.facts()["errors"], found.facts()["timeouts"]) == (1, 1)
    assert found.facts()["score"] is None


def test_report_states_each_verdict_and_survives_a_pairing_without_evidence():
    spoiled = [replace(game, offender="opponent", reason="crash") for game in games("win", "win")]
    schedule = make_schedule(
        "v1", tuple(Contestant(name, "baseline", name, "0" * 64, "sample", (1,)) for name in ("us", "x", "y")), 2, 1, "1"
    )
    page = report("id", schedule, [summarise("x", games(*["win"] * 80)), summarise("y", spoiled)], {}, {"engine": "<v1>"})
    assert "is stronger than x" in page and "no game counts" in page and "opponent crash 2" in page
    assert ">stronger (" in page and "&lt;v1&gt;" in page
    even = report("id", schedule, [summarise("x", games(*["win", "loss"] * 10))], {}, {})
    assert "no difference is shown" in even and "undecided" in even
    lost = report("id", schedule, [summarise("x", games(*["loss"] * 80))], {}, {})
    assert "weaker than x" in lost and "not stronger" in lost and "−∞" in lost


def test_every_part_of_the_report_is_there():
    schedule = make_schedule(
        "v1",
        tuple(
            Contestant(name, "baseline", name, "0" * 64, deck, (1,))
            for name, deck in (("us", "mine"), ("x", "red"), ("y", "red"))
        ),
        2,
        1,
        "1",
    )
    found = [summarise(name, games("win", "win", "loss", "win")) for name in ("x", "y")]
    rated = ratings([Result("us", name, 3, 4) for name in ("x", "y")])
    page = report("id", schedule, found, rated, {"engine": "v1"})
    titles = re.findall("<h2>(.*?)</h2>", page)
    assert titles == [
        "What this shows", "Scores", "Ratings of the field", "Cross table", "Seats", "Decks", "How games end", "Length of games",
        "Time of decisions", "Errors and fallbacks", "Players", "Identity",
    ]  # fmt: skip
    assert page.count("<svg") == 3
    assert "6 / 0 / 2" in page, "both opponents play the deck red: their games are one row"
    assert page.count("75.0%") >= 4 and "25.0%" in page, "the cross table has both sides of a pairing"


def test_a_pairing_of_mostly_spoiled_games_concludes_nothing():
    mostly = [replace(g, offender="opponent", reason="crash") if g.index < 60 else g for g in games(*["win"] * 80)]
    [said, _] = sentences("us", [summarise("x", mostly)])
    assert said.startswith("Against x only 20 of 80 games count") and "stronger" not in said


def test_a_long_name_stays_inside_the_plot():
    rows = [("a name that is much longer than the space left of the axis", Interval(0.5, 0.4, 0.6))]
    page = Forest.of_scores(rows, "scores").svg()
    assert "a name that is much lo…" in page
