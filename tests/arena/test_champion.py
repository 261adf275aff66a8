"""The champion moves on a tournament verdict only, once, and against the champion of that moment."""

import sqlite3
import threading
from collections.abc import Callable

import pyarrow.parquet as parquet
import pytest

from tcg_core.arena import champion as module
from tcg_core.arena import tournament as tournaments
from tcg_core.arena.champion import champion_checks, crown
from tcg_core.arena.results import MatchResult, Outcome
from tcg_core.arena.schedule import Contestant, make_schedule, store_schedule
from tcg_core.arena.worker import SCHEDULE
from tcg_core.base.atomic import publishing
from tcg_core.base.checks import Check
from tcg_core.base.home import Home
from tcg_core.base.manifest import Input, Manifest, hash_files, read_manifest, write_manifest
from tcg_core.catalog import registry
from tcg_core.catalog.connection import catalog
from tcg_core.catalog.errors import ChecksNotPassed
from tcg_core.catalog.promotions import ChampionMoved, challenged, champion, history, record
from tcg_core.ops.rebuild import rebuild

DECK = tuple(range(60))
PASSED = (Check("plays", True, "fine"),)


@pytest.fixture
def home(tmp_path) -> Home:
    return Home(tmp_path / "data").prepare()


def publish(home: Home, kind: str, id: str, root, inputs: tuple[Input, ...] = (), fill: Callable | None = None, **facts) -> Input:
    with publishing(root / id) as temporary:
        (temporary / "content").write_text(id)
        if fill:
            fill(temporary)
        write_manifest(temporary, Manifest(kind, id, inputs, {}, "code", {}, hash_files(temporary), facts))
    manifest = read_manifest(root / id)
    registry.register(home, manifest, root / id)
    registry.record_checks(home, kind, id, PASSED)
    return manifest.as_input()


def submission(home: Home, letter: str, accuracy: float = 0.5) -> Input:
    """A submission whose checkpoint reached this validation accuracy."""
    checkpoint = publish(home, "checkpoint", f"{letter}ccc", home.checkpoints, val_acc=accuracy)
    return publish(home, "submission", letter * 16, home.submissions, (checkpoint,))


def tournament(home: Home, id: str, candidate: Input, wins: dict[str, float], games: int = 400, spoil: Callable = lambda g: g):
    """A finished tournament: for each opponent the share of games won, evenly spread over the pairs."""
    players = tuple(
        Contestant(
            name[:8] if len(name) == 16 else name, "submission" if len(name) == 16 else "baseline", name, "0" * 64, "s", DECK
        )
        for name in (candidate.id, *wins)
    )
    schedule = make_schedule("v1", players, games, 13, id)
    found = {}
    counters = dict.fromkeys(wins, 0.0)
    for planned in schedule.games:
        name = list(wins)[schedule.opponent_of(planned) - 1]
        counters[name] += wins[name]
        won: Outcome = "loss"
        if counters[name] >= 1.0 - 1e-9:
            counters[name] -= 1.0
            won = "win"
        found[planned.index] = spoil(
            MatchResult(
                planned.index, planned.pair, schedule.players[schedule.opponent_of(planned)].name,
                schedule.candidate_seat(planned), won, "prizes", "", "", 9, (30, 30), (0.1, 0.1), (0.01, 0.01), (0, 0), 0.2,
            )
        )  # fmt: skip

    def fill(directory) -> None:
        store_schedule(directory / SCHEDULE, schedule)
        parquet.write_table(tournaments._table(schedule, found), directory / "games.parquet")

    publish(home, "tournament", id, home.tournaments, (candidate,), fill)
    return id


def test_the_first_champion_is_the_heuristic(home):
    assert champion(home) == "heuristic"
    assert all(check.passed for check in champion_checks(home))


def test_a_stronger_submission_is_promoted_and_the_record_says_why(home):
    strong = submission(home, "a")
    played = tournament(home, "t1", strong, {"heuristic": 0.8, "random": 0.95})
    built = crown(home, played)
    assert built.id == champion(home) == strong.id and built.passed and not built.reused
    [decided] = history(home)
    assert (decided.verdict, decided.incumbent, decided.tournament) == ("promoted", "heuristic", "t1")
    assert "LLR" in decided.reason and "no significant loss" in decided.reason


def test_higher_accuracy_but_lower_win_rate_is_not_promoted(home):
    """The field's case: two checkpoints, the more accurate one plays worse."""
    plays_well, accurate = submission(home, "a", accuracy=0.61), submission(home, "b", accuracy=0.69)
    crown(home, tournament(home, "t1", plays_well, {"heuristic": 0.75}))
    built = crown(home, tournament(home, "t2", accurate, {plays_well.id: 0.4, "heuristic": 0.7}))
    assert champion(home) == plays_well.id == built.id
    assert history(home)[-1].verdict == "rejected" and "not stronger" in history(home)[-1].reason


def test_too_few_games_decide_nothing(home):
    crown(home, tournament(home, "t1", submission(home, "a"), {"heuristic": 0.6}, games=20))
    assert champion(home) == "heuristic"
    assert history(home)[-1].verdict == "inconclusive" and "more games are needed" in history(home)[-1].reason


def test_the_reigning_champion_must_have_played(home):
    crown(home, tournament(home, "t1", submission(home, "a"), {"random": 0.99}))
    assert champion(home) == "heuristic" and "did not play" in history(home)[-1].reason


def test_a_significant_loss_against_the_panel_holds_back(home):
    crown(home, tournament(home, "t1", submission(home, "a"), {"heuristic": 0.8, "first": 0.3}))
    assert champion(home) == "heuristic"
    assert history(home)[-1].verdict == "rejected" and "first (score 30.0%" in history(home)[-1].reason


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"fallbacks": (1, 0)}, "no clean games"),
        ({"offender": "candidate", "reason": "timeout", "outcome": "loss"}, "no clean games"),
        ({"offender": "opponent", "reason": "crash"}, "are clean; 95% are needed"),
    ],
)
def test_games_that_are_not_clean_decide_nothing(home, changes, said):
    from dataclasses import replace

    crown(
        home,
        tournament(
            home, "t1", submission(home, "a"), {"heuristic": 0.8}, spoil=lambda g: replace(g, **changes) if g.pair < 30 else g
        ),
    )
    assert champion(home) == "heuristic" and said in history(home)[-1].reason


def test_deciding_again_changes_nothing(home):
    strong = submission(home, "a")
    played = tournament(home, "t1", strong, {"heuristic": 0.8})
    crown(home, played)
    again = crown(home, played)
    assert again.reused and again.id == strong.id and len(history(home)) == 1
    assert "reigns already" in again.facts["reason"]


def test_of_two_concurrent_promotions_one_wins(home, monkeypatch):
    first, second = submission(home, "a"), submission(home, "b")
    played = [tournament(home, "t1", first, {"heuristic": 0.8}), tournament(home, "t2", second, {"heuristic": 0.9})]
    together, entered = threading.Barrier(2), threading.local()

    def meeting(*arguments, **keywords):
        if not getattr(entered, "once", False):
            entered.once = True
            together.wait(timeout=20)
        return record(*arguments, **keywords)

    monkeypatch.setattr(module, "record", meeting)
    threads = [threading.Thread(target=crown, args=(home, name)) for name in played]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    verdicts = [item.verdict for item in history(home)]
    assert verdicts == ["promoted", "inconclusive"]
    assert champion(home) == history(home)[0].challenger
    assert "did not play" in history(home)[1].reason


def test_the_record_refuses_a_stale_incumbent_and_any_change(home):
    crown(home, tournament(home, "t1", submission(home, "a"), {"heuristic": 0.8}))
    with pytest.raises(ChampionMoved, match="the champion is aaaa"):
        record(home, "b" * 16, "heuristic", "t2", "promoted", "late")
    with catalog(home) as connection:
        for statement in (
            "UPDATE promotions SET verdict = 'rejected'",
            "DELETE FROM promotions",
            "INSERT INTO promotions (challenger, incumbent, tournament, verdict, reason, at)"
            " VALUES ('b', 'heuristic', 't2', 'promoted', 'late', 'now')",
        ):
            with pytest.raises(sqlite3.IntegrityError, match=r"append-only|reigning"):
                connection.execute(statement)


def test_a_tournament_whose_checks_failed_is_refused(home):
    played = tournament(home, "t1", submission(home, "a"), {"heuristic": 0.8})
    registry.record_checks(home, "tournament", played, [Check("clean", False, "3 fallbacks")])
    with pytest.raises(ChecksNotPassed, match="clean"):
        crown(home, played)
    assert history(home) == ()


def test_the_check_fires_when_the_tournament_no_longer_says_so(home):
    strong = submission(home, "a")
    record(home, strong.id, "heuristic", tournament(home, "t1", strong, {"heuristic": 0.5}), "promoted", "by hand")
    [verdict, _] = champion_checks(home)
    assert not verdict.passed and verdict.severity == "ERROR" and "games say" in verdict.message


def test_a_new_catalog_knows_the_champion_again(home):
    strong = submission(home, "a")
    crown(home, tournament(home, "t1", strong, {"heuristic": 0.8}))
    before = history(home)
    for file in home.root.glob("catalog.sqlite*"):
        file.unlink()
    assert champion(home) == "heuristic"
    rebuild(home)
    assert history(home) == before and all(check.passed for check in champion_checks(home))


def test_the_chain_s_tournament_meets_the_champion(home):
    assert challenged(home, "x", ("random",)) == ("random", "heuristic")
    assert challenged(home, "x", ("random", "heuristic")) == ("random", "heuristic")
    strong = submission(home, "a")
    crown(home, tournament(home, "t1", strong, {"heuristic": 0.8}))
    assert challenged(home, "x", ("random",)) == ("random", strong.id)
    assert challenged(home, strong.id, ("random",)) == ("random",)
