import itertools
import json
from types import SimpleNamespace

import pytest

from tcg_core.base.errors import IntegrityError, UnknownId
from tcg_core.base.home import NotADay
from tcg_core.catalog import catalog, registry
from tcg_core.catalog.datasets import datasets_of
from tcg_core.catalog.errors import ChecksNotPassed, EpisodeConflict
from tcg_core.catalog.selection import select_days
from tcg_core.days import build
from tcg_core.days.build import build_day
from tcg_core.days.errors import DayError
from tcg_core.days.pool import processed
from tcg_core.days.promote import promote_day
from tcg_core.days.staged_checks import CATALOG_CHECKS, STAGED_CHECKS
from tcg_core.days.take import add_archive, take_archive
from tcg_core.recipe import Selection
from tcg_core.replay.archive import open_archive
from tcg_core.rows.reader import DayReader
from tests.days.conftest import GOLDEN, V1, V2
from tests.days.replays import changed, members, put, renamed


def check(built, name):
    return next(check for check in built.checks if check.name == name)


def states(home, day):
    with catalog(home) as connection:
        return sorted(row.state for row in datasets_of(connection, day))


def test_a_staged_day_has_its_rows_its_catalog_and_all_its_checks(staged):
    built = build_day(staged, V1)
    assert built.reused and built.passed and built.path.parent == staged.staging / V1
    assert {c.name for c in built.checks} == {*STAGED_CHECKS, *CATALOG_CHECKS}
    with DayReader(built.path) as reader, catalog(staged) as connection:
        assert reader.rows == built.facts["rows"] == 287 and reader.generation == "v1"
        rows = dict(connection.execute("SELECT episode_id, rows FROM episodes WHERE status = 'rows'").fetchall())
        ids = reader.read(["episode_id"])["episode_id"]
        assert {int(id): int((ids == id).sum()) for id in set(ids)} == rows
        assert connection.execute("SELECT count(*) FROM participants").fetchone()[0] == 10
        assert {r[0] for r in connection.execute("SELECT name FROM agents")} == {"heuristic", "random"}
    assert built.facts["decoded_bytes_per_row"] < 1600 and built.facts["bytes_per_row"] < 250
    assert built.plots["shape"].stat().st_size < 50_000
    assert (staged.quarantine / f"{V1}.jsonl").read_text() == ""


def test_a_best_of_three_day_has_a_lane_a_game_and_one_or_two_workers_give_the_same_bytes(home):
    add_archive(home, GOLDEN / f"{V2}.zip")
    take_archive(home, V2)
    one = build_day(home, V2)
    assert one.passed
    with catalog(home) as connection:
        games = connection.execute("SELECT count(*) FROM games WHERE episode_id >= 93000000").fetchone()[0]
        assert games > 4
    hashes = registry.rows_of(home, "staged_day")[0].content
    (one.path).rename(home.root / "aside")
    two = build_day(home, V2, workers=2)
    assert not two.reused and two.id == one.id and two.path == one.path
    assert registry.rows_of(home, "staged_day")[0].content == hashes
    assert (two.path / "manifest.json").read_bytes() == (home.root / "aside" / "manifest.json").read_bytes()


def test_broken_members_are_quarantined_whole_and_the_day_fails_above_the_limit(home):
    content = members()
    first = next(iter(content))
    data = content[first]
    other_game = changed(data, lambda replay: replay.update(name="connectx"))
    bad = {"7.json": data[: int(len(data) * 0.6)], "8.json": b"", "9.json": b"{}", "10.json": other_game}
    put(home, V1, content | bad)
    take_archive(home, V1)
    built = build_day(home, V1)
    assert [c.name for c in built.checks if c.blocks] == ["quarantine_fraction"]
    assert "4 of 9 episodes quarantined" in check(built, "quarantine_fraction").message
    lines = [json.loads(line) for line in (home.quarantine / f"{V1}.jsonl").read_text().splitlines()]
    assert {line["member"] for line in lines} == set(bad) and all(line["reason"] and line["detail"] for line in lines)
    with DayReader(built.path) as reader:
        assert set(reader.read(["episode_id"])["episode_id"]) == {int(name[:-5]) for name in content}
    assert states(home, V1) == ["failed"]
    with pytest.raises(DayError, match=r"is failed \(check quarantine_fraction failed\)"):
        promote_day(home, V1)
    again = build_day(home, V1, max_quarantine_frac=0.5)
    assert again.reused and again.passed and states(home, V1) == ["staged"]
    assert promote_day(home, V1).passed and states(home, V1) == ["validated"]


def test_actions_shifted_by_one_step_never_become_rows(home):
    def shift(replay):
        steps = replay["steps"]
        for before, after in itertools.pairwise(steps):
            for seat in (0, 1):
                before[seat]["action"] = after[seat]["action"]

    put(home, V1, {name: changed(data, shift) for name, data in members().items()})
    take_archive(home, V1)
    built = build_day(home, V1)
    assert not built.passed and built.facts["rows"] == 0 and sum(built.facts["quarantined"].values()) == 5
    with pytest.raises(DayError, match="failed"):
        promote_day(home, V1)


def test_the_same_id_with_other_content_on_another_day_stops_the_build_and_names_both(staged):
    content = members()
    first, second = list(content)[:2]
    put(staged, "2026-08-16", {first: renamed(content[second], int(first[:-5]))})
    take_archive(staged, "2026-08-16")
    with pytest.raises(EpisodeConflict, match=rf"episode {first[:-5]}: day 2026-08-16 .* day {V1}"):
        build_day(staged, "2026-08-16")
    assert list(staged.staging.glob("2026-08-16/*")) == []


def test_an_episode_of_two_days_is_selected_once_and_one_content_under_two_ids_is_reported(staged):
    promote_day(staged, V1)
    content = members()
    first, second = list(content)[:2]
    put(staged, "2026-08-16", {first: content[first], "5.json": renamed(content[second], 5)})
    take_archive(staged, "2026-08-16")
    built = build_day(staged, "2026-08-16")
    assert built.passed and not check(built, "catalog_same_content").passed
    assert second[:-5] in check(built, "catalog_same_content").message
    promote_day(staged, "2026-08-16")
    with catalog(staged) as connection:
        days = select_days(connection, Selection(all_days=True))
    assert [(day.kept, day.repeated) for day in days] == [(None, 0), ((5,), 1)]


def test_a_day_of_draws_has_games_and_no_rows_and_is_never_selected(home):
    def draw(replay):
        replay["rewards"] = [0, 0]
        text = json.dumps(replay["steps"][0][0].get("visualize"))
        assert '"result"' in text
        for frame in replay["steps"][0][0]["visualize"]:
            for log in frame["logs"]:
                if log.get("reason") is not None:
                    log["result"] = 2

    put(home, V1, {name: changed(data, draw) for name, data in list(members().items())[:1]})
    take_archive(home, V1)
    built = build_day(home, V1)
    assert built.facts["excluded"] == {"draw": 1} and built.facts["rows"] == 0
    assert built.passed and promote_day(home, V1).passed
    with catalog(home) as connection:
        assert connection.execute("SELECT outcome, excluded FROM games").fetchone()[:] == (0, "draw")


def test_a_day_that_was_not_taken_and_one_that_is_no_day_are_named(home):
    with pytest.raises(UnknownId, match="2026-08-15 is not in the catalog"):
        build_day(home, V1)
    with pytest.raises(NotADay, match="yesterday"):
        build_day(home, "yesterday")
    with pytest.raises(DayError, match="workers 0"):
        list(processed(None, V1, frozenset(), 0))


def test_an_archive_that_changed_on_disk_is_refused(staged):
    path = next(staged.archives.glob("*/*.zip"))
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    with pytest.raises(IntegrityError, match="has SHA-256"):
        build_day(staged, V1)


def test_a_worker_that_dies_is_one_clear_error():
    with open_archive(GOLDEN / f"{V1}.zip") as archive:
        gone = SimpleNamespace(path=GOLDEN / "gone.zip", members=archive.members)
        with pytest.raises(DayError, match=r"a worker process died at or after members 85000001\.json"):
            list(processed(gone, V1, frozenset(), 2))


def test_a_build_that_was_killed_before_the_catalog_knew_is_taken_up(home, monkeypatch):
    put(home, V1, members())
    take_archive(home, V1)
    with monkeypatch.context() as patch:
        patch.setattr(build, "_record", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            build_day(home, V1)
    assert states(home, V1) == []
    built = build_day(home, V1)
    assert built.reused and built.passed and states(home, V1) == ["staged"]


def test_a_damaged_staged_file_is_built_again(staged):
    path = next(staged.staging.glob(f"{V1}/*/rows.parquet"))
    path.write_bytes(path.read_bytes()[:-1] + b"x")
    built = build_day(staged, V1)
    assert not built.reused and built.passed


def test_other_code_is_another_build_even_of_the_same_rows(staged, monkeypatch):
    first = promote_day(staged, V1)
    monkeypatch.setattr("tcg_core.base.stage.code_version", lambda asset: "other")
    second = build_day(staged, V1)
    assert second.id != first.id and not second.reused and second.path.name != first.path.name
    assert states(staged, V1) == ["staged", "validated"]
    promoted = promote_day(staged, V1)
    assert promoted.id == second.id and states(staged, V1) == ["superseded", "validated"]
    assert registry.find(staged, "parquet_day", first.id) == first.path


def test_promotion_needs_every_check(staged):
    id = registry.rows_of(staged, "staged_day")[0].id
    checks = registry.checks_of(staged, "staged_day", id)
    registry.record_checks(staged, "staged_day", id, [c for c in checks if c.name != "row_coverage"])
    with pytest.raises(ChecksNotPassed, match="row_coverage absent"):
        promote_day(staged, V1)
    assert states(staged, V1) == ["staged"]
