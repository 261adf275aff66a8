import sqlite3
from datetime import datetime

import pytest

from tcg_core.catalog.connection import catalog, home_of, now, open_catalog, transaction, version_of
from tcg_core.catalog.errors import CatalogError
from tcg_core.catalog.filesystem import network_type, parse_darwin, parse_linux
from tcg_core.catalog.schema import MIGRATIONS, VERSION


def test_a_new_catalog_is_strict_wal_and_keeps_foreign_keys(home):
    with catalog(home) as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone()[0] == "wal"
        assert connection.execute("PRAGMA foreign_keys").fetchone()[0] == 1
        assert version_of(connection) == VERSION
        tables = connection.execute(
            "SELECT name, strict FROM pragma_table_list WHERE schema = 'main' AND type = 'table'"
        ).fetchall()
        loose = [row["name"] for row in tables if not row["strict"] and not row["name"].startswith("sqlite_")]
        assert loose == []
        wanted = {"schema_migrations", "days", "datasets", "episodes", "games", "participants", "decks", "agents"}
        assert wanted | {"agent_elo_daily", "artifacts", "artifact_inputs", "artifact_checks"} <= {row["name"] for row in tables}
        assert home_of(connection).root == home.root


def test_version_1_is_upgraded_in_place(home):
    old = open_catalog(home.catalog, MIGRATIONS[:1])
    old.execute("INSERT INTO agents (name) VALUES ('kept')")
    assert version_of(old) == 1
    old.close()
    with catalog(home) as connection:
        assert version_of(connection) == VERSION
        assert connection.execute("SELECT name FROM agents").fetchone()["name"] == "kept"
        assert connection.execute("SELECT count(*) FROM artifacts").fetchone()[0] == 0


def test_a_newer_catalog_is_refused(home):
    with catalog(home) as connection:
        connection.execute("INSERT INTO schema_migrations VALUES (99, 'later', 'now')")
    with pytest.raises(CatalogError, match="version 99"), catalog(home):
        pass


def test_a_file_that_is_no_catalog_is_refused(home):
    home.catalog.write_bytes(b"not a database at all, but long enough to be read as one" * 20)
    with pytest.raises(CatalogError, match="cannot be used"), catalog(home):
        pass


def test_another_programs_database_is_refused(home):
    other = sqlite3.connect(home.catalog)
    other.execute("CREATE TABLE theirs (x)")
    other.close()
    with pytest.raises(CatalogError, match="theirs"), catalog(home):
        pass


def test_an_error_rolls_the_transaction_back(home):
    with catalog(home) as connection:
        with pytest.raises(RuntimeError), transaction(connection):
            connection.execute("INSERT INTO agents (name) VALUES ('gone')")
            raise RuntimeError
        assert connection.execute("SELECT count(*) FROM agents").fetchone()[0] == 0


def test_constraints_refuse_what_makes_no_sense(home):
    with catalog(home) as connection:
        for day in ("2026-02-30", "yesterday", "2026-8-01"):
            with pytest.raises(sqlite3.IntegrityError):
                connection.execute("INSERT INTO agent_elo_daily VALUES (1, ?, 'remote', 1.0, 0, 0, 0, 0)", (day,))
        with pytest.raises(sqlite3.IntegrityError):
            connection.execute("INSERT INTO participants VALUES ('2026-08-01', 1, 0, 1, 'x')")


def test_network_file_systems_are_told_apart(tmp_path):
    table = parse_linux("/dev/a / ext4 rw 0 0\nserver:/x /mnt/team nfs4 rw 0 0\n/dev/b /mnt/team/local\\040disk xfs rw 0 0\n")
    assert network_type(tmp_path.__class__("/mnt/team/data"), table) == "nfs4"
    assert network_type(tmp_path.__class__("/mnt/team/local disk/data"), table) is None
    assert network_type(tmp_path.__class__("/home/data"), table) is None
    table = parse_darwin("/dev/disk1 on / (apfs, local)\n//me@nas/x on /Volumes/My Nas (smbfs, nodev)\n")
    assert network_type(tmp_path.__class__("/Volumes/My Nas/data"), table) == "smbfs"


def test_connect_refuses_a_network_file_system(home, monkeypatch):
    monkeypatch.setattr("tcg_core.catalog.connection.network_type", lambda path: "nfs4")
    with pytest.raises(CatalogError, match=r"network file system \(nfs4\)"), catalog(home):
        pass


def test_what_changed_last_can_be_told_within_one_second() -> None:
    first = now()
    second = now()
    assert first <= second and len(first) == len("2026-08-01T00:00:00.000000Z") and first.endswith("Z")
    assert datetime.fromisoformat(first).tzinfo is not None
