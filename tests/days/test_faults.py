"""Episodes with faults from the field: each is set aside by name, whatever else is in its day, and costs no other episode."""

import functools
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tcg_core.base.built import Built
from tcg_core.base.home import Home
from tcg_core.catalog import catalog
from tcg_core.days import members as members_module
from tcg_core.days.build import build_day
from tcg_core.days.members import process
from tcg_core.days.promote import promote_day
from tcg_core.days.take import take_archive
from tcg_core.ratings.rate import games_of
from tcg_core.replay.archive import open_archive
from tests.days.replays import changed, members
from tests.golden.replays import cut_in_game_3
from tests.replay.test_mutations import trimmed

DAY = "2026-03-01"
SMALL, GOOD = 85000011, 120
METHODS = {"stored": zipfile.ZIP_STORED, "deflate": zipfile.ZIP_DEFLATED, "bzip2": zipfile.ZIP_BZIP2, "lzma": zipfile.ZIP_LZMA}


@functools.cache
def good(episode_id: int) -> bytes:
    return trimmed(SMALL).replace(f'"EpisodeId": {SMALL}'.encode(), f'"EpisodeId": {episode_id}'.encode())


def no_choice(data: bytes) -> bytes:
    def change(replay: dict[str, Any]) -> None:
        steps = replay["steps"]
        side = next(side for side in (0, 1) if steps[4][side]["status"] == "ACTIVE")
        steps[4][side]["observation"]["select"] |= {"minCount": 0, "maxCount": 0}
        steps[5][side]["action"] = []

    return changed(data, change)


def lost_step(data: bytes) -> bytes:
    return changed(data, lambda replay: replay["steps"].pop(9))


def foreign_deck(data: bytes) -> bytes:
    def change(replay: dict[str, Any]) -> None:
        replay["steps"][1][0]["action"] = [9999] * 60

    return changed(data, change)


NESTED = b"[" * 992 + b"]" * 992
FAULTS: dict[str, tuple[Callable[[bytes], bytes], str]] = {
    "a skipped string that is no UTF-8": (lambda data: data.replace(b"Card Battle", b"Card B\xfftle", 1), "broken_json"),
    "nothing to choose": (no_choice, "no_choice"),
    "a skipped field nested 992 deep": (
        lambda data: b'{"x": ' + b"[" * 992 + b"]" * 992 + b"," + data.lstrip()[1:],
        "broken_json",
    ),
    "a lost step": (lost_step, "step_order"),
    "another deck": (foreign_deck, "foreign_cards"),
}
faults = pytest.mark.parametrize("fault", FAULTS)


def put(home: Home, content: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> Path:
    path = home.inbox / f"{DAY}.zip"
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, data in content.items():
            archive.writestr(name, data)
    return path


def damage(path: Path, name: str) -> None:
    """Overwrites the middle of a member's bytes in the archive."""
    with zipfile.ZipFile(path) as archive:
        info = archive.getinfo(name)
    with path.open("r+b") as file:
        file.seek(info.header_offset + 30 + len(name) + info.compress_size // 2)
        file.write(b"\xa5" * 64)


def built(home: Home) -> Built:
    take_archive(home, DAY)
    return build_day(home, DAY)


def set_aside(home: Home) -> list[tuple[int, str]]:
    lines = (home.quarantine / f"{DAY}.jsonl").read_text(encoding="utf-8").splitlines()
    return [(line["episode_id"], line["reason"]) for line in map(json.loads, lines)]


def check_refused(home: Home, day: Built, reason: str, of: int) -> None:
    """The day is refused for its quarantined share, by that name and by nothing else."""
    failed = [check for check in day.checks if check.blocks]
    assert [check.name for check in failed] == ["quarantine_fraction"]
    assert failed[0].message.startswith(f"1 of {of} episodes quarantined") and f"1 {reason}" in failed[0].message
    assert [found for _, found in set_aside(home)] == [reason]
    assert day.facts["episodes"] == of - 1


def check_published(home: Home, day: Built, reason: str) -> None:
    assert day.passed, [check.message for check in day.checks if not check.passed]
    assert promote_day(home, DAY).passed
    assert day.facts["episodes"] == GOOD and day.facts["quarantined"] == {reason: 1}
    assert day.facts["rows"] == GOOD * rows_of_one(home)
    assert set_aside(home) == [(SMALL, reason)]


def rows_of_one(home: Home) -> int:
    with catalog(home) as connection:
        [(rows,)] = connection.execute("SELECT DISTINCT rows FROM episodes WHERE status = 'rows'").fetchall()
    return int(rows)


def some(count: int) -> dict[str, bytes]:
    return {f"{id}.json": good(id) for id in range(1, count + 1)}


@faults
def test_a_small_day_with_one_is_refused_for_its_share(home: Home, fault: str) -> None:
    change, reason = FAULTS[fault]
    put(home, some(3) | {f"{SMALL}.json": change(trimmed(SMALL))})
    check_refused(home, built(home), reason, 4)


@faults
def test_among_good_episodes_the_others_are_published(home: Home, fault: str) -> None:
    change, reason = FAULTS[fault]
    put(home, some(GOOD) | {f"{SMALL}.json": change(trimmed(SMALL))})
    check_published(home, built(home), reason)


@faults
@pytest.mark.parametrize("plain", [False, True], ids=["not sampled", "sampled"])
def test_the_answer_is_the_same_whether_the_episode_is_of_the_sample_or_not(tmp_path: Path, fault: str, plain: bool) -> None:
    change, reason = FAULTS[fault]
    path = tmp_path / "day.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(f"{SMALL}.json", change(trimmed(SMALL)))
    with open_archive(path) as day:
        result = process(day, day.members[0], DAY, plain)
    assert (result.record.status, result.record.reason) == ("quarantined", reason)
    assert result.columns is None and result.record.detail and result.record.detail.startswith(f"{SMALL}.json: ")


@pytest.mark.parametrize("method", METHODS)
def test_a_damaged_member_is_unreadable_whatever_its_compression(home: Home, method: str) -> None:
    damage(put(home, some(3) | {f"{SMALL}.json": trimmed(SMALL)}, METHODS[method]), f"{SMALL}.json")
    check_refused(home, built(home), "unreadable", 4)


def test_a_damaged_member_among_good_ones_costs_only_itself(home: Home) -> None:
    damage(put(home, some(GOOD) | {f"{SMALL}.json": trimmed(SMALL)}, zipfile.ZIP_LZMA), f"{SMALL}.json")
    check_published(home, built(home), "unreadable")


def test_an_error_of_this_code_is_loud_and_stops_no_other_episode(
    home: Home, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    encode = members_module.encode_episode

    def broken(episode: Any, day: str) -> Any:
        if episode.episode_id == 2:
            raise RuntimeError("nobody foresaw\nthis \ud800")
        return encode(episode, day)

    monkeypatch.setattr(members_module, "encode_episode", broken)
    put(home, some(4))
    day = built(home)
    check_refused(home, day, "internal: RuntimeError", 4)
    [check] = [check for check in day.checks if check.blocks]
    assert "test_faults.py:" in check.message and "nobody foresaw this" in check.message and "fault of this code" in check.message
    [record] = [record for record in caplog.records if record.levelname == "ERROR"]
    said = record.getMessage()
    assert "member 2.json" in said and "Traceback" in said and "nobody foresaw" in said
    assert said.encode(), "a log is a file: it holds no lone surrogate"


def test_a_plain_count_that_fails_is_an_error_of_this_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(data: bytes) -> Any:
        raise RecursionError("too deep")

    monkeypatch.setattr(members_module, "recount_plain", fails)
    path = tmp_path / "day.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("1.json", good(1))
    with open_archive(path) as day:
        assert process(day, day.members[0], DAY, True).record.reason == "internal: RecursionError"
        assert process(day, day.members[0], DAY, False).record.status == "rows"


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
def test_a_stop_is_no_fault_of_the_episode(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: type[BaseException]) -> None:
    def stopped(data: bytes, name: str) -> Any:
        raise error

    monkeypatch.setattr(members_module, "parse_episode", stopped)
    path = tmp_path / "day.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("1.json", good(1))
    with open_archive(path) as day, pytest.raises(error):
        process(day, day.members[0], DAY, False)


def test_names_with_lone_surrogates_and_a_byte_order_mark_cost_no_episode(home: Home) -> None:
    named = good(2).replace(b'"TeamNames": ["', rb'"TeamNames": ["\ud83d', 1)
    put(home, {"1.json": b"\xef\xbb\xbf" + good(1), "2.json": named})
    day = built(home)
    assert day.passed and promote_day(home, DAY).passed
    assert day.facts["caveats"]["lone_surrogate"] == 1
    with catalog(home) as connection:
        names = {row["name"] for row in connection.execute("SELECT name FROM agents")}
        caveats = dict(connection.execute("SELECT episode_id, caveats FROM episodes").fetchall())
    assert any(name.startswith("\ufffd") for name in names) and not any("\ud83d" in name for name in names)
    assert json.loads(caveats[2])["lone_surrogate"] == 1 and "lone_surrogate" not in json.loads(caveats[1])


def test_a_match_cut_at_one_all_gives_its_two_games_and_no_draw(home: Home) -> None:
    put(home, {"93000002.json": changed(members("2026-10-25")["93000002.json"], cut_in_game_3)})
    day = built(home)
    assert day.passed and promote_day(home, DAY).passed
    assert day.facts["games_excluded"] == {"unfinished": 1} and day.facts["outcomes"]["draw"] == 0
    assert day.facts["caveats"]["unproven_labels"] > 0
    with catalog(home) as connection:
        results = games_of(connection, DAY)
    assert [result.outcome for result in results] == [-1, 1], "the game that was cut moves no rating"
