"""Games end with the right result and reason, and a hostile opponent loses its game while the others go on."""

import json
import textwrap
from pathlib import Path

import psutil
import pytest

from tcg_core.arena import seats
from tcg_core.arena.errors import OpponentError
from tcg_core.arena.match import Match
from tcg_core.arena.opponents import hash_of, resolve, unpacked
from tcg_core.arena.play import play_one, spoiled
from tcg_core.arena.schedule import make_schedule
from tcg_core.arena.seats import Question, Reply, open_seat
from tcg_core.base.digest import sha256_file
from tcg_core.base.errors import TcgError
from tcg_core.engine.decks import sample_deck
from tcg_core.submission.host.process import Limits

GOOD = "def agent(obs):\n    return DECK if obs.select is None else list(range(obs.select.minCount))\n"


@pytest.fixture
def folder(tmp_path):
    def write(name: str, body: str) -> str:
        path = tmp_path / name
        path.mkdir(exist_ok=True)
        (path / "main.py").write_text(f"DECK = {list(sample_deck())}\n{textwrap.dedent(body)}")
        return str(path)

    return write


def later(body: str) -> str:
    """An agent that answers the deck request and the first decisions, then does ``body``."""
    return f"""
COUNT = 0
def agent(obs):
    global COUNT
    if obs["select"] is None:
        return DECK
    COUNT += 1
    if COUNT > 2:
        {body}
    return list(range(obs["select"]["minCount"]))
"""


def test_baselines_play_many_games_at_once_and_the_heuristic_wins(play):
    found = play("heuristic", "random", games=40)
    assert len(found) == 40 and all(game.clean for game in found)
    assert sum(game.points for game in found) > 30
    assert {game.reason for game in found} <= {"prizes", "no_pokemon", "deck_out", "effect"}
    assert all(min(game.decisions) > 0 and game.turns > 0 for game in found)


def test_both_generations(play):
    assert all(game.clean for game in play("heuristic", "first", games=4, generation="v2"))


def test_a_submission_plays_from_its_archive(play, submission):
    found = play(submission.id, "random", games=8)
    assert all(game.clean for game in found) and all(game.fallbacks == (0, 0) for game in found)
    assert sum(game.decisions[0] for game in found) > 20


def test_a_submission_meets_itself_packed_twice(play, submission, tmp_path):
    copy = tmp_path / "copy.tar.gz"
    copy.write_bytes((submission.path / "submission.tar.gz").read_bytes())
    with pytest.raises(Exception, match="two players"):
        play(submission.id, str(copy))


def test_a_good_foreign_agent_plays_clean_games(play, folder):
    assert all(game.clean for game in play("random", folder("good", GOOD), games=2))


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("raise ValueError('lost it')", "error"),
        ("return [999]", "illegal"),
        ("return [2**40 + 999]", "illegal"),
        ("return [0.0]", "illegal"),
        ("return 'garbage'", "garbage"),
        ("return {'picks': []}", "garbage"),
        ("import os; os._exit(0)", "crash"),
        ("import os; os.kill(os.getpid(), 11)", "crash"),
        ("import time; time.sleep(100)", "timeout"),
        ("while True: pass", "timeout"),
    ],
)
def test_a_hostile_opponent_loses_with_the_right_reason(play, folder, body, reason):
    found = play("random", folder("hostile", later(body)), games=2, seconds_budget=1.5)
    spoiled = [game for game in found if game.offender]
    assert {(game.outcome, game.reason, game.offender) for game in spoiled} <= {("win", reason, "opponent")}
    assert spoiled and not any(game.clean for game in spoiled)


def test_an_opponent_that_eats_memory_loses(play, folder, monkeypatch):
    monkeypatch.setattr(seats, "FOREIGN_LIMITS", Limits(memory=256 << 20))
    found = play("random", folder("hungry", later("held = [bytearray(1 << 24) for _ in range(200)]")), games=2)
    spoiled = [game for game in found if game.offender]
    assert spoiled and {(game.outcome, game.offender) for game in spoiled} == {("win", "opponent")}
    assert {game.reason for game in spoiled} == {"memory"}


def test_an_opponent_that_prints_megabytes_is_heard_and_in_the_end_loses(play, folder, monkeypatch):
    assert all(game.clean for game in play("random", folder("chatty", later("print('x' * 100_000)")), games=2))
    monkeypatch.setattr(seats, "FOREIGN_LIMITS", Limits(output=8 << 20))
    found = play("random", folder("loud", later("print('x' * 5_000_000)")), games=2)
    spoiled = [game for game in found if game.offender]
    assert spoiled and {(game.outcome, game.reason, game.offender) for game in spoiled} == {("win", "output", "opponent")}


def test_an_agent_that_fails_to_load_in_a_game_loses_it(play, folder):
    spec = folder("moody", "import os\nif os.path.exists('flag'): raise OSError('moody')\n" + GOOD)
    players = ("random", spec)
    assert all(game.clean for game in play(*players))
    Path(spec, "flag").touch()
    with pytest.raises(OpponentError, match="load: OSError: moody"):
        play(*players)


def test_nothing_is_left_behind(play, folder):
    before = {child.pid for child in psutil.Process().children(recursive=True)}
    play("random", folder("spawner", later("import subprocess; subprocess.Popen(['sleep', '300'])")), games=2)
    living = [child for child in psutil.Process().children(recursive=True) if child.status() != psutil.STATUS_ZOMBIE]
    assert not [child for child in living if child.pid not in before]


def test_another_deck_than_scheduled_is_a_fault(shared_home, folder, tmp_path):
    spec = folder("good", GOOD)
    players = resolve(shared_home, "random", "v1"), resolve(shared_home, spec, "v1")
    match = Match(make_schedule("v1", players, 2, 1, "1"), make_schedule("v1", players, 2, 1, "1").games[0])
    match.answer(Reply(list(sample_deck()), 0.0))
    match.answer(Reply(list(reversed(sample_deck())), 0.0))
    assert match.result is not None and (match.result.outcome, match.result.reason) == ("win", "deck")


@pytest.mark.parametrize(
    ("signal", "outcome", "reason", "offender"),
    [(9, "none", "killed", "engine"), (15, "none", "killed", "engine"), (11, "loss", "crash", "candidate")],
)
def test_a_candidate_ended_by_somebody_is_not_to_blame(shared_home, folder, signal, outcome, reason, offender):
    players = resolve(shared_home, "random", "v1"), resolve(shared_home, folder("good", GOOD), "v1")
    schedule = make_schedule("v1", players, 2, 1, "1")
    match = Match(schedule, next(game for game in schedule.games if schedule.candidate_seat(game) == 0))
    match.answer(Reply(None, 0.0, "crash", "its process ended", signal))
    assert match.result is not None
    assert (match.result.outcome, match.result.reason, match.result.offender) == (outcome, reason, offender)


def test_each_game_of_a_foreign_agent_has_fresh_files_and_memory(play, folder):
    body = """
        import os
        SEEN = os.path.exists("left")
        def agent(obs):
            if obs["select"] is None:
                return DECK if not SEEN else []
            open("left", "w").close()
            with open("main.py", "a") as file:
                file.write("raise OSError('rewritten')")
            return list(range(obs["select"]["minCount"]))
        """
    assert all(game.clean for game in play("random", folder("rewrites", body), games=4))


def test_a_copy_that_differs_is_the_opponent_s_fault(shared_home, folder, tmp_path):
    player = resolve(shared_home, folder("good", GOOD), "v1")
    seat = open_seat(shared_home, player, "v1", tmp_path / "scratch")
    (tmp_path / "scratch" / player.sha256[:16] / "main.py").write_text("raise OSError")
    assert seat.ask([Question("0", {}, 1.0)])[0].fault == "files"
    seat.close()


def test_a_stranger_s_archive_is_no_submission_of_ours(shared_home, submission, tmp_path):
    with unpacked(submission.path / "submission.tar.gz") as source:
        manifest = json.loads((source / "manifest.json").read_text())
        (tmp_path / "fake").mkdir()
        for file in ("main.py", "deck.csv"):
            (tmp_path / "fake" / file).write_bytes((source / file).read_bytes())
    (tmp_path / "fake" / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(OpponentError, match="is not as the submission's manifest records it"):
        resolve(shared_home, str(tmp_path / "fake"), "v1")
    manifest["files"] = {name: sha for name, sha in manifest["files"].items() if name in ("main.py", "deck.csv")}
    (tmp_path / "fake" / "main.py").write_text(f"DECK = {list(sample_deck())}\n{GOOD}")
    manifest["files"]["main.py"] = sha256_file(tmp_path / "fake" / "main.py")
    (tmp_path / "fake" / "manifest.json").write_text(json.dumps(manifest))
    found = resolve(shared_home, str(tmp_path / "fake"), "v1")
    assert (found.kind, found.name) == ("foreign", "fake")


def test_a_flipped_byte_in_an_archive_is_refused(submission, shared_home, tmp_path):
    archive = submission.path / "submission.tar.gz"
    sound = archive.read_bytes()
    assert resolve(shared_home, submission.id, "v1").kind == "submission"
    try:
        archive.write_bytes(sound[:2000] + bytes([sound[2000] ^ 1]) + sound[2001:])
        with pytest.raises(TcgError, match=r"submission\.tar\.gz"):
            play_one(shared_home, submission.id, "random")
    finally:
        archive.write_bytes(sound)


def test_play_says_its_fallbacks():
    found = {"fallbacks": (70, 0), "decisions": (70, 31), "offender": "", "reason": "prizes"}
    assert "70 of 70 decisions of seat 0 were fallbacks" in spoiled(found)
    assert spoiled(found | {"fallbacks": (0, 0)}) == ""
    assert "a fault of seat 1 ended the game: crash" in spoiled(found | {"offender": "opponent", "reason": "crash"})


def test_the_decision_cap_has_its_own_outcome(play):
    found = play("random", "first", games=4, decision_cap=6)
    assert {(game.outcome, game.reason, game.clean) for game in found} == {("none", "cap", False)}
    assert all(sum(game.decisions) == 6 for game in found)


def test_changed_files_are_refused(shared_home, folder, tmp_path):
    spec = folder("good", GOOD)
    player = resolve(shared_home, spec, "v1")
    assert hash_of(Path(spec)) == player.sha256
    Path(spec, "extra.txt").write_text("new")
    with pytest.raises(OpponentError, match="scheduled with files"):
        open_seat(shared_home, player, "v1", tmp_path / "scratch")


@pytest.mark.parametrize(
    ("spec", "said"),
    [("nobody", "is no baseline"), ("nothing.tar.gz", "no such file"), ("random:nodeck", "no .*nodeck"), (".", "has no main.py")],
)
def test_unknown_opponents_are_named(shared_home, spec, said, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(Exception, match=said):
        resolve(shared_home, spec, "v1")


def test_an_opponent_with_an_illegal_deck_is_refused(shared_home, folder):
    with pytest.raises(OpponentError, match="59 cards"):
        resolve(shared_home, folder("short", "def agent(obs): return DECK[:59]"), "v1")


def test_a_submission_is_refused_for_a_generation_it_does_not_know(shared_home, submission):
    with pytest.raises(OpponentError, match="v1, not v2"):
        resolve(shared_home, submission.id, "v2")
