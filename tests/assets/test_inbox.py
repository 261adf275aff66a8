"""Arrivals: a whole archive once, a growing or broken one never, a failed one again after a pause."""

import json
import time
import zipfile
from collections.abc import Callable
from pathlib import Path

import dagster as dg
import pytest
from dagster._core.definitions.partitions.context import partition_loading_context
from dagster._core.definitions.sensor_definition import SensorExecutionData

from tcg_assets.assets.resources import Workspace
from tcg_assets.automation.arrivals import inbox_sensor
from tcg_assets.automation.attempts import ARRIVALS, Attempt, Backoff, next_attempt, tags_of
from tcg_assets.automation.inbox import Arrival, Look, look
from tcg_assets.definitions import defs
from tcg_core.base.digest import sha256_json
from tcg_core.base.errors import TcgError
from tcg_core.base.home import Home

DAY = "2026-08-01"
ONE = sha256_json(["1.json"])


def _digest(path: Path) -> str:
    try:
        with zipfile.ZipFile(path) as archive:
            return sha256_json(archive.namelist())
    except zipfile.BadZipFile as error:
        raise TcgError(f"{path.name} is not a zip archive: {error}") from None


def _zip(path: Path, *members: str) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for member in members:
            archive.writestr(member, "{}")
    return path


def _twice(inbox: Path) -> Look:
    return look(inbox, look(inbox, None, _digest).cursor, _digest)


def test_a_file_is_ready_at_the_second_look_that_finds_it_unchanged(home: Home) -> None:
    _zip(home.inbox / f"{DAY}.zip", "1.json")
    first = look(home.inbox, None, _digest)
    assert first.ready == ()
    assert "waiting" in first.lines[0]
    assert look(home.inbox, first.cursor, _digest).ready == (Arrival(DAY, ONE),)


def test_a_file_that_grows_is_not_ready(home: Home) -> None:
    path = home.inbox / f"{DAY}.zip"
    path.write_bytes(b"PK\x03\x04half")
    cursor = look(home.inbox, None, _digest).cursor
    path.write_bytes(b"PK\x03\x04half and more")
    assert look(home.inbox, cursor, _digest).ready == ()


def test_a_copy_that_broke_off_is_named_and_not_taken(home: Home) -> None:
    whole = _zip(home.root / "whole.zip", "1.json", "2.json").read_bytes()
    (home.inbox / f"{DAY}.zip").write_bytes(whole[: len(whole) // 2])
    seen = _twice(home.inbox)
    assert seen.ready == ()
    assert seen.lines == (f"{DAY}.zip is not taken: {DAY}.zip is not a zip archive: File is not a zip file",)


def test_a_name_that_is_no_date_is_named_and_ignored(home: Home) -> None:
    _zip(home.inbox / "2026-02-30.zip", "1.json")
    _zip(home.inbox / f"{DAY}.zip", "1.json")
    seen = _twice(home.inbox)
    assert [arrival.day for arrival in seen.ready] == [DAY]
    assert seen.lines[0].startswith("2026-02-30.zip is ignored:")


def test_the_directory_is_read_once_for_each_state_of_a_file(home: Home) -> None:
    calls: list[str] = []

    def counting(path: Path) -> str:
        calls.append(path.name)
        return _digest(path)

    _zip(home.inbox / f"{DAY}.zip", "1.json")
    cursor = None
    for _ in range(4):
        cursor = look(home.inbox, cursor, counting).cursor
    assert calls == [f"{DAY}.zip"]
    assert json.loads(cursor or "")[f"{DAY}.zip"]["digest"]


def test_a_backlog_is_taken_in_several_looks(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tcg_assets.automation.inbox.MOST_A_LOOK", 2)
    for number in range(1, 6):
        _zip(home.inbox / f"2026-08-0{number}.zip", "1.json")
    seen = look(home.inbox, look(home.inbox, None, _digest).cursor, _digest)
    assert [arrival.day for arrival in seen.ready] == ["2026-08-01", "2026-08-02"]
    for day in ("2026-08-01", "2026-08-02"):
        (home.inbox / f"{day}.zip").unlink()
    assert [a.day for a in look(home.inbox, seen.cursor, _digest).ready] == ["2026-08-03", "2026-08-04"]


Tick = Callable[[], SensorExecutionData]


@pytest.fixture
def tick(instance: dg.DagsterInstance, home: Home, monkeypatch: pytest.MonkeyPatch) -> Tick:
    monkeypatch.setattr("tcg_assets.automation.arrivals._directory_digest", _digest)
    cursors: list[str | None] = [None]

    def evaluate() -> SensorExecutionData:
        built = dg.build_sensor_context(
            instance=instance, cursor=cursors[-1], definitions=defs, resources={"workspace": Workspace()}
        )
        with built as context, partition_loading_context(dynamic_partitions_store=instance):
            result = inbox_sensor.evaluate_tick(context)
        cursors.append(result.cursor)
        return result

    return evaluate


def test_a_new_day_is_added_as_a_partition(instance: dg.DagsterInstance, home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tcg_assets.automation.arrivals._directory_digest", _digest)
    _zip(home.inbox / f"{DAY}.zip", "1.json")
    cursor = look(home.inbox, None, _digest).cursor
    with dg.build_sensor_context(instance=instance, cursor=cursor, resources={"workspace": Workspace()}) as context:
        result = inbox_sensor(context)
    assert isinstance(result, dg.SensorResult)
    [added] = result.dynamic_partitions_requests or []
    assert list(added.partition_keys) == [DAY]
    assert [request.partition_key for request in result.run_requests or []] == [DAY]


def test_an_arrival_starts_its_day_under_one_run_key(tick: Tick, home: Home, instance: dg.DagsterInstance) -> None:
    instance.add_dynamic_partitions("days", [DAY])
    assert tick().skip_message == "the inbox is empty"
    _zip(home.inbox / f"{DAY}.zip", "1.json")
    assert not tick().run_requests
    [request] = tick().run_requests or []
    assert (request.partition_key, request.run_key) == (DAY, f"{DAY}:{ONE[:16]}:1")
    [again] = tick().run_requests or []
    assert again.run_key == request.run_key, "the same file, the same key"


def test_a_changed_archive_of_a_known_day_has_another_run_key(tick: Tick, home: Home, instance: dg.DagsterInstance) -> None:
    instance.add_dynamic_partitions("days", [DAY])
    _zip(home.inbox / f"{DAY}.zip", "1.json")
    tick()
    [first] = tick().run_requests or []
    _zip(home.inbox / f"{DAY}.zip", "1.json", "2.json")
    tick()
    changed = tick()
    [second] = changed.run_requests or []
    assert not changed.dynamic_partitions_requests
    assert first.run_key != second.run_key
    assert first.tags["tcg/archive"] != second.tags["tcg/archive"]


def test_a_bad_name_alone_is_the_skip_reason(tick: Tick, home: Home) -> None:
    _zip(home.inbox / "yesterday.zip", "1.json")
    assert "yesterday.zip is ignored: day 'yesterday' is not a date" in (tick().skip_message or "")


def test_a_failed_arrival_is_tried_again_after_a_pause_at_most_three_times(instance: dg.DagsterInstance) -> None:
    arrival = Arrival(DAY, "a" * 64)
    assert _next(instance, arrival, time.time()).number == 1
    for number in range(1, ARRIVALS.most + 1):
        _failed_run(instance, arrival)
        now = time.time()
        held = _next(instance, arrival, now)
        assert held.number == number + 1
        assert held.held
        later = _next(instance, arrival, now + ARRIVALS.first * 4**number)
        assert bool(later.held) == (number == ARRIVALS.most)
    assert "failed 3 times" in _next(instance, arrival, time.time() + 1e9).held


def test_the_failures_of_one_archive_do_not_count_for_another(instance: dg.DagsterInstance) -> None:
    _failed_run(instance, Arrival(DAY, "a" * 64))
    assert _next(instance, Arrival(DAY, "b" * 64), time.time()).number == 1


def test_a_pause_grows_four_times_up_to_its_longest_and_never_overflows() -> None:
    backoff = Backoff(10.0, longest=1000.0)
    assert [backoff.pause(failures) for failures in (1, 2, 3, 4, 5, 6, 10_000)] == [10, 40, 160, 640, 1000, 1000, 1000]
    assert Backoff(10.0).pause(10_000) < float("inf")
    assert backoff.held(0, 0.0, 0.0) == ""
    assert backoff.held(2, 100.0, 139.0) == "failed 2 times, tried again in 1 s"
    assert backoff.held(2, 100.0, 140.0) == "", "it is due"
    assert Backoff(10.0, most=2, afterwards="look").held(2, 0.0, 1e9) == "failed 2 times; look"


def _next(instance: dg.DagsterInstance, arrival: Arrival, now: float) -> Attempt:
    return next_attempt(instance, tags_of(arrival), ARRIVALS, now)


def _failed_run(instance: dg.DagsterInstance, arrival: Arrival) -> None:
    run = instance.create_run_for_job(defs.resolve_job_def("card_tables"), tags=tags_of(arrival))
    instance.report_run_failed(run)
