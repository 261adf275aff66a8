"""A lost catalog made anew: table by table what it was, whatever kills it; and what it refuses, moves aside and names."""

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from tcg_assets.cli import main as cli
from tcg_assets.cli.show import ChecksFailed
from tcg_core.base.checks import Check
from tcg_core.base.digest import sha256_file
from tcg_core.base.errors import TcgError
from tcg_core.base.home import Home
from tcg_core.base.manifest import read_manifest
from tcg_core.cards.features import card_features
from tcg_core.catalog import registry
from tcg_core.catalog.behind import catalog_behind
from tcg_core.catalog.connection import catalog, open_catalog
from tcg_core.catalog.datasets import datasets_of
from tcg_core.catalog.errors import CatalogError, ChecksNotPassed, RatingsStale
from tcg_core.catalog.promotions import DecisionsLost, champion, promotions_root, record
from tcg_core.catalog.records import DatasetRecord
from tcg_core.catalog.registry import HomeRegistrar, RecordedChecks
from tcg_core.catalog.schema import MIGRATIONS
from tcg_core.catalog.selection import select_days
from tcg_core.catalog.verify import verify
from tcg_core.days import build
from tcg_core.days.build import build_day
from tcg_core.days.drift import field_drift
from tcg_core.days.history import Build, DayDecision, states_of
from tcg_core.days.promote import promote_day, verify_day
from tcg_core.days.states import exclude_day, restore_day
from tcg_core.days.take import take_archive
from tcg_core.engine.cards import load_attacks, load_cards
from tcg_core.ops.rebuild import condition, rebuild
from tcg_core.plan.build import build_plan
from tcg_core.ratings.stage import rate_agents
from tcg_core.recipe import Recipe, Selection, Split
from tests.days.conftest import V1, V2
from tests.days.replays import members, put

#: What a rebuild sets from the times of files instead of the clock of that moment.
TIMES = {"taken_at", "cataloged_at", "created_at", "changed_at", "registered_at", "applied_at", "computed_at"}
#: Tables that are filled by a command that the rebuild names, or as files are used.
LATER = {"agent_elo_daily", "rating_days", "verified_files"}


def tables(home: Home, without: frozenset[str] | set[str] = frozenset()) -> dict[str, list[tuple[object, ...]]]:
    """Every table's rows in the order of its key, without times."""
    found = {}
    with catalog(home) as connection:
        names = [row["name"] for row in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
        for name in sorted(set(names) - without):
            columns = connection.execute(f"PRAGMA table_info({name})").fetchall()
            kept = ", ".join(f'"{column["name"]}"' for column in columns if column["name"] not in TIMES)
            found[name] = sorted((tuple(row) for row in connection.execute(f"SELECT {kept} FROM {name}")), key=repr)
    return found


def lose(home: Home) -> None:
    for file in home.root.glob("catalog.sqlite*"):
        file.unlink()


def selected(home: Home, **values: object) -> list[object]:
    with catalog(home) as connection:
        return select_days(connection, Selection(all_days=True, **values))  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def lived_once(tmp_path_factory: pytest.TempPathFactory) -> Home:
    """A home with a history: a day of each generation, one of them published again and one of its episodes quarantined, a
    build that failed its checks, card tables, drift, ratings, a plan, and a decision about a champion."""
    home = Home(tmp_path_factory.mktemp("lived") / "data").prepare()
    for content in (members(), {**dict(list(members().items())[:3]), "9.json": b"{"}):
        put(home, V1, content)
        take_archive(home, V1)
        build_day(home, V1, max_quarantine_frac=0.5)
        assert promote_day(home, V1).passed
        field_drift(home, V1)
    put(home, V2, members(V2))
    take_archive(home, V2)
    build_day(home, V2)
    assert promote_day(home, V2).passed
    field_drift(home, V2)
    card_features(home, HomeRegistrar(home), {"v1": load_cards("v1")}, {"v1": load_attacks("v1")})
    plan = Recipe(Selection(days=(V1,)), split=Split(val_frac=0.5))
    assert build_plan(home, plan).passed
    record(home, "challenger", "heuristic", "tournament", "promoted", "it won")
    rate_agents(home)
    return home


@pytest.fixture
def lived(lived_once: Home, home: Home) -> Home:
    shutil.rmtree(home.root)
    shutil.copytree(lived_once.root, home.root)
    return home


def test_a_lost_catalog_is_what_it_was_table_by_table(lived):
    before, chosen = tables(lived, LATER), selected(lived)
    rated = tables(lived)["agent_elo_daily"]
    plan = Recipe(Selection(days=(V1,)), split=Split(val_frac=0.5))
    lose(lived)
    found = rebuild(lived)
    after = tables(lived, LATER)
    assert before.keys() == after.keys()
    for table, rows in before.items():
        assert after[table] == rows, table
    assert {name: count for name, count in found.counts.items() if name not in LATER} == {t: len(r) for t, r in before.items()}
    assert len(before["datasets"]) == 3 and len(before["participants"]) > 8 and len(before["artifact_checks"]) > 30
    assert found.missing == () and found.aside == () and condition(lived.catalog) == "healthy"
    assert found.problems == (f"day {V1} has 2 archives: {chosen_archive(lived)}.zip is taken for the present one, by its time",)
    assert selected(lived) == chosen and champion(lived) == "challenger"
    again = build_plan(lived, plan)
    assert again.reused and again.passed
    assert all(check.passed for check in verify(lived)), "disk and catalog agree"
    assert all(check.passed for day in (V1, V2) for check in verify_day(lived, day))
    with pytest.raises(RatingsStale, match="tcg catalog ratings"):
        selected(lived, top_elo=2)
    rate_agents(lived)
    assert tables(lived)["agent_elo_daily"] == rated


def chosen_archive(home: Home) -> str:
    with catalog(home) as connection:
        return str(connection.execute("SELECT archive_sha256 FROM days WHERE day = ?", (V1,)).fetchone()[0])


def test_the_times_of_files_become_the_catalog_s_times(lived):
    with catalog(lived) as connection:
        before = dict(connection.execute("SELECT kind || id || name, checked_at FROM artifact_checks").fetchall())
        order = [tuple(row) for row in connection.execute("SELECT kind, id FROM artifacts ORDER BY sequence")]
    lose(lived)
    rebuild(lived)
    with catalog(lived) as connection:
        assert dict(connection.execute("SELECT kind || id || name, checked_at FROM artifact_checks").fetchall()) == before
        rows = connection.execute("SELECT kind, id, registered_at FROM artifacts ORDER BY sequence").fetchall()
    assert [tuple(row)[:2] for row in rows] == order
    assert [row["registered_at"] for row in rows] == sorted(row["registered_at"] for row in rows)


def test_a_catalog_that_knows_less_than_the_home_is_named_and_rebuilt(lived, monkeypatch):
    before = tables(lived, LATER)
    assert catalog_behind(lived) == ""
    lose(lived)
    assert "does not know 1 decisions about the champion and " in catalog_behind(lived) and not lived.catalog.exists()
    # Somebody builds a day before anybody notices: the new catalog is healthy, and knows one day.
    put(lived, "2026-08-03", {})
    with catalog(lived) as connection:
        connection.execute("INSERT INTO agents (name) VALUES ('new')")
    assert condition(lived.catalog) == "healthy"
    [built] = [path for path in lived.plans.iterdir() if path.is_dir()]
    registry.register(lived, read_manifest(built), built)
    with pytest.raises(ChecksNotPassed, match="lie in checks/, and `tcg catalog rebuild`"):
        registry.require_passed(lived, "work_plan", built.name)
    line = catalog_behind(lived)
    assert "`tcg catalog rebuild`" in line and str(lived.catalog) in line
    with pytest.raises(DecisionsLost, match=r"000001\.json .*`tcg catalog rebuild`"):
        record(lived, "other", "heuristic", "second", "promoted", "it won")
    found = rebuild(lived)
    assert found.aside[0].name.startswith("catalog.sqlite.behind-") and tables(lived, LATER) == before
    assert catalog_behind(lived) == "" and champion(lived) == "challenger"
    with pytest.raises(CatalogError, match="is healthy"):
        rebuild(lived)


def test_status_and_champion_name_the_command(lived, monkeypatch):
    monkeypatch.setenv("TCG_DATA", str(lived.root))
    runner = CliRunner()
    whole = runner.invoke(cli.app, ["champion"])
    assert "champion: challenger" in whole.output
    lose(lived)
    shown = runner.invoke(cli.app, ["champion"])
    assert isinstance(shown.exception, ChecksFailed) and "`tcg catalog rebuild`" in str(shown.exception)
    assert "heuristic" not in shown.output
    assert "WARN: " in (said := runner.invoke(cli.app, ["status"]).output) and "`tcg catalog rebuild`" in said.replace("\n", " ")


KILLED = """
import os, signal, sys
from tcg_core.base.home import Home
from tcg_core.ops import rebuild, refill
owner, name, when = sys.argv[2:5]
owner = refill.Refill if owner == "Refill" else rebuild
inner = getattr(owner, name)
def killed(*arguments):
    found = inner(*arguments) if when == "after" else None
    os.kill(os.getpid(), signal.SIGKILL)
    return found
setattr(owner, name, killed)
rebuild.rebuild(Home(__import__("pathlib").Path(sys.argv[1])))
"""


@pytest.mark.parametrize(
    "moment",
    [
        ("Refill", "_day", "after"),
        ("Refill", "_episodes", "after"),
        ("Refill", "_register", "after"),
        ("rebuild", "_set_aside", "before"),
        ("rebuild", "_set_aside", "after"),
    ],
    ids=lambda moment: "-".join(moment),
)
@pytest.mark.parametrize("damaged", [False, True], ids=["lost", "damaged"])
def test_a_killed_rebuild_is_begun_again(lived, moment, damaged):
    before = tables(lived, LATER)
    if damaged:
        spoil(lived)
        bytes_before = sha256_file(lived.catalog)
    else:
        lose(lived)
    child = subprocess.run([sys.executable, "-c", KILLED, str(lived.root), *moment], env=os.environ, check=False)
    assert child.returncode == -signal.SIGKILL
    kept = [path for path in lived.root.glob("catalog.sqlite*") if sha256_file(path) == (bytes_before if damaged else "")]
    assert len(kept) == damaged, "what was there is there, under its name or aside"
    assert condition(lived.catalog) in ("absent", "damaged"), "never a half-filled catalog under its name"
    rebuild(lived)
    assert tables(lived, LATER) == before
    assert not list(lived.root.glob(".tmp-*")), "what the killed one left is swept"
    if damaged:
        assert bytes_before in [sha256_file(path) for path in lived.root.glob("catalog.sqlite.damaged-*")]


def spoil(home: Home) -> None:
    """Overwrites pages in the middle of the catalog."""
    with catalog(home) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    data = bytearray(home.catalog.read_bytes())
    data[len(data) // 3 : len(data) // 3 + 20_000] = b"x" * 20_000
    home.catalog.write_bytes(bytes(data))


def test_a_damaged_catalog_is_moved_aside_as_it_is(lived):
    before = tables(lived, LATER)
    spoil(lived)
    damaged = sha256_file(lived.catalog)
    assert condition(lived.catalog) == "damaged"
    found = rebuild(lived)
    assert [sha256_file(path) for path in found.aside] == [damaged] and found.aside[0].name.startswith("catalog.sqlite.damaged-")
    assert tables(lived, LATER) == before


def test_a_healthy_catalog_is_refused_and_an_empty_one_is_not(lived):
    before = sha256_file(lived.catalog)
    with pytest.raises(CatalogError, match="is healthy"):
        rebuild(lived)
    assert sha256_file(lived.catalog) == before and not list(lived.root.glob("*.damaged-*"))
    rows = tables(lived, LATER)
    lose(lived)
    with catalog(lived):
        """What any command does first: it makes an empty catalog."""
    assert condition(lived.catalog) == "empty"
    found = rebuild(lived)
    assert found.aside[0].name.startswith("catalog.sqlite.empty-") and tables(lived, LATER) == rows


def test_the_log_of_the_lost_catalog_is_not_taken_for_the_new_one_s(lived):
    before = tables(lived, LATER)
    with catalog(lived) as connection:
        connection.execute("PRAGMA wal_autocheckpoint = 0")
        connection.execute("UPDATE days SET members = 4444")
        log = (lived.root / "catalog.sqlite-wal").read_bytes()
    assert log
    lose(lived)
    (lived.root / "catalog.sqlite-wal").write_bytes(log)
    found = rebuild(lived)
    assert [path.read_bytes() for path in found.aside if path.name.endswith("-wal")] == [log]
    assert tables(lived, LATER) == before and condition(lived.catalog) == "healthy"


def test_a_newer_or_foreign_database_is_refused(home):
    with catalog(home) as connection:
        connection.execute("INSERT INTO schema_migrations VALUES (99, 'later', 'now')")
    with pytest.raises(CatalogError, match="version 99"):
        rebuild(home)
    lose(home)
    with sqlite3.connect(home.catalog) as other:
        other.execute("CREATE TABLE theirs (x)")
    other.close()
    with pytest.raises(CatalogError, match="theirs"):
        rebuild(home)
    lose(home)
    open_catalog(home.catalog, MIGRATIONS[:3]).close()
    assert condition(home.catalog) == "empty", "an older version is looked at as it is"
    rebuild(home)


def test_who_is_champion_is_never_guessed(lived):
    [path] = promotions_root(lived).glob("*.json")
    values = json.loads(path.read_text())
    lose(lived)
    for wrong, message in (("{", "no recorded decision"), (json.dumps(values | {"incumbent": "another"}), "does not follow")):
        path.write_text(wrong)
        with pytest.raises(TcgError, match=message):
            rebuild(lived)
        assert condition(lived.catalog) == "absent" and not list(lived.root.glob(".tmp-*"))
    path.write_text(json.dumps(values | {"sequence": 2}))
    with pytest.raises(TcgError, match="a decision before it is missing"):
        rebuild(lived)


def test_what_cannot_be_brought_back_is_named(lived):
    built = selected(lived)
    [second] = [day for day in built if day.day == V2]
    (lived.root / second.path).parent.joinpath("episodes.json").write_text("{}")
    (lived.archives / "yesterday").mkdir()
    (lived.archives / "yesterday" / ("e" * 64 + ".zip")).write_bytes(b"zip")
    (lived.archives / "2026-11-01").mkdir()
    (lived.archives / "2026-11-01" / ("e" * 64 + ".zip")).write_bytes(b"zip")
    shutil.rmtree(lived.cards)
    [plan] = lived.plans.iterdir()
    (lived.root / "checks" / "work_plan" / f"{plan.name}.json").write_text("{")
    lose(lived)
    found = rebuild(lived)
    told = "\n".join(found.problems)
    assert "'yesterday'" in told and "day 2026-11-01 is not brought back" in told
    assert (
        f"day {V2}: its episodes are not brought back: no build says them" in told
        and f"{plan.name}.json is no record of checks" in told
    )
    [line] = [line for line in found.missing if line.startswith("card_features")]
    assert f"work_plan {plan.name} was made from it" in line
    assert registry.rows_of(lived, "work_plan")[0].state == "unchecked", "nothing is handed over that was not checked"


def test_what_a_person_decided_about_a_day_comes_back(lived):
    rows = {state: next(r for r in states(lived, V1) if r.state == state) for state in ("validated", "superseded")}
    exclude_day(lived, V1, "bots only")
    excluded = tables(lived, LATER)
    lose(lived)
    rebuild(lived)
    assert tables(lived, LATER) == excluded and [day.day for day in selected(lived)] == [V2]
    restore_day(lived, V1, rows["superseded"].dataset_id)
    restored = tables(lived, LATER)["datasets"]
    lose(lived)
    rebuild(lived)
    found = {row.dataset_id: (row.state, row.reason) for row in states(lived, V1)}
    assert found[rows["superseded"].dataset_id] == ("validated", None) and len(restored) == 3
    assert rows["superseded"].dataset_id in [day.dataset_id for day in selected(lived)]


def states(home: Home, day: str):
    with catalog(home) as connection:
        return datasets_of(connection, day)


def test_a_damaged_day_stays_out_and_a_failed_build_is_failed(lived, monkeypatch):
    path = lived.root / next(row for row in states(lived, V2)).path / "rows.parquet"
    path.write_bytes(path.read_bytes()[:-1] + b"x")
    assert not verify_day(lived, V2)[0].passed
    for state in ("damaged", "failed"):
        if state == "failed":
            monkeypatch.setattr(build, "staged_checks", lambda *_: (Check("quarantine_fraction", False, "too many"),))
            assert not build_day(lived, V2).passed
        before = tables(lived, LATER)
        assert [row.state for row in states(lived, V2)] == [state]
        lose(lived)
        rebuild(lived)
        after = tables(lived, LATER)
        assert after["datasets"] == before["datasets"] and after["artifact_checks"] == before["artifact_checks"]
        assert after["episodes"] == before["episodes"]


FINE, BROKEN = Check("intact", True, "fine"), Check("intact", False, "one byte")


def built(id: str, archive: str = "now", staged: Check | None = FINE, promoted: Check | None = FINE, at: str = "2") -> Build:
    record = DatasetRecord(id, V1, f"days/{V1}/{id}", "0", 1, 1, 1, 1, ("v1",), "s", "c", archive, None)
    checks = [RecordedChecks("c", (check,), at) if check else None for check in (staged, promoted)]
    return Build(record, True, checks[0], checks[1], "1")


def decided(id: str, state: str, at: str) -> DayDecision:
    return DayDecision(V1, id, state, "why" if state == "excluded" else "", at)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("builds", "decision", "expected"),
    [
        ([built("a")], None, {"a": "validated"}),
        ([built("a", at="2"), built("b", at="3")], None, {"a": "superseded", "b": "validated"}),
        ([built("a"), built("b", archive="then", at="9")], None, {"a": "validated", "b": "superseded"}),
        ([built("a", promoted=None)], None, {"a": "staged"}),
        ([built("a", staged=BROKEN, promoted=None)], None, {"a": "failed"}),
        ([built("a", staged=None, promoted=None)], None, {"a": "staged"}),
        ([built("a"), built("b", promoted=BROKEN, at="3")], None, {"a": "superseded", "b": "damaged"}),
        ([built("a", promoted=BROKEN), built("b", at="3")], None, {"a": "damaged", "b": "validated"}),
        ([built("a")], decided("a", "excluded", "3"), {"a": "excluded"}),
        (
            [built("a", at="2"), built("b", at="4")],
            decided("a", "excluded", "3"),
            {"a": "excluded", "b": "validated"},
        ),
        (
            [built("a", at="2"), built("b", at="3")],
            decided("b", "excluded", "4"),
            {"a": "superseded", "b": "excluded"},
        ),
        (
            [built("a", at="2"), built("b", at="3")],
            decided("a", "validated", "4"),
            {"a": "validated", "b": "superseded"},
        ),
        (
            [built("a", at="2"), built("b", at="5")],
            decided("a", "validated", "4"),
            {"a": "superseded", "b": "validated"},
        ),
        # A night's audit reads the restored build again later: it stays the validated one.
        (
            [built("a", at="9"), built("b", at="3")],
            decided("a", "validated", "4"),
            {"a": "validated", "b": "superseded"},
        ),
        (
            [built("a", archive="then"), built("b", at="3")],
            decided("a", "validated", "4"),
            {"a": "validated", "b": "superseded"},
        ),
        ([built("b", at="3")], decided("gone", "validated", "4"), {"b": "validated"}),
    ],
)
def test_the_state_of_each_build_follows_from_the_files(builds, decision, expected):
    found = states_of(builds, "now", decision)
    assert {id: state.state for id, state in found.items()} == expected
    assert all(state.reason for state in found.values() if state.state in ("failed", "damaged", "excluded"))
