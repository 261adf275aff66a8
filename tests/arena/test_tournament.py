"""A tournament end to end, killed and resumed, and its checks broken one by one."""

import json
import os
import re
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import psutil
import pyarrow.parquet as parquet
import pytest

from tcg_core.arena import tournament as module
from tcg_core.arena.errors import ArenaError, ScheduleError
from tcg_core.arena.opponents import resolve
from tcg_core.arena.play import play_one
from tcg_core.arena.pool import run_schedule
from tcg_core.arena.schedule import load_schedule, make_schedule, store_schedule
from tcg_core.arena.tournament import tournament
from tcg_core.arena.verify import tournament_checks
from tcg_core.arena.worker import SCHEDULE, game_path, read_games
from tcg_core.base.checks import Check
from tcg_core.base.errors import UnknownId
from tcg_core.base.manifest import verify_files
from tcg_core.catalog import registry
from tcg_core.catalog.errors import ChecksNotPassed
from tcg_core.submission.runtime.clock import RESERVE

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def finished(shared_home, submission):
    return tournament(shared_home, submission.id, games=6, workers=2)


def test_it_is_published_with_passed_checks(finished, shared_home, submission):
    assert finished.passed and not finished.reused
    assert [check.name for check in finished.checks] == ["seats_balanced", "clean", "accounted"]
    assert registry.require_passed(shared_home, "tournament", finished.id) == finished.path
    manifest = verify_files(finished.path)
    assert manifest.inputs[0].id == submission.id
    assert not list(shared_home.tournaments.glob("*.running"))


def test_facts_and_table_agree(finished):
    rows = parquet.read_table(finished.path / "games.parquet").to_pylist()
    assert len(rows) == finished.facts["games"] == 12
    for name, facts in finished.facts["results"].items():
        mine = [row for row in rows if row["opponent"] == name]
        assert facts["wins"] == sum(row["outcome"] == "win" for row in mine)
        assert facts["low"] <= facts["score"] <= facts["high"]
        assert [row["candidate_seat"] for row in mine].count(0) == 3


def test_finished_it_is_not_played_again(finished, shared_home, submission, monkeypatch):
    monkeypatch.setattr(module, "run_schedule", lambda *a, **k: pytest.fail("played again"))
    again = tournament(shared_home, submission.id, games=6, workers=2)
    assert again.reused and again.id == finished.id and again.passed


def test_report_is_self_contained_and_says_what_it_shows(finished):
    page = (finished.path / "report.html").read_text()
    assert not re.search(r"(src|href)=|https?://(?!www\.w3\.org)|<script", page)
    for said in ("95 % interval", "engine", "It does not say", "@media print", "<svg", finished.id):
        assert said in page
    assert 0 < finished.plots["scores"].stat().st_size < 50_000


def test_refusals(shared_home, submission):
    with pytest.raises(ScheduleError, match="even number"):
        tournament(shared_home, submission.id, games=3)
    registry.record_checks(shared_home, "submission", submission.id, [Check("plays", False, "it fell back")])
    try:
        with pytest.raises(ChecksNotPassed, match="plays"):
            tournament(shared_home, submission.id, games=2)
    finally:
        registry.record_checks(shared_home, "submission", submission.id, submission.checks)


def test_each_check_fires(finished):
    schedule = load_schedule(finished.path / SCHEDULE)
    rows = parquet.read_table(finished.path / "games.parquet").to_pylist()

    def failed(changed: list[dict]) -> set[str]:
        return {check.name for check in tournament_checks(schedule, changed) if not check.passed}

    assert failed(rows) == set()
    assert failed(rows[1:]) == {"seats_balanced", "accounted"}
    assert failed([*rows, rows[0]]) == {"seats_balanced", "accounted"}
    assert failed([rows[0] | {"candidate_seat": 1}, *rows[1:]]) == {"seats_balanced", "accounted"}
    assert failed([rows[0] | {"candidate_fallbacks": 1}, *rows[1:]]) == {"clean"}
    assert failed([rows[0] | {"offender": "candidate", "reason": "timeout"}, *rows[1:]]) == {"clean"}
    assert failed([rows[0] | {"offender": "opponent", "reason": "timeout"}, *rows[1:]]) == set()


def prepared(home, directory: Path, games: int):
    players = tuple(resolve(home, name, "v1") for name in ("heuristic", "random"))
    schedule = make_schedule("v1", players, games, 13, "1")
    store_schedule(directory / SCHEDULE, schedule)
    return schedule


def wait_for_games(directory: Path, count: int) -> None:
    deadline = time.monotonic() + 60
    while len(list((directory / "games").glob("0*.json"))) < count:
        assert time.monotonic() < deadline, "no game finished"
        time.sleep(0.02)


def test_killed_it_continues_without_replaying_or_losing_a_game(shared_home, tmp_path, chance):
    schedule = prepared(shared_home, tmp_path, 300)
    script = f"""
        from pathlib import Path
        from tcg_core.arena.pool import run_schedule
        from tcg_core.arena.schedule import load_schedule
        from tcg_core.base.home import Home
        where = Path({str(tmp_path)!r})
        run_schedule(Home(Path({str(shared_home.root)!r})), load_schedule(where / {SCHEDULE!r}), where, 2)
    """
    process = subprocess.Popen([sys.executable, "-c", textwrap.dedent(script)], cwd=ROOT, stderr=subprocess.DEVNULL)
    least = chance.randint(1, 40)
    wait_for_games(tmp_path, least)
    workers = psutil.Process(process.pid).children(recursive=True)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert not psutil.wait_procs(workers, timeout=10)[1], "workers outlived the tournament"
    before = {path.name: path.stat().st_mtime_ns for path in (tmp_path / "games").glob("0*.json")}
    assert least <= len(before) < 300
    games = run_schedule(shared_home, schedule, tmp_path, 2)
    assert sorted(games) == list(range(300))
    assert not list((tmp_path / "scratch").iterdir()), "a killed worker's files are still there"
    after = {path.name: path.stat().st_mtime_ns for path in (tmp_path / "games").glob("0*.json")}
    assert {name: after[name] for name in before} == before, "a finished game was played again"


def test_a_worker_that_dies_is_replaced(shared_home, tmp_path):
    schedule = prepared(shared_home, tmp_path, 200)

    def kill_one() -> None:
        wait_for_games(tmp_path, 5)
        mine = [c for c in psutil.Process().children() if "tcg_core.arena.worker" in c.cmdline()]
        os.kill(mine[0].pid, signal.SIGABRT)

    killer = threading.Thread(target=kill_one)
    killer.start()
    games = run_schedule(shared_home, schedule, tmp_path, 2)
    killer.join()
    assert sorted(games) == list(range(200)) and all(game.clean for game in games.values())


def test_a_game_the_engine_dies_of_twice_has_no_result(shared_home, tmp_path, monkeypatch):
    from tcg_core.arena import pool

    schedule = prepared(shared_home, tmp_path, 2)
    fake = tmp_path / "fake.py"
    fake.write_text(f"""
import json, os, sys
sys.path.insert(0, {str(ROOT)!r})
from tcg_core.arena import playing, worker
play = playing.play_games
def dying(home, schedule, indices, sink, together, starting, scratch):
    def fatal(game):
        starting(game)
        if game.index == 1:
            os.abort()
    play(home, schedule, indices, sink, 1, fatal, scratch)
worker.play_games = dying
worker.main(sys.argv[-1])
""")
    start = subprocess.Popen

    def started(command, **options):
        return start([command[0], str(fake), command[-1]], **options)

    monkeypatch.setattr(pool.subprocess, "Popen", started)
    games = run_schedule(shared_home, schedule, tmp_path, 1)
    assert games[0].clean
    assert (games[1].outcome, games[1].reason, games[1].offender) == ("none", "engine", "engine")


def test_a_worker_s_refusal_is_one_line(shared_home, tmp_path, submission):
    players = resolve(shared_home, submission.id, "v1"), resolve(shared_home, "random", "v1")
    from dataclasses import replace

    schedule = make_schedule("v1", (replace(players[0], sha256="0" * 64), players[1]), 2, 13, "1")
    store_schedule(tmp_path / SCHEDULE, schedule)
    with pytest.raises(ArenaError, match="scheduled with files"):
        run_schedule(shared_home, schedule, tmp_path, 1)


def test_a_broken_game_file_is_named(tmp_path):
    path = game_path(tmp_path, 3)
    path.parent.mkdir()
    path.write_text(json.dumps({"index": 3}))
    with pytest.raises(ArenaError, match=r"000003\.json is no finished game"):
        read_games(tmp_path)


def test_two_at_once_are_refused(shared_home, tmp_path):
    with (
        module._alone(tmp_path / "x.running"),
        pytest.raises(ArenaError, match="another process"),
        module._alone(tmp_path / "x.running"),
    ):
        pass


@pytest.mark.parametrize("seconds", [-1.0, 20.0, RESERVE])
def test_a_clock_that_leaves_a_submission_only_its_reserve_is_refused(shared_home, submission, seconds):
    with pytest.raises(ArenaError, match=rf"seconds_budget is {seconds:g}: .*expected more than {RESERVE:g}"):
        tournament(shared_home, submission.id, seconds_budget=seconds)
    with pytest.raises(UnknownId):
        tournament(shared_home, "no submission", seconds_budget=RESERVE + 1)


def test_play_one(shared_home):
    found = play_one(shared_home, "heuristic", "heuristic")
    assert found["seat 0"] == "heuristic (seat 0)" and found["outcome"] in ("win", "loss", "draw")
