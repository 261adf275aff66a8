"""Recorded days: names, seats, the no-op, the conflict, the cap, nothing half-written."""

import json
import random
import shutil
import subprocess
import sys
import time
import zipfile
from pathlib import Path
from typing import Any

import pytest

from tcg_core.base.atomic import TEMP_PREFIX, sweep
from tcg_core.base.errors import ConfigError, UnknownId
from tcg_core.base.home import Home, NotADay
from tcg_core.engine.agents import make_agent
from tcg_core.engine.decks import random_legal_deck, sample_deck, write_deck
from tcg_core.replay import record_day as module
from tcg_core.replay.archive import open_archive
from tcg_core.replay.episode import parse_episode
from tcg_core.replay.record import DecisionCapReached
from tcg_core.replay.record_day import DayConflict, RecordError, episode_id_of, record_day

DAY = "2026-08-01"


def replays(path: Path) -> dict[str, Any]:
    with zipfile.ZipFile(path) as archive:
        return {name: json.loads(archive.read(name)) for name in archive.namelist()}


def test_a_day_of_two_agents_swaps_seats(home: Home) -> None:
    write_deck(home.decks / "other.csv", random_legal_deck("v1", 5))
    path = record_day(home, DAY, 4, ("heuristic", "random"), decks=("sample", "other"))
    assert path == home.inbox / f"{DAY}.zip"
    members = replays(path)
    assert list(members) == [f"{episode_id_of(DAY, index)}.json" for index in range(4)]
    for index, (name, replay) in enumerate(members.items()):
        assert replay["info"]["EpisodeId"] == int(name.removesuffix(".json"))
        seat = index % 2
        assert replay["info"]["TeamNames"][seat] == "heuristic"
        assert replay["steps"][1][seat]["action"] == list(sample_deck())
        assert replay["steps"][1][1 - seat]["action"] != list(sample_deck())


@pytest.mark.parametrize(("generation", "best_of"), [("v1", 1), ("v2", 3)])
def test_a_recorded_day_proves_its_labels(home: Home, generation: str, best_of: int) -> None:
    path = record_day(home, DAY, 3, ("heuristic", "random"), generation, best_of)
    with open_archive(path) as archive:
        episodes = [parse_episode(archive.read(member), member.name) for member in archive.members]
    assert [episode.caveats for episode in episodes] == [{}, {}, {}]
    assert all(game.decisions for episode in episodes for game in episode.games)


def test_ids_grow_with_the_calendar() -> None:
    ids = [episode_id_of(day, index) for day in ("2026-08-01", "2026-08-02", "2026-09-01", "2027-01-01") for index in (0, 99_998)]
    assert ids == sorted(set(ids))


def test_the_same_settings_are_a_no_op_in_the_inbox_and_after_the_day_was_taken(home: Home) -> None:
    path = record_day(home, DAY, 2)
    before = path.stat().st_mtime_ns, path.read_bytes()
    assert record_day(home, DAY, 2) == path
    assert (path.stat().st_mtime_ns, path.read_bytes()) == before
    taken = home.archives / DAY / "0123.zip"
    taken.parent.mkdir(parents=True)
    shutil.move(path, taken)
    assert record_day(home, DAY, 2) == taken
    assert not path.exists()


def test_other_settings_are_refused_by_name(home: Home) -> None:
    path = record_day(home, DAY, 2, seed=1)
    with pytest.raises(DayConflict, match=r"2026-08-01.zip with other settings: seed: found 1, asked for 2"):
        record_day(home, DAY, 2, seed=2)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("1.json", "{}")
    with pytest.raises(DayConflict, match="it was not recorded here"):
        record_day(home, DAY, 2, seed=1)


def test_a_changed_deck_file_is_another_setting(home: Home) -> None:
    write_deck(home.decks / "mine.csv", random_legal_deck("v1", 5))
    record_day(home, DAY, 1, decks=("mine", "mine"))
    write_deck(home.decks / "mine.csv", random_legal_deck("v1", 6))
    with pytest.raises(DayConflict, match="deck_hashes"):
        record_day(home, DAY, 1, decks=("mine", "mine"))


def test_a_capped_game_is_dropped_replayed_and_counted(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    real, calls, seeds = module.record_episode, [], []

    def noting_seed(name: str, generation: str, deck: tuple[int, ...], seed: int) -> Any:
        seeds.append(seed)
        return make_agent(name, generation, deck, seed)

    def capped_twice(*args: Any) -> dict[str, Any]:
        calls.append(args)
        if len(calls) <= 2:
            raise DecisionCapReached("game 0 did not end")
        return real(*args)

    monkeypatch.setattr(module, "make_agent", noting_seed)
    monkeypatch.setattr(module, "record_episode", capped_twice)
    path = record_day(home, DAY, 1, ("random", "random"))
    with zipfile.ZipFile(path) as archive:
        assert json.loads(archive.comment)["dropped"] == 2
        assert len(archive.namelist()) == 1
    assert len(seeds) == len(set(seeds)) == 6


def test_a_pairing_that_never_ends_writes_nothing(home: Home) -> None:
    with pytest.raises(RecordError, match="20 games in a row passed the cap of 3 decisions"):
        record_day(home, DAY, 1, ("random", "random"), decision_cap=3)
    assert list(home.inbox.iterdir()) == []


def test_bad_requests_are_refused_before_anything_is_written(home: Home) -> None:
    with pytest.raises(NotADay):
        record_day(home, "2026-13-01", 1)
    with pytest.raises(UnknownId, match="agent 'clever'"):
        record_day(home, DAY, 1, ("clever", "random"))
    with pytest.raises(UnknownId, match="decks here: sample"):
        record_day(home, DAY, 1, decks=("sample", "mine"))
    with pytest.raises(ConfigError, match="episodes 0"):
        record_day(home, DAY, 0)
    with pytest.raises(ConfigError, match="'v3'"):
        record_day(home, DAY, 1, generation="v3")
    assert list(home.inbox.iterdir()) == []


def test_a_killed_recording_leaves_no_archive_and_the_same_command_continues(home: Home, chance: random.Random) -> None:
    code = "import sys; from tcg_core.base.home import Home; from tcg_core.replay.record_day import record_day; "
    code += f"record_day(Home.resolve(sys.argv[1]), {DAY!r}, 5000)"
    root = Path(__file__).resolve().parents[2]
    child = subprocess.Popen([sys.executable, "-c", code, str(home.root)], cwd=root, stderr=subprocess.DEVNULL)
    size, deadline = chance.randint(1, 100_000), time.monotonic() + 30
    while not any(path.stat().st_size > size for path in home.inbox.iterdir()) and time.monotonic() < deadline:
        time.sleep(0.05)
    child.kill()
    child.wait()
    left = list(home.inbox.iterdir())
    assert len(left) == 1
    assert left[0].name.startswith(TEMP_PREFIX)
    assert sweep(home.root) == left
    assert len(replays(record_day(home, DAY, 2))) == 2
