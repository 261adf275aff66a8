import pytest

from tcg_core.catalog import catalog, registry, verify
from tcg_core.catalog.datasets import datasets_of, mark
from tcg_core.catalog.errors import SelectionEmpty
from tcg_core.catalog.selection import select_days
from tcg_core.days import promote
from tcg_core.days.build import build_day
from tcg_core.days.errors import DayError
from tcg_core.days.promote import promote_day, verify_day
from tcg_core.days.take import take_archive
from tcg_core.ops.rebuild import rebuild
from tcg_core.recipe import Selection
from tests.catalog.helpers import users_of
from tests.days.conftest import V1
from tests.days.replays import members, put


def state(home):
    with catalog(home) as connection:
        return [row.state for row in datasets_of(connection, V1)]


def selected(home):
    with catalog(home) as connection:
        return select_days(connection, Selection(all_days=True), full=True)


def flip(path, position=None):
    data = bytearray(path.read_bytes())
    data[len(data) // 2 if position is None else position] ^= 0xFF
    path.write_bytes(data)


def test_promotion_moves_the_day_and_selection_finds_it(staged):
    with pytest.raises(SelectionEmpty):
        selected(staged)
    built = promote_day(staged, V1)
    assert built.passed and not built.reused and built.path.parent == staged.days / V1
    assert not list(staged.staging.glob(f"{V1}/*"))
    day = selected(staged)[0]
    assert (day.path, day.rows, day.dataset_id) == (built.path / "rows.parquet", 287, built.id)
    assert registry.require_passed(staged, "parquet_day", built.id, ["intact"]) == built.path
    again = promote_day(staged, V1)
    assert again.reused and again.id == built.id
    assert all(check.passed for check in verify(staged))


def test_a_crash_between_rename_and_commit_is_healed(staged, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(promote, "validate", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            promote_day(staged, V1)
    assert state(staged) == ["staged"] and list(staged.days.glob(f"{V1}/*/rows.parquet"))
    assert build_day(staged, V1).reused
    assert promote_day(staged, V1).passed and state(staged) == ["validated"]


def test_one_damaged_byte_takes_the_day_out_of_selection_until_it_is_built_again(staged):
    path = promote_day(staged, V1).path / "rows.parquet"
    assert all(check.passed for check in verify_day(staged, V1))
    flip(path)
    check = verify_day(staged, V1)[0]
    assert not check.passed and "rows.parquet: expected SHA-256" in check.message
    assert state(staged) == ["damaged"]
    with pytest.raises(SelectionEmpty):
        selected(staged)
    with pytest.raises(DayError, match="is damaged"):
        verify_day(staged, V1)
    with pytest.raises(DayError, match="no staged dataset"):
        promote_day(staged, V1)
    assert not build_day(staged, V1).reused
    assert promote_day(staged, V1).passed and state(staged) == ["validated"]
    assert len(selected(staged)) == 1


def test_a_staged_day_damaged_after_its_checks_is_not_promoted(staged):
    flip(next(staged.staging.glob(f"{V1}/*/rows.parquet")))
    built = promote_day(staged, V1)
    assert not built.passed and state(staged) == ["failed"]
    assert build_day(staged, V1).passed
    assert promote_day(staged, V1).passed and state(staged) == ["validated"]


def test_another_archive_supersedes_at_once_and_the_old_files_stay(staged):
    old = promote_day(staged, V1)
    put(staged, V1, dict(list(members().items())[:2]))
    assert take_archive(staged, V1).passed
    assert state(staged) == ["superseded"] and old.path.is_dir()
    with pytest.raises(DayError, match="is superseded"):
        promote_day(staged, V1)
    build_day(staged, V1)
    new = promote_day(staged, V1)
    assert new.id != old.id and sorted(state(staged)) == ["superseded", "validated"]
    assert selected(staged)[0].episodes == 2


def test_an_excluded_day_stays_excluded_when_it_is_built_again(staged):
    built = promote_day(staged, V1)
    with catalog(staged) as connection:
        mark(connection, V1, built.id, "excluded", "bots only")
    assert build_day(staged, V1).reused and state(staged) == ["excluded"]


def test_a_damaged_archive_is_a_warning_of_verify_day(staged):
    promote_day(staged, V1)
    flip(next(staged.archives.glob(f"{V1}/*.zip")))
    first, second = verify_day(staged, V1)
    assert first.passed and not second.passed and second.severity == "WARN" and state(staged) == ["validated"]


def test_catalog_verify_names_what_is_on_one_side_only(staged):
    built = promote_day(staged, V1)
    stray = staged.days / V1 / "0123456789ab"
    stray.mkdir()
    (staged.archives / V1 / ("f" * 64 + ".zip")).write_bytes(b"zip")
    with catalog(staged) as connection:
        connection.execute("PRAGMA foreign_keys = OFF")
        connection.execute("UPDATE episodes SET episode_id = 1, member = '1.json' WHERE episode_id = 85000001")
    checks = {check.name: check for check in verify(staged)}
    assert "ffff" in checks["archives"].message and "0123456789ab" in checks["datasets"].message
    assert "only in the archive: 85000001.json" in checks["members"].message
    assert "only in the catalog: 1.json" in checks["members"].message
    assert "only in the Parquet: 85000001" in checks["rows"].message and "only in the catalog: 1" in checks["rows"].message
    built.path.rename(staged.root / "gone")
    assert "is missing" in {check.name: check for check in verify(staged)}["datasets"].message


def test_the_registry_of_days_is_rebuilt_from_disk(staged):
    built = promote_day(staged, V1)
    before = {(row.kind, row.id, row.state) for row in registry.rows_of(staged)}
    staged.catalog.unlink()
    rebuild(staged)
    after = {(row.kind, row.id, row.state) for row in registry.rows_of(staged)}
    assert after == before and ("staged_day", built.id, "passed") in after
    archive = registry.rows_of(staged, "day_archive")[0].id
    assert users_of(staged, "day_archive", archive) == [("parquet_day", built.id), ("staged_day", built.id)]
