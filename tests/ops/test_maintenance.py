"""maintenance.json: defaults that run, unknown keys and impossible values refused by name."""

import json

import pytest

from tcg_core.base.errors import ConfigError
from tcg_core.ops.maintenance import FILE, Maintenance, backing_up_to, load_maintenance


def test_without_a_file_nothing_is_backed_up_and_nothing_removed(home):
    found = load_maintenance(home)
    assert found == Maintenance() and found.destination is None and not found.retention_apply


def test_what_is_written_is_read(home, tmp_path):
    (home.root / FILE).write_text(json.dumps({"audit_at": "04:05", "backup_to": str(tmp_path), "zone": "Europe/Berlin"}))
    found = load_maintenance(home)
    assert (found.audit.cron, found.destination, found.zone) == ("5 4 * * *", tmp_path, "Europe/Berlin")


@pytest.mark.parametrize(
    ("values", "named"),
    [
        ({"audit_hour": 3}, "maintenance.json: unknown key audit_hour"),
        ({"audit_at": "25:00"}, "audit_at '25:00'"),
        ({"zone": "Mars/Olympus"}, "zone 'Mars/Olympus'"),
        ({"audit_nights": 0}, "audit_nights is 0, expected 1 or more"),
        ({"backup_keep": 0}, "backup_keep is 0"),
        ({"history_days": 0}, "history_days is 0"),
        ({"day_hours": -1}, "day_hours is -1"),
        ({"backup_to": "backups"}, "backup_to 'backups' is not absolute"),
        ({"retention_apply": "yes"}, "retention_apply"),
    ],
)
def test_what_is_wrong_is_named(home, values, named):
    (home.root / FILE).write_text(json.dumps(values))
    with pytest.raises(ConfigError) as refused:
        load_maintenance(home)
    assert named in str(refused.value)


def test_a_file_that_is_no_json_is_named(home):
    (home.root / FILE).write_text("{")
    with pytest.raises(ConfigError, match=r"maintenance\.json is not JSON"):
        load_maintenance(home)


def test_a_destination_by_hand_replaces_the_configured_one():
    assert backing_up_to(Maintenance(backup_to="/a"), "/b").backup_to == "/b"
    assert backing_up_to(Maintenance(backup_to="/a"), "").backup_to == "/a"
