"""A whole tournament against opponents that misbehave, and two thousand games that leave nothing behind."""

import sys
import tempfile
import textwrap
from collections.abc import Callable
from pathlib import Path

import psutil
import pyarrow.parquet as parquet
import pytest

from tcg_core.arena.opponents import resolve
from tcg_core.arena.pool import run_schedule
from tcg_core.arena.schedule import make_schedule, store_schedule
from tcg_core.arena.tournament import tournament
from tcg_core.arena.worker import SCHEDULE
from tcg_core.engine.decks import sample_deck

HOSTILE = {
    "raises": ("raise ValueError('lost it')", "error"),
    "cheats": ("return [999]", "illegal"),
    "babbles": ("return 'garbage'", "garbage"),
    "exits": ("import os; os._exit(0)", "crash"),
    "kills_itself": ("import os; os.kill(os.getpid(), 9)", "crash"),
    "kills_its_group": ("import os; os.killpg(0, 9)", "crash"),
    "hangs": ("import time; time.sleep(1000)", "timeout"),
    "spins": ("while True: pass", "timeout"),
    "eats": ("held = [bytearray(1 << 26) for _ in range(2000)]", "memory"),
    "prints": ("print('x' * 30_000_000)", "output"),
    "kills_us": ("import os; os.kill(os.getppid(), 9)", "error"),
    "leaves_a_process": ("import subprocess; subprocess.Popen(['sleep', '300'])", "leftover"),
}


@pytest.fixture
def quiet_disk(monkeypatch, tmp_path) -> Path:
    """A temporary directory of our own: whatever is left in it was left by us."""
    place = tmp_path / "tmp"
    place.mkdir()
    monkeypatch.setenv("TMPDIR", str(place))
    monkeypatch.setattr(tempfile, "tempdir", None)
    return place


def hostile(tmp_path: Path, name: str) -> str:
    """A folder whose agent answers its deck and two decisions, then misbehaves."""
    path = tmp_path / name
    path.mkdir()
    source = f"""
        DECK, COUNT = {list(sample_deck())}, 0
        def agent(obs):
            global COUNT
            if obs["select"] is None:
                return DECK
            COUNT += 1
            if COUNT > 2:
                {HOSTILE[name][0]}
            return list(range(obs["select"]["minCount"]))
        """
    (path / "main.py").write_text(textwrap.dedent(source))
    return str(path)


def running() -> set[psutil.Process]:
    return {child for child in psutil.Process().children(recursive=True) if child.status() != psutil.STATUS_ZOMBIE}


@pytest.fixture
def left_running() -> Callable[[], set[psutil.Process]]:
    """Children that the test started and that still run; what earlier tests of this process keep is not counted."""
    before = running()
    return lambda: running() - before


@pytest.mark.slow
def test_every_misbehaviour_has_its_reason_and_the_tournament_goes_on(
    shared_home, submission, tmp_path, quiet_disk, left_running
):
    specs = tuple(hostile(tmp_path, name) for name in HOSTILE)
    # Our own agent keeps 30 s in reserve: with less than that it would fall back.
    built = tournament(shared_home, submission.id, (*specs, "random"), games=2, nonce="hostile", seconds_budget=40.0)
    assert built.passed, [check.message for check in built.checks]
    rows = parquet.read_table(built.path / "games.parquet").to_pylist()
    assert len(rows) == 2 * (len(HOSTILE) + 1)
    for name, (_, reason) in HOSTILE.items():
        spoiled = [row for row in rows if row["opponent"] == name and row["offender"]]
        assert spoiled, f"{name} never got as far as to misbehave"
        assert {(row["outcome"], row["reason"], row["offender"]) for row in spoiled} == {("win", reason, "opponent")}, name
        assert not any(row["clean"] for row in spoiled)
    assert all(row["clean"] for row in rows if row["opponent"] == "random")
    assert left_running() == set() and list(quiet_disk.iterdir()) == []


@pytest.mark.skipif(sys.platform != "linux", reason="a Mac has no means against it")
def test_an_opponent_cannot_end_the_match_process(shared_home, tmp_path, left_running):
    players = tuple(resolve(shared_home, spec, "v1") for spec in ("random", hostile(tmp_path, "kills_us"), "first"))
    schedule = make_schedule("v1", players, 2, 13, "1")
    where = tmp_path / "run"
    store_schedule(where / SCHEDULE, schedule)
    games = run_schedule(shared_home, schedule, where, 1)
    assert len(games) == 4 and all(game.clean for game in games.values() if game.opponent == "first")
    spoiled = [game for game in games.values() if game.opponent == "kills_us" and not game.clean]
    assert spoiled and {(game.outcome, game.reason, game.offender) for game in spoiled} == {("win", "error", "opponent")}
    assert all("PermissionError" in game.detail for game in spoiled)
    assert left_running() == set()


@pytest.mark.slow
def test_two_thousand_games_leave_nothing_behind(shared_home, submission, quiet_disk, left_running):
    descriptors = len(list(Path("/proc/self/fd").iterdir())) if Path("/proc/self/fd").is_dir() else 0
    built = tournament(shared_home, submission.id, ("random", "heuristic"), games=1000, workers=2, nonce="leaks")
    assert built.passed and built.facts["games"] == 2000
    assert (built.facts["errors"], built.facts["timeouts"], built.facts["fallbacks"]) == (0, 0, 0)
    assert left_running() == set() and list(quiet_disk.iterdir()) == []
    assert not list(shared_home.tournaments.glob("*.running"))
    assert sorted(file.name for file in built.path.iterdir()) == sorted(
        ["games.parquet", "manifest.json", "recorded.json", "report.html", "schedule.json", "scores.png", "summary.json"]
    )
    if descriptors:
        assert len(list(Path("/proc/self/fd").iterdir())) <= descriptors + 2
