import errno
import zipfile
from pathlib import Path

import pytest

from tcg_core.base.home import NotADay
from tcg_core.catalog import catalog, registry
from tcg_core.catalog.days import day_row
from tcg_core.days import take
from tcg_core.days.errors import DayError
from tcg_core.days.take import ARCHIVE_CHECKS, add_archive, archive_checks, take_archive
from tcg_core.replay.archive import ArchiveError, open_archive
from tests.days.conftest import GOLDEN, V1
from tests.days.replays import members, put


def test_an_archive_moves_to_its_place_and_is_taken_once(home):
    inbox = add_archive(home, GOLDEN / f"{V1}.zip")
    assert add_archive(home, GOLDEN / f"{V1}.zip") == inbox
    first = take_archive(home, V1)
    assert not inbox.exists() and first.path == home.archives / V1 / f"{first.facts['sha256']}.zip"
    assert {check.name for check in first.checks} == set(ARCHIVE_CHECKS) and first.passed and not first.reused
    assert registry.require_passed(home, "day_archive", first.id, ARCHIVE_CHECKS) == first.path
    assert take_archive(home, V1).reused
    add_archive(home, GOLDEN / f"{V1}.zip")
    assert take_archive(home, V1).reused and not inbox.exists()


def test_what_is_no_archive_is_one_clear_error_and_stays_where_it_is(home):
    whole = (GOLDEN / f"{V1}.zip").read_bytes()
    for data, what in (
        (b"no zip", "not a readable zip"),
        (b"", "not a readable zip"),
        (whole[: len(whole) // 2], "not a readable zip"),
    ):
        (home.inbox / f"{V1}.zip").write_bytes(data)
        with pytest.raises(ArchiveError, match=what):
            take_archive(home, V1)
        assert (home.inbox / f"{V1}.zip").read_bytes() == data and not list(home.archives.glob("*/*"))
    put(home, V1, {})
    with pytest.raises(ArchiveError, match="no members"):
        take_archive(home, V1)
    with pytest.warns(UserWarning), zipfile.ZipFile(home.inbox / f"{V1}.zip", "w") as archive:
        archive.writestr("1.json", b"{}")
        archive.writestr("1.json", b"{}")
    with pytest.raises(ArchiveError, match="episode 1 twice"):
        take_archive(home, V1)


def test_an_empty_inbox_and_a_name_that_is_no_day_are_named(home):
    with pytest.raises(DayError, match=rf"there is no .*{V1}\.zip"):
        take_archive(home, V1)
    with pytest.raises(NotADay):
        take_archive(home, "2026-02-30")


def test_a_lost_archive_is_named(home):
    add_archive(home, GOLDEN / f"{V1}.zip")
    take_archive(home, V1).path.unlink()
    with pytest.raises(DayError, match="is missing; put"):
        take_archive(home, V1)


def test_the_day_of_name_order_and_archive_must_agree(home, tmp_path):
    with pytest.raises(DayError, match=rf"named for day {V1}, but day 2026-08-16"):
        add_archive(home, GOLDEN / f"{V1}.zip", "2026-08-16")
    odd = tmp_path / "download.zip"
    odd.write_bytes((GOLDEN / f"{V1}.zip").read_bytes())
    with pytest.raises(DayError, match="its name is no day"):
        add_archive(home, odd)
    assert add_archive(home, odd, "2026-08-16").name == "2026-08-16.zip"
    put(home, "2026-08-16", dict(list(members().items())[:1]))
    with pytest.raises(DayError, match="other content"):
        add_archive(home, odd, "2026-08-16")
    with zipfile.ZipFile(odd, "a") as archive:
        archive.comment = b'{"settings": {"date": "2026-08-01"}}'
    with pytest.raises(DayError, match="of day 2026-08-01, expected 2026-08-17"):
        add_archive(home, odd, "2026-08-17")
    odd.rename(home.inbox / "2026-08-17.zip")
    with pytest.raises(DayError, match="of day 2026-08-01, expected 2026-08-17"):
        take_archive(home, "2026-08-17")


def test_a_move_across_devices_copies(home, monkeypatch):
    inbox = add_archive(home, GOLDEN / f"{V1}.zip")
    original = Path.replace

    def across(self, target):
        if self == inbox:
            raise OSError(errno.EXDEV, "Invalid cross-device link")
        return original(self, target)

    monkeypatch.setattr(Path, "replace", across)
    assert take_archive(home, V1).passed and not inbox.exists()


def test_an_archive_moved_but_not_recorded_is_taken_up(home, monkeypatch):
    add_archive(home, GOLDEN / f"{V1}.zip")
    with monkeypatch.context() as patch:
        patch.setattr(take, "record_archive", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            take_archive(home, V1)
    built = take_archive(home, V1)
    assert built.reused and built.passed
    with catalog(home) as connection:
        assert day_row(connection, V1).archive_sha256 == built.facts["sha256"]


def test_each_archive_check_fires(home):
    add_archive(home, GOLDEN / f"{V1}.zip")
    path = take_archive(home, V1).path
    with catalog(home) as connection, open_archive(path) as archive:
        row = day_row(connection, V1)
        connection.execute("UPDATE days SET archive_bytes = archive_bytes + 1")
        other = day_row(connection, V1)
        failed = [check.name for check in archive_checks(archive, other) if not check.passed]
        assert failed == ["archive_complete"] and all(check.passed for check in archive_checks(archive, row))
        archive.members = archive.members * 2
        failed = {check.name for check in archive_checks(archive, row) if not check.passed}
        assert "no_duplicate_members" in failed
        archive.members = archive.members * 20
        assert "sizes_sane" in {check.name for check in archive_checks(archive, row) if not check.passed}
