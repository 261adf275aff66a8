"""What a home needs a person for: told once, closed when it is mended, whoever found it and however it was mended."""

import json
import os
from datetime import UTC, datetime, timedelta

import pytest

from tcg_core.alerts.incidents import incident, keep_told, notify, open_incidents
from tcg_core.alerts.watch import findings, watch
from tcg_core.base.checks import Check
from tcg_core.catalog import registry
from tcg_core.catalog.connection import catalog
from tcg_core.catalog.datasets import datasets_of
from tcg_core.catalog.kinds import DAY
from tcg_core.days.build import build_day
from tcg_core.days.promote import promote_day, verify_day
from tcg_core.ops import record
from tcg_core.ops.backup import backup
from tests.ops.chain import day


class Heard:
    """A channel that remembers, and fails as often as it is told to."""

    name = "heard"

    def __init__(self, failures: int = 0) -> None:
        self.failures, self.titles = failures, []

    def send(self, title, text):
        if self.failures:
            self.failures -= 1
            return "it is down"
        self.titles.append(title)
        return ""


def titles(home, nightly=False):
    return [item.title for item in findings(home, nightly)]


def test_a_fresh_home_and_a_fresh_day_need_nobody(home):
    assert titles(home, nightly=True) == []
    day(home, "2026-08-01")
    assert titles(home, nightly=True) == []


def test_a_damaged_day_is_told_once_and_closed_when_it_is_built_again(real_day):
    home, name = real_day
    with catalog(home) as connection:
        [row] = datasets_of(connection, name, "validated")
    (home.root / row.path / "rows.parquet").write_bytes(b"no rows")
    verify_day(home, name)
    first = watch(home, nightly=False)
    assert [item.title for item in first.opened] == [f"tcg: day {name} is damaged and out of training"]
    [told] = first.opened
    assert "rows.parquet" in told.what and f"tcg day build {name}" in told.first and f"partition={name}" in told.link
    again = watch(home, nightly=False)
    assert again.opened == () and again.closed == () and len(again.still) == 1
    assert [held.count for held in open_incidents(home)] == [1]
    assert build_day(home, name).passed and promote_day(home, name).passed
    assert [item.key for item in watch(home, nightly=False).closed] == [told.key]
    assert open_incidents(home) == []


def test_a_damaged_archive_is_told_until_it_verifies(home):
    made = day(home, "2026-08-01")
    broken = Check("archive_intact", False, "archive x has SHA-256 1, expected 2", "WARN")
    registry.record_checks(home, DAY, made.id, [Check("intact", True, "fine"), broken])
    assert titles(home) == ["tcg: the archive of 2026-08-01 is not what was taken"]
    registry.record_checks(home, DAY, made.id, [Check("intact", True, "fine")])
    assert titles(home) == []


def test_a_missed_deadline_is_told_and_closed_by_the_next_day(home):
    day(home, "2026-08-01")
    with catalog(home) as connection:
        connection.execute("UPDATE days SET taken_at = ?", ((datetime.now(UTC) - timedelta(hours=37)).isoformat(),))
    [late] = watch(home, nightly=True).opened
    assert late.title == "tcg: no new validated day for 36 h" and "inbox_sensor" in late.first
    assert late.link.endswith("/assets/parquet_day")
    (home.root / "maintenance.json").write_text(json.dumps({"day_hours": 40}))
    assert [item.title for item in watch(home, nightly=True).closed] == [late.title]
    (home.root / "maintenance.json").unlink()
    assert len(watch(home, nightly=True).opened) == 1, "the same later is a new incident"
    day(home, "2026-08-02")
    assert len(watch(home, nightly=True).closed) == 1


def test_a_backup_that_is_too_old_or_gone_is_told(home, tmp_path):
    day(home, "2026-08-01")
    assert titles(home) == []
    (home.root / "maintenance.json").write_text(json.dumps({"backup_to": str(tmp_path / "b")}))
    assert titles(home) == [], "it was only just configured"
    written = (datetime.now(UTC) - timedelta(hours=49)).timestamp()
    os.utime(home.root / "maintenance.json", (written, written))
    assert titles(home) == ["tcg: no backup for 48 h"]
    backup(home, tmp_path / "b")
    assert titles(home) == []
    old = (datetime.now(UTC) - timedelta(hours=49)).strftime("%Y%m%dT%H%M%S.%fZ")
    [path] = (tmp_path / "b" / record.RECORDS).glob("*.json")
    path.rename(path.with_name(f"{old}-00000000.json"))
    assert titles(home) == ["tcg: no backup for 48 h"]


@pytest.mark.parametrize("name", ["maintenance", "retention", "nightly"])
def test_a_broken_file_is_told_and_does_not_hide_the_rest(home, name):
    (home.root / f"{name}.json").write_text(json.dumps({"unknown": 1}))
    [found] = findings(home, nightly=True)
    assert found.title == f"tcg: {name}.json cannot be read" and "unknown" in found.what


def test_a_channel_that_was_down_is_told_later_and_only_it(home):
    found, heard = incident("x", "y", "z"), Heard(failures=1)
    assert keep_told(home, "", [found], to=[heard]).problems == ("heard: it is down",)
    assert keep_told(home, "", [found], to=[heard]).problems == () and len(heard.titles) == 1
    keep_told(home, "", [found], to=[heard])
    assert len(heard.titles) == 1


def test_incidents_of_failed_runs_are_left_alone(home):
    notify(home, incident("nightly", "work_plan", "the selection is empty"), to=())
    assert watch(home, nightly=False).closed == () and len(open_incidents(home)) == 1
