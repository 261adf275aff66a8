"""What is counted, and what is shown apart and counts for nothing."""

from dataclasses import replace

from tcg_core.arena.report import report
from tcg_core.arena.results import Game
from tcg_core.arena.schedule import Player, make_schedule
from tcg_core.arena.summary import summarise

GAME = Game(0, 0, "x", 0, "win", "prizes", "", "", 9, (5, 6), (0.1, 0.2), (0.05, 0.1), (0, 0), 0.5)


def games(*outcomes: str) -> list[Game]:
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
    assert "score" not in found.facts()


def test_report_states_each_verdict_and_survives_a_pairing_without_evidence():
    spoiled = [replace(game, offender="opponent", reason="crash") for game in games("win", "win")]
    schedule = make_schedule(
        "v1", tuple(Player(name, "baseline", name, "0" * 64, "sample", (1,)) for name in ("us", "x", "y")), 2, 1, "1"
    )
    page = report("id", schedule, [summarise("x", games(*["win"] * 80)), summarise("y", spoiled)], {}, {"engine": "<v1>"})
    assert "stronger than x" in page and "no game counts" in page and "opponent crash 2" in page
    assert ">stronger (" in page and "&lt;v1&gt;" in page
    even = report("id", schedule, [summarise("x", games(*["win", "loss"] * 10))], {}, {})
    assert "no difference is shown" in even and "undecided" in even
    lost = report("id", schedule, [summarise("x", games(*["loss"] * 80))], {}, {})
    assert "weaker than x" in lost and "not stronger" in lost and "−∞" in lost
