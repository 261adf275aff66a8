"""Matches of several games: decided as the environment decides them, counted as one observation, refused on engine v1."""

import textwrap
from collections import Counter
from dataclasses import replace

import pyarrow.parquet as parquet
import pytest

from tcg_core.arena.champion import summaries_of
from tcg_core.arena.match import Match
from tcg_core.arena.opponents import resolve
from tcg_core.arena.report import report
from tcg_core.arena.results import MatchResult, Round, game_of
from tcg_core.arena.schedule import load_schedule, make_schedule
from tcg_core.arena.seats import Reply
from tcg_core.arena.summary import summarise
from tcg_core.arena.tournament import tournament
from tcg_core.arena.verdict import judge
from tcg_core.arena.verify import tournament_checks
from tcg_core.arena.worker import SCHEDULE
from tcg_core.base.errors import ConfigError
from tcg_core.engine.agents import make_agent
from tcg_core.engine.decks import sample_deck
from tcg_core.engine.score import winner

BASE = MatchResult(0, 0, "x", 0, "win", "prizes", "", "", 9, (5, 6), (0.1, 0.2), (0.05, 0.1), (0, 0), 0.5)


def match(index: int, outcome: str, games: str) -> MatchResult:
    """A match of games such as ``WLW``, seen from the candidate."""
    names = {"W": "win", "L": "loss", "D": "draw"}
    rounds = tuple(Round(names[letter], "prizes", 9, (5, 6)) for letter in games)
    return replace(BASE, index=index, pair=index // 2, candidate_seat=index % 2, outcome=outcome, rounds=rounds)


@pytest.mark.parametrize(
    ("tally", "expected"),
    [((1, 0, 0), None), ((1, 1, 0), None), ((2, 0, 0), 0), ((1, 2, 0), 1), ((1, 0, 1), None), ((1, 0, 2), 0), ((0, 0, 3), 2),
     ((1, 1, 1), 2), ((0, 0, 2), None), ((0, 1, 2), 1)],
)  # fmt: skip
def test_a_match_goes_on_until_a_seat_cannot_be_caught(tally, expected):
    assert winner(tally, 3) == expected


def test_seat_1_chooses_in_the_second_game_and_the_score_is_shown(shared_home):
    players = resolve(shared_home, "heuristic", "v2"), resolve(shared_home, "first", "v2")
    schedule = make_schedule("v2", players, 2, 13, "1", best_of=3)
    played = Match(schedule, schedule.games[0])
    agents = [make_agent(name, "v2", sample_deck(), seat) for seat, name in enumerate(("heuristic", "first"))]
    choosing, budgets, scores = {}, {}, []
    while played.result is None:
        seen = played.question()
        current = seen.observation["current"]
        if current is not None:
            number = current["round"]
            choosing.setdefault(number, played.seat)
            budgets.setdefault((number, played.seat), seen.seconds)
            score = (number, *(player["win"] for player in current["players"]), current["draw"])
            scores += [score] if score not in scores else []
        played.answer(Reply(agents[played.seat](dict(seen.observation)), 1.0))
    assert choosing == {number: (number - 1) % 2 for number in choosing} and len(choosing) >= 2
    assert all(round - 1 == won0 + won1 + drawn for round, won0, won1, drawn in scores)
    carried = [599.0 if number > 1 and budget != 600.0 else 600.0 for (number, _), budget in budgets.items()]
    assert list(budgets.values()) == carried, "only the answer that ended the game before is taken off a new clock"
    assert Counter(carried)[599.0] == len(choosing) - 1
    assert sum(played.result.decisions) == sum(sum(one.decisions) for one in played.result.rounds)


def test_a_decision_cap_and_a_clock_are_of_a_game_and_end_the_match(play):
    found = play("heuristic", "random", games=10, generation="v2", best_of=3, decision_cap=60)
    assert all(len(one.decisions) == 2 and sum(one.decisions) <= 60 for game in found for one in game.rounds)
    assert any(sum(game.decisions) > 60 for game in found), "the cap would otherwise be of the match"
    for game in (game for game in found if game.reason == "cap"):
        assert (game.outcome, game.rounds[-1].outcome, game.clean) == ("none", "none", False)


def test_a_fault_in_a_later_game_loses_the_whole_match(play, tmp_path):
    (tmp_path / "late").mkdir()
    (tmp_path / "late" / "main.py").write_text(
        textwrap.dedent(f"""
        DECK = {list(sample_deck())}
        def agent(obs):
            if obs["select"] is None:
                return DECK
            if obs["current"]["round"] == 2:
                raise ValueError("lost it")
            return list(range(obs["select"]["minCount"]))
        """)
    )
    found = play("heuristic", str(tmp_path / "late"), games=4, generation="v2", best_of=3)
    assert {(game.outcome, game.reason, game.offender, len(game.rounds)) for game in found} == {("win", "error", "opponent", 2)}
    assert not any(game.clean for game in found) and all(game.rounds[0].reason != "error" for game in found)


def test_v1_is_refused_by_name(shared_home, submission):
    with pytest.raises(ConfigError, match="best_of 3: engine v1 always plays best of 1"):
        tournament(shared_home, submission.id, games=2, best_of=3)


def test_the_match_is_the_unit_of_every_statistic():
    played = [match(0, "win", "WLW"), match(1, "win", "WW"), match(2, "loss", "LWL"), match(3, "draw", "WLD")]
    found = summarise("x", [*played, replace(match(4, "win", "WW"), fallbacks=(0, 1))], 3)
    assert (found.matches, found.games, found.clean, found.wins, found.draws, found.losses) == (5, 13, 4, 2, 1, 1)
    assert found.score.value == 2.5 / 4 and sum(found.pairs) == 2 and found.pairs == (0, 1, 0, 0, 1)
    assert found.seats == ((1, 0, 1), (1, 1, 0)), "seats are balanced by match"
    assert found.games_wdl == (6, 1, 4) and found.match_scores == {"2-1": 1, "2-0": 1, "1-2": 1, "1-1-1": 1}
    facts = found.facts()
    assert (facts["matches"], facts["games"], facts["games_won_drawn_lost"]) == (5, 13, [6, 1, 4])
    narrow = summarise("x", [replace(match(i, o, "W"), rounds=()) for i, o in enumerate(["win"] * 6 + ["draw"] + ["loss"] * 4)])
    assert found.score.high - found.score.low > narrow.score.high - narrow.score.low, "11 games would claim more than 4 matches"


def test_a_verdict_counts_matches():
    won = [match(index, "win", "WLW") for index in range(200)]
    said = judge("x", "x", {"x": summarise("x", won, 3)})
    assert said.verdict == "promoted" and "over 200 matches with the champion" in said.reason
    few = judge("x", "x", {"x": summarise("x", won[:6], 3)})
    assert few.verdict == "inconclusive" and "more matches are needed" in few.reason


@pytest.fixture(scope="module")
def finished(shared_home, submission_of_both):
    return tournament(shared_home, submission_of_both.id, ("first",), games=4, workers=1, generation="v2", best_of=3)


def test_a_tournament_of_matches_is_published_read_back_and_reported(finished, shared_home, submission_of_both):
    assert finished.passed, [check.message for check in finished.checks]
    rows = parquet.read_table(finished.path / "games.parquet").to_pylist()
    schedule = load_schedule(finished.path / SCHEDULE)
    assert len(rows) == finished.facts["matches"] == 4 and schedule.best_of == finished.facts["best_of"] == 3
    assert finished.facts["games"] == sum(len(row["rounds"]) for row in rows) >= 8
    assert [row["candidate_seat"] for row in rows].count(0) == 2
    assert summaries_of(schedule, finished.path)["first"].facts() == finished.facts["results"]["first"]
    page = (finished.path / "report.html").read_text()
    for said in ("4 matches of engine v2, best of 3", "Matches and games", "A match is one observation", "seat 1 in the"):
        assert said in page
    assert finished.id != tournament(shared_home, submission_of_both.id, ("first",), games=4, generation="v2").id


def test_a_result_that_its_games_do_not_give_fails_the_check(finished):
    schedule = load_schedule(finished.path / SCHEDULE)
    rows = parquet.read_table(finished.path / "games.parquet").to_pylist()
    won = {"outcome": "win", "reason": "prizes", "turns": 3, "candidate_decisions": 4, "opponent_decisions": 4}
    lost = won | {"outcome": "loss"}

    def said(rounds: list[dict], outcome: str) -> str:
        changed = [rows[0] | {"rounds": rounds, "outcome": outcome}, *rows[1:]]
        return "; ".join(check.message for check in tournament_checks(schedule, changed) if not check.passed)

    assert said([won, lost, won], "win") == said([lost, lost], "loss") == ""
    for rounds, outcome in (([won, won], "loss"), ([won], "win"), ([won, won, lost], "win"), ([won, lost, won, won], "win")):
        assert said(rounds, outcome) == "1 matches whose result does not follow from their games, the first 0"
    assert said([won | {"outcome": "none"}, won, won], "win")


def test_a_table_without_games_is_read_as_best_of_one():
    row = {"index": 3, "pair": 1, "opponent": "x", "candidate_seat": 1, "outcome": "win", "reason": "prizes", "offender": "",
           "detail": "", "turns": 9, "wall_seconds": 0.5}  # fmt: skip
    row |= {f"{who}_{name}": 0 for who in ("candidate", "opponent") for name in ("decisions", "seconds", "slowest", "fallbacks")}
    assert game_of(row).each == (Round("win", "prizes", 9, (0, 0)),)


def test_best_of_one_is_reported_as_games():
    from tcg_core.arena.schedule import Contestant

    schedule = make_schedule("v1", tuple(Contestant(n, "baseline", n, "0" * 64, "sample", (1,)) for n in ("us", "x")), 2, 1, "1")
    page = report("id", schedule, [summarise("x", [replace(BASE, index=i, candidate_seat=i) for i in (0, 1)])], {}, {})
    assert "best of one" in page and "Matches and games" not in page and "matches" not in page


def test_the_command_line_passes_it_on(shared_home, submission, monkeypatch, capsys):
    from tcg_assets.cli import main as cli

    monkeypatch.setenv("TCG_DATA", str(shared_home.root))
    monkeypatch.setattr("sys.argv", ["tcg", "tournament", submission.id, "--best-of", "3", "--games", "2"])
    with pytest.raises(SystemExit) as end:
        cli.main()
    assert end.value.code == 2 and "best_of 3: engine v1 always plays best of 1" in capsys.readouterr().err
