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


def older(home, *datasets):
    """A catalog of version 5 with one day and its datasets: (id, state, when it changed, archive, below which folder)."""
    connection = open_catalog(home.catalog, MIGRATIONS[:5])
    connection.execute(
        "INSERT INTO days VALUES ('2026-08-01', ?, 'archives/x.zip', 1, 1, 'd', 3, 'then', 'then')",
        (PRESENT,),
    )
    for id, state, at, archive, folder in datasets:
        reason = "why" if state in ("failed", "damaged", "excluded", "stale") else None
        connection.execute(
            "INSERT INTO datasets VALUES (?, '2026-08-01', ?, ?, ?, ?, 1, 1, 1, 1, 'v1', 's', 'c', ?, 'then', ?)",
            (id * 16, state, reason, f"{folder}/2026-08-01/{id * 12}", "0" * 64, archive, at),
        )
    connection.close()


PRESENT, FORMER = "a" * 64, "b" * 64


@pytest.mark.parametrize(
    ("datasets", "states"),
    [
        ([("1", "stale", "2", PRESENT, "days")], {"1": "validated"}),
        ([("1", "stale", "2", FORMER, "days")], {"1": "superseded"}),
        ([("1", "stale", "2", PRESENT, "staging")], {"1": "superseded"}),
        ([("1", "stale", "2", PRESENT, "days"), ("2", "validated", "3", PRESENT, "days")], {"1": "superseded", "2": "validated"}),
        ([("1", "stale", "3", PRESENT, "days"), ("2", "stale", "2", PRESENT, "days")], {"1": "validated", "2": "superseded"}),
        ([("1", "stale", "2", PRESENT, "days"), ("2", "stale", "2", PRESENT, "days")], {"1": "superseded", "2": "validated"}),
        ([("1", "stale", "2", PRESENT, "days"), ("2", "excluded", "3", PRESENT, "days")], {"1": "superseded", "2": "excluded"}),
        ([("1", "stale", "4", PRESENT, "days"), ("2", "excluded", "3", PRESENT, "days")], {"1": "validated", "2": "excluded"}),
        ([("1", "stale", "2", PRESENT, "days"), ("2", "damaged", "3", PRESENT, "days")], {"1": "superseded", "2": "damaged"}),
        ([("1", "stale", "2", PRESENT, "days"), ("2", "staged", "3", PRESENT, "staging")], {"1": "validated", "2": "staged"}),
        ([("1", "stale", "2", PRESENT, "days"), ("2", "failed", "3", PRESENT, "staging")], {"1": "validated", "2": "failed"}),
    ],
)
def test_stale_datasets_of_an_older_catalog_become_what_is_right(home, datasets, states):
    older(home, *datasets)
    with catalog(home) as connection:
        rows = connection.execute("SELECT * FROM datasets").fetchall()
        assert {row["dataset_id"][0]: row["state"] for row in rows} == states
        assert all(row["reason"] is None for row in rows if row["state"] == "validated")
        assert [row["changed_at"] for row in rows] == [at for _, _, at, *_ in sorted(datasets)]
        assert connection.execute("SELECT archive_sha256, taken_at FROM days").fetchall()[0][:] == (PRESENT, "then")
        with pytest.raises(sqlite3.IntegrityError):
            connection.execute("UPDATE datasets SET state = 'stale'")
        if "validated" in states.values():
            with pytest.raises(sqlite3.IntegrityError, match="UNIQUE"):
                connection.execute(
                    "INSERT INTO datasets SELECT 'eeeeeeeeeeeeeeee', day, 'validated', NULL, path, sha256, bytes, rows, episodes,"
                    " row_groups, generations, schema_digest, code, archive_sha256, created_at, changed_at, NULL FROM datasets"
                )


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
