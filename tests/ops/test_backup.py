"""A home that is lost comes back as it was, or the backup says why not."""

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest

from tcg_core.base.atomic import write_bytes, write_json
from tcg_core.base.digest import sha256_file
from tcg_core.base.home import Home
from tcg_core.catalog import registry
from tcg_core.lineage.walk import walk_back
from tcg_core.ops import backup as backup_module
from tcg_core.ops.backup import backup, check_backup, prune
from tcg_core.ops.errors import BackupError, HomeNotEmpty, OpsBusy
from tcg_core.ops.lock import ops_lock
from tcg_core.ops.objects import Store
from tcg_core.ops.record import names_of, read_record
from tcg_core.ops.restore import restore_backup
from tests.ops.chain import chain, day

PROJECT = Path(__file__).resolve().parents[2]
IGNORED = ("ops.lock", "-wal", "-shm", "trainer.lock", "dagster.yaml")


def contents(root: Path) -> dict[str, str]:
    found = {}
    for path in sorted(root.rglob("*")):
        if (
            path.is_file()
            and not path.name.endswith(IGNORED)
            and "cache" not in path.parts
            and not path.name.endswith((".sqlite", ".db"))
        ):
            found[path.relative_to(root).as_posix()] = sha256_file(path)
    return found


def dump(path: Path) -> list[str]:
    with closing(sqlite3.connect(path)) as connection:
        return list(connection.iterdump())


@pytest.fixture
def filled(home: Home) -> Home:
    chain(home, "a", (day(home, "2026-08-01"), day(home, "2026-08-02")))
    write_bytes(home.quarantine / "2026-08-01.jsonl", b"{}\n")
    write_bytes(home.dagster / "dagster.yaml", b"storage: elsewhere\n")
    write_bytes(home.root / "trainer.lock", b"1\n")
    write_bytes(home.root / "cache" / "anything.bin", b"made again")
    write_bytes(home.plans / f".tmp-{os.getpid()}-x" / "half", b"half")
    (home.dagster / "storage").mkdir(parents=True)
    # Dagster has a database whose whole name is its suffix.
    for name in ("runs.db", ".db"):
        with closing(sqlite3.connect(home.dagster / "storage" / name)) as connection:
            connection.execute("CREATE TABLE runs (id TEXT)")
            connection.execute("INSERT INTO runs VALUES ('first')")
            connection.commit()
    return home


def test_a_restored_home_is_the_one_that_was_backed_up(filled, tmp_path):
    with closing(sqlite3.connect(filled.dagster / "storage" / "runs.db")) as writer:
        # A writer in the middle of its work: what it has not committed is not in the copy.
        writer.execute("PRAGMA journal_mode = WAL")
        writer.execute("INSERT INTO runs VALUES ('second')")
        writer.commit()
        writer.execute("INSERT INTO runs VALUES ('uncommitted')")
        done = backup(filled, tmp_path / "backup")
    assert not done.record.damaged and done.copied > 10
    other = Home(tmp_path / "other")
    restored = restore_backup(other, tmp_path / "backup")
    assert restored.missing == ()
    expected = {name: sha for name, sha in contents(filled.root).items() if "/.tmp-" not in name}
    assert contents(other.root) == expected and len(expected) > 15
    assert dump(other.catalog) == dump(filled.catalog)
    held = dump(other.dagster / "storage" / "runs.db")
    assert any("first" in line for line in dump(other.dagster / "storage" / ".db"))
    assert any("second" in line for line in held) and not any("uncommitted" in line for line in held)
    assert not (other.dagster / "dagster.yaml").exists() and not (other.root / "trainer.lock").exists()
    assert not (other.root / "cache").exists()
    assert {n.state for n in walk_back(other, other.submissions / "submission-a")} == {"intact"}
    newest = max((p for p in filled.root.rglob("recorded.json")), key=lambda p: p.stat().st_mtime_ns)
    assert (other.root / newest.relative_to(filled.root)).stat().st_mtime_ns == newest.stat().st_mtime_ns


def test_a_second_backup_copies_only_what_is_new_and_both_can_be_restored(filled, tmp_path):
    first = backup(filled, tmp_path / "backup")
    chain(filled, "b", (day(filled, "2026-08-03"),))
    second = backup(filled, tmp_path / "backup")
    new = {e.path for e in second.record.entries} - {e.path for e in first.record.entries}
    assert any("plan-b" in path for path in new)
    assert second.copied <= len(new) + 1  # the catalog changed too
    restore_backup(Home(tmp_path / "old"), tmp_path / "backup", first.record.name)
    assert not (tmp_path / "old" / "plans" / "plan-b").exists()
    restore_backup(Home(tmp_path / "new"), tmp_path / "backup")
    assert (tmp_path / "new" / "plans" / "plan-b").is_dir()


def test_a_home_that_holds_anything_is_refused_and_left_alone(filled, tmp_path):
    backup(filled, tmp_path / "backup")
    other = Home(tmp_path / "other").prepare()
    write_bytes(other.decks / "mine.csv", b"1\n")
    with pytest.raises(HomeNotEmpty, match=r"decks/mine\.csv"):
        restore_backup(other, tmp_path / "backup")
    assert contents(other.root) == {"decks/mine.csv": sha256_file(other.decks / "mine.csv")}


def test_a_damaged_or_missing_object_is_found_by_check_and_by_restore(filled, tmp_path):
    record = backup(filled, tmp_path / "backup").record
    victim = next(e for e in record.entries if e.path.startswith("plans/") and e.path.endswith("file.bin"))
    path = Store(tmp_path / "backup").path_of(victim.sha256)
    path.chmod(0o644)
    data = path.read_bytes()
    path.write_bytes(data[:-1] + b"?")
    with pytest.raises(BackupError, match=victim.sha256[:12]):
        check_backup(tmp_path / "backup")
    with pytest.raises(BackupError, match="is damaged"):
        restore_backup(Home(tmp_path / "other"), tmp_path / "backup")
    path.unlink()
    with pytest.raises(BackupError, match="is missing"):
        restore_backup(Home(tmp_path / "other"), tmp_path / "backup")
    path.write_bytes(data)
    assert check_backup(tmp_path / "backup") == record
    assert restore_backup(Home(tmp_path / "other"), tmp_path / "backup").written > 0


def test_a_changed_record_is_refused(filled, tmp_path):
    done = backup(filled, tmp_path / "backup")
    values = json.loads(done.path.read_text())
    values["entries"][0]["path"] = "elsewhere"
    write_json(done.path, values)
    with pytest.raises(BackupError, match="was changed"):
        restore_backup(Home(tmp_path / "other"), tmp_path / "backup")


def test_a_record_that_leads_out_of_the_home_is_refused(filled, tmp_path):
    from dataclasses import replace

    from tcg_core.ops.record import write_record

    record = backup(filled, tmp_path / "backup").record
    evil = replace(record.entries[0], path="../outside")
    write_record(tmp_path / "backup", replace(record, made_at="2099-01-01T00:00:00Z", entries=(evil,)))
    with pytest.raises(BackupError, match="outside the data home"):
        restore_backup(Home(tmp_path / "other"), tmp_path / "backup")
    assert not (tmp_path / "outside").exists()


def test_a_damaged_file_of_the_home_is_named_and_an_earlier_backup_has_it_whole(filled, tmp_path):
    whole = (filled.plans / "plan-a" / "file.bin").read_bytes()
    backup(filled, tmp_path / "good")
    (filled.plans / "plan-a" / "file.bin").write_bytes(whole + b"!")
    [line] = backup(filled, tmp_path / "good").record.damaged
    assert "plan-a/file.bin" in line and "as it was" in line
    restore_backup(Home(tmp_path / "other"), tmp_path / "good")
    assert (tmp_path / "other" / "plans" / "plan-a" / "file.bin").read_bytes() == whole
    fresh = backup(filled, tmp_path / "fresh").record
    assert "plan-a/file.bin" in fresh.damaged[0] and not any("plan-a/file.bin" in e.path for e in fresh.entries)


def test_a_damaged_catalog_gives_no_backup(filled, tmp_path):
    for side in ("-wal", "-shm"):
        Path(f"{filled.catalog}{side}").unlink(missing_ok=True)
    filled.catalog.write_bytes(b"this is no database" * 100)
    with pytest.raises(Exception, match=r"catalog\.sqlite"):
        backup(filled, tmp_path / "backup")
    assert names_of(tmp_path / "backup") == []


def test_places_that_cannot_serve_are_refused(filled, tmp_path, monkeypatch):
    with pytest.raises(BackupError, match="within each other"):
        backup(filled, filled.root / "backup")
    write_bytes(tmp_path / "mine" / "letter.txt", b"x")
    with pytest.raises(BackupError, match=r"letter\.txt"):
        backup(filled, tmp_path / "mine")
    with ops_lock(filled.root, "backup"), pytest.raises(OpsBusy, match=str(os.getpid())):
        backup(filled, tmp_path / "backup")
    monkeypatch.setattr(backup_module, "_SPARE_BYTES", 1 << 60)
    with pytest.raises(BackupError, match="MiB free"):
        backup(filled, tmp_path / "backup")
    with pytest.raises(BackupError, match="no finished backup"):
        restore_backup(Home(tmp_path / "other"), tmp_path / "backup")


def written_step(run: Path, number: int) -> Path:
    write_bytes(run / f"step_{number}" / "weights", b"w%d" % number)
    write_json(run / f"step_{number}" / "manifest.json", {"n": number})
    return run / f"step_{number}"


@pytest.mark.parametrize("when", ["weights", "latest.json"])
def test_a_run_under_way_is_copied_with_what_its_pointers_name(filled, tmp_path, monkeypatch, when):
    run = filled.checkpoints / "running"
    first = written_step(run, 1)
    write_json(run / "latest.json", {"step": 1, "path": "step_1", "sha256": "x"})
    put, moved = Store.put, []

    def moving(self, source, expected):
        if source in (first / when, run / when) and not moved:
            # As the trainer does: a later step is published, the pointer moves, the earlier step goes.
            moved.append(1)
            written_step(run, 2)
            write_json(run / "latest.json", {"step": 2, "path": "step_2", "sha256": "x"})
            shutil.rmtree(first)
        return put(self, source, expected)

    monkeypatch.setattr(Store, "put", moving)
    record = backup(filled, tmp_path / "backup").record
    assert moved and not record.damaged
    held = {e.path for e in record.entries if e.path.startswith("checkpoints/running/")}
    assert held == {f"checkpoints/running/{name}" for name in ("latest.json", "step_2/manifest.json", "step_2/weights")}


def test_a_run_that_never_pauses_is_named(filled, tmp_path, monkeypatch):
    write_json(filled.checkpoints / "running" / "latest.json", {"step": 1, "path": "step_1", "sha256": "x"})
    assert "changed 5 times" in backup(filled, tmp_path / "backup").record.damaged[0]


def test_forgetting_old_backups_removes_only_what_nothing_else_needs(filled, tmp_path):
    first = backup(filled, tmp_path / "backup").record
    (filled.quarantine / "2026-08-01.jsonl").write_bytes(b"changed\n")
    time.sleep(1.1)  # backups are named by the second
    backup(filled, tmp_path / "backup")
    gone, freed = prune(tmp_path / "backup", keep=1)
    assert gone == [first.name] and freed > 0
    check_backup(tmp_path / "backup")
    restore_backup(Home(tmp_path / "other"), tmp_path / "backup")
    assert (tmp_path / "other" / "quarantine" / "2026-08-01.jsonl").read_bytes() == b"changed\n"
    with pytest.raises(BackupError, match="at least one"):
        prune(tmp_path / "backup", keep=0)


CHILD = """
import sys
from pathlib import Path
from tcg_core.base.home import Home
from tcg_core.ops.backup import backup
from tcg_core.ops.restore import restore_backup
what, home, store = sys.argv[1:]
(backup if what == "backup" else restore_backup)(Home(Path(home)), Path(store))
"""


def kill_when(what: str, home: Path, store: Path, ready) -> int:
    child = subprocess.Popen([sys.executable, "-c", CHILD, what, str(home), str(store)], cwd=PROJECT)
    deadline = time.monotonic() + 60
    while child.poll() is None and not ready() and time.monotonic() < deadline:
        time.sleep(0.001)
    child.send_signal(signal.SIGKILL)
    return child.wait(timeout=30)


def test_a_killed_backup_and_a_killed_restore_continue(filled, tmp_path, chance):
    for index in range(200):
        write_bytes(filled.decks / f"{index}.csv", f"deck {index}".encode())
    store, target = tmp_path / "backup", tmp_path / "other"
    stored, written = chance.randint(1, 60), chance.randint(1, 60)
    code = kill_when("backup", filled.root, store, lambda: len(list((store / "objects").glob("??/*"))) >= stored)
    assert code == -signal.SIGKILL and names_of(store) == []
    begun = len(list((store / "objects").glob("??/*")))
    done = backup(filled, store)
    assert done.copied < len(done.record.entries) - begun + 20
    assert not list(store.rglob(".tmp-*"))
    code = kill_when("restore", target, store, lambda: len(list((target / "decks").glob("[!.]*"))) >= written)
    assert code == -signal.SIGKILL and not (target / "catalog.sqlite").exists()
    with pytest.raises(HomeNotEmpty, match="half restored"):
        restore_backup(Home(target), _another(filled, tmp_path))
    finished = restore_backup(Home(target), store)
    assert 0 < finished.written < len(finished.record.entries)
    assert not list(target.rglob(".tmp-*")) and not (target / ".restoring.json").exists()
    expected = {name: sha for name, sha in contents(filled.root).items() if "/.tmp-" not in name}
    assert contents(target) == expected
    assert registry.latest_passed(Home(target), "submission") == "submission-a"


def _another(home: Home, tmp_path: Path) -> Path:
    write_bytes(home.decks / "more.csv", b"more")
    backup(home, tmp_path / "another")
    (home.decks / "more.csv").unlink()
    assert read_record(tmp_path / "another").entries
    return tmp_path / "another"
