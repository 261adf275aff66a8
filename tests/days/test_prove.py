"""A day of other code is carried over where a sample shows the same rows, and named with its first difference where not."""

import json
import shutil
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from tcg_core.base.home import Home
from tcg_core.catalog.connection import catalog, transaction
from tcg_core.catalog.proofs import proofs_of
from tcg_core.days import prove
from tcg_core.days.backfill import backfill, why_current
from tcg_core.days.build import build_day
from tcg_core.days.code import build_code
from tcg_core.days.errors import DayError
from tcg_core.days.evidence import restore_proofs
from tcg_core.days.promote import promote_day
from tcg_core.days.prove import prove_day, prove_days
from tcg_core.days.sample import LEAST
from tcg_core.days.states import stale_days
from tcg_core.days.take import take_archive
from tcg_core.encode.columns import Columns
from tcg_core.lineage.walk import walk_forward
from tcg_core.ops.rebuild import rebuild
from tests.days.conftest import V1
from tests.days.replays import changed, put, renamed
from tests.days.replays import members as replays
from tests.days.rewritten import rewrite, validated
from tests.replay.test_mutations import trimmed

ROOT = Path(__file__).resolve().parents[2]
OTHER = "0123456789abcdef"


@pytest.fixture
def other(staged: Home) -> Home:
    """A home whose one day other code built: by its record, and by its manifest."""
    promote_day(staged, V1)
    _of_other_code(staged)
    return staged


def _of_other_code(home: Home, day: str = V1) -> None:
    with catalog(home) as connection:
        connection.execute("UPDATE datasets SET code = ? WHERE day = ?", (OTHER, day))


def _proofs(home: Home) -> list[str]:
    with catalog(home) as connection:
        return [proof.dataset_id for proof in proofs_of(connection)]


def test_an_equal_day_counts_as_built_by_this_code(other: Home) -> None:
    dataset = validated(other, V1)
    assert [day.day for day in stale_days(other)] == [V1] and not why_current(other, V1)
    found = prove_day(other, V1)
    assert (found.state, found.compared, found.of) == ("equal", 5, 5), found.line
    assert stale_days(other) == [] and "is current" in why_current(other, V1)
    assert [(day.state, day.day) for day in backfill(other, V1, V1)] == [("current", V1)]
    assert prove_day(other, V1).state == "proven" and _proofs(other) == [dataset.dataset_id]
    evidence = json.loads((other.proofs / V1 / f"{dataset.dataset_id}.{build_code()}.json").read_text())
    assert (evidence["built_by"], evidence["rows_digest"]) == (OTHER, dataset.rows_digest)
    assert evidence["samples"]["rows"]["of"] == 5 and evidence["samples"]["rows"]["counts"]["generation v1"] == [5, 5]
    [node] = [node for node in walk_forward(other, V1) if node.id == dataset.dataset_id]
    assert f"proven equal under code {build_code()} by 5 of 5 episodes" in node.note


def test_it_is_reused_instead_of_being_built_again(staged: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    old = promote_day(staged, V1)
    monkeypatch.setattr("tcg_core.base.stage.code_version", lambda asset: OTHER)
    for module in ("code", "prove"):
        monkeypatch.setattr(f"tcg_core.days.{module}.build_code", lambda: OTHER)
    assert [day.day for day in stale_days(staged)] == [V1]
    assert prove_day(staged, V1).state == "equal"
    monkeypatch.setattr("tcg_core.days.build.write_day", lambda *_: pytest.fail("another pass"))
    built = build_day(staged, V1)
    assert (built.id, built.reused, built.passed) == (old.id, True, True)
    assert promote_day(staged, V1).id == old.id


def test_days_of_this_code_need_no_proof_and_a_day_without_rows_to_prove_is_refused(staged: Home) -> None:
    [refused] = prove_days(staged, [V1])
    assert (refused.state, refused.line) == ("failed", f"day {V1} has no validated dataset to prove")
    promote_day(staged, V1)
    assert prove_day(staged, V1).state == "current" and not _proofs(staged)


@pytest.mark.parametrize("stream", ["aux_return", "option_card", "player_name", "globals", "forced"])
def test_one_other_value_in_any_column_is_named(other: Home, stream: str) -> None:
    place = {}

    def change(columns: Columns) -> None:
        array, row = columns[stream], 40
        at = int(columns.offsets["option"][row]) if stream == "option_card" else row
        place.update({name: int(columns[key][row]) for name, key in (("game", "game"), ("side", "side"), ("step", "step_id"))})
        array[at] = "else" if stream == "player_name" else not array[at] if stream == "forced" else array[at] + 1

    rewrite(other, V1, code=OTHER, change=change)
    found = prove_day(other, V1)
    assert found.state == "different" and found.difference is not None
    assert (found.difference.column, found.difference.step) == (stream, place["step"])
    assert f"game {place['game']} side {place['side']} step {place['step']}: {stream} is " in found.line
    assert not _proofs(other) and not other.proofs.exists() and [day.day for day in stale_days(other)] == [V1]


def _edit(home: Home, change) -> None:
    """Edits what the day's directory says of its episodes, as if another code had said so."""
    from dataclasses import replace

    from tcg_core.base.manifest import hash_files, read_manifest, write_manifest
    from tcg_core.days.layout import read_episodes, write_episodes

    directory = home.root / validated(home, V1).path
    records, decks = read_episodes(directory)
    write_episodes(directory, [change(record) for record in records], decks)
    write_manifest(directory, replace(read_manifest(directory), files=hash_files(directory)))


def test_quarantine_and_exclusions_and_catalogue_facts_are_compared(home: Home) -> None:
    from dataclasses import replace

    content = replays()
    first, second, *_ = sorted(content)
    content[first] = content[first][:-50]
    content[second] = changed(content[second], lambda replay: replay.update(rewards=[None, 1], statuses=["TIMEOUT", "DONE"]))
    put(home, V1, content)
    take_archive(home, V1)
    build_day(home, V1, max_quarantine_frac=1.0)
    promote_day(home, V1)
    _of_other_code(home)
    for change, words in (
        (lambda r: replace(r, reason="other_game") if r.status == "quarantined" else r, "reason is other_game on disk"),
        (lambda r: replace(r, reason="draw") if r.status == "excluded" else r, "reason is draw on disk, aborted by this code"),
        (lambda r: replace(r, best_of=3) if r.status == "rows" else r, "best_of is 3 on disk, 1 by this code"),
    ):
        kept = shutil.copytree(home.root, home.root.with_name("kept"))
        _edit(home, change)
        found = prove_day(home, V1)
        assert found.state == "different" and words in found.line, found.line
        shutil.rmtree(home.root)
        kept.rename(home.root)
    found = prove_day(home, V1)
    assert (found.state, found.compared) == ("equal", len(content)), found.line


@pytest.mark.parametrize("name", ["ENCODER_VERSION", "PARSER_VERSION"])
def test_no_sample_bridges_another_version(other: Home, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    built = getattr(prove, name)
    monkeypatch.setattr(prove, name, "9")
    found = prove_day(other, V1)
    assert found.state == "rebuild" and not found.carried
    kind = name.split("_")[0].lower()
    assert found.line == (
        f"{kind} version {built}, this code has 9: its rows are meant to change; `tcg backfill {V1} {V1}` builds it again"
    )


def test_a_damaged_day_and_one_of_another_archive_are_refused(other: Home) -> None:
    row = validated(other, V1)
    path = other.root / row.path / "rows.parquet"
    kept = path.read_bytes()
    path.write_bytes(kept[:-9] + b"damaged!!")
    with pytest.raises(DayError, match="is not what was recorded"):
        prove_day(other, V1)
    path.write_bytes(kept)
    with catalog(other) as connection:
        connection.execute("UPDATE datasets SET archive_sha256 = ? WHERE day = ?", ("0" * 64, V1))
    with pytest.raises(DayError, match="another archive"):
        prove_day(other, V1)


def test_other_bytes_under_the_same_id_are_not_what_was_proven(other: Home) -> None:
    prove_day(other, V1)
    with catalog(other) as connection:
        connection.execute("UPDATE datasets SET sha256 = ? WHERE day = ?", ("0" * 64, V1))
    assert [day.day for day in stale_days(other)] == [V1]


def test_proofs_are_append_only_and_found_again_after_the_catalog_is_lost(other: Home) -> None:
    prove_day(other, V1)
    with catalog(other) as connection:
        for change in ("DELETE FROM day_proofs", "UPDATE day_proofs SET code = 'x'"):
            with pytest.raises(sqlite3.IntegrityError, match="append-only"):
                connection.execute(change)
        before = proofs_of(connection)
    for file in other.root.glob("catalog.sqlite*"):
        file.unlink()
    (other.proofs / V1 / "broken.json").write_text("{}")
    [problem] = rebuild(other).problems
    with catalog(other) as connection, transaction(connection):
        after = proofs_of(connection)
        assert restore_proofs(connection, other)[0] == 0
    assert "broken.json is no evidence of a proof" in problem
    assert [vars(proof) | {"proven_at": ""} for proof in after] == [vars(proof) | {"proven_at": ""} for proof in before]


def test_a_proof_that_is_killed_leaves_nothing_and_the_same_command_ends_it(other: Home) -> None:
    code = (
        "import os, signal; from tcg_core.base.home import Home; from tcg_core.days import pool, prove\n"
        "real, seen = pool.process, []\n"
        "def process(*arguments):\n"
        "    seen.append(1)\n"
        "    if len(seen) == 3: os.kill(os.getpid(), signal.SIGKILL)\n"
        "    return real(*arguments)\n"
        f"pool.process = process; prove.prove_day(Home.resolve(), {V1!r})"
    )
    child = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, check=False)
    assert child.returncode == -signal.SIGKILL, child.stderr
    assert not other.proofs.exists() and not _proofs(other)
    assert prove_day(other, V1).state == "equal"


def test_evidence_that_a_crash_left_unrecorded_is_adopted(other: Home) -> None:
    prove_day(other, V1)
    [evidence] = [path for path in other.proofs.glob("*/*.json") if ".recorded" not in path.name]
    before = evidence.read_bytes()
    for file in other.root.glob("catalog.sqlite*"):
        file.unlink()
    take_archive(other, V1)
    build_day(other, V1)
    promote_day(other, V1)
    _of_other_code(other)
    assert prove_day(other, V1).state == "equal" and evidence.read_bytes() == before
    evidence.write_text("{}")
    with catalog(other) as connection:
        connection.execute("DROP TRIGGER day_proofs_stay")
        connection.execute("DELETE FROM day_proofs")
    with pytest.raises(DayError, match="evidence of something else"):
        prove_day(other, V1)


@pytest.fixture(scope="module")
def rare(tmp_path_factory: pytest.TempPathFactory) -> Home:
    """A day of 121 episodes, of which one alone has an option of type SKILL."""
    home = Home(tmp_path_factory.mktemp("rare") / "data").prepare()
    common = trimmed(85000011)
    content = {f"{id}.json": renamed(common, id) for id in range(1000, 1120)}
    put(home, V1, content | {"1999.json": renamed(trimmed(85000013), 1999)})
    take_archive(home, V1)
    assert build_day(home, V1).passed
    promote_day(home, V1)
    return home


def _proven_by(tree: Path, home: Home, old: str, new: str) -> list[str]:
    """State and line of the proof of the day by a copy of the source with one edit of the options."""
    for name in ("tcg_core", "tcg_assets"):
        shutil.copytree(ROOT / name, tree / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tree)
    file = tree / "tcg_core/encode/options.py"
    text = file.read_text()
    assert text.count(old) == 1
    file.write_text(text.replace(old, new))
    code = (
        "from tcg_core.base.home import Home; from tcg_core.days.prove import prove_day\n"
        f"found = prove_day(Home.resolve(), {V1!r}); print(found.state, found.compared); print(found.line)"
    )
    environment = {"PYTHONPATH": str(tree), "TCG_DATA": str(home.root), "PYTHONDONTWRITEBYTECODE": "1", "OMP_NUM_THREADS": "1"}
    ran = subprocess.run([sys.executable, "-c", code], cwd=tree, env=environment, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout.splitlines()


def test_an_edit_of_one_rare_option_type_is_found(rare: Home, tmp_path: Path) -> None:
    skill = "return _skill(tokens, select, option, position)"
    state, line = _proven_by(tmp_path, rare, skill, f"{skill}._replace(card=NO_CARD)")
    assert state.split()[0] == "different"
    assert line.startswith("episode 1999 game 0 side ") and ": option_card is [" in line
    assert not _proofs(rare)


def test_an_edit_that_changes_no_row_is_bridged(rare: Home, tmp_path: Path) -> None:
    old = "return 1 if player == tokens.side else -1"
    state, line = _proven_by(tmp_path, rare, old, "return -1 if player != tokens.side else 1")
    assert state.split()[0] == "equal" and LEAST <= int(state.split()[1]) < 121, line
    assert len(_proofs(rare)) == 1
