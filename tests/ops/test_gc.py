"""What a clean-up removes, what it leaves, and that a kill in the middle leaves no gap."""

import fcntl
import os
import shutil
import time

import pytest

from tcg_core.base.atomic import write_bytes, write_json
from tcg_core.base.digest import sha256_bytes
from tcg_core.base.errors import ConfigError, TcgError
from tcg_core.base.manifest import Input, verify_files
from tcg_core.catalog import registry
from tcg_core.catalog.connection import catalog
from tcg_core.catalog.datasets import datasets_of
from tcg_core.catalog.kinds import archive_manifest
from tcg_core.lineage.walk import walk_back
from tcg_core.ops import clean as clean_module
from tcg_core.ops.clean import clean
from tcg_core.ops.errors import OpsBusy, RetentionError
from tcg_core.ops.lock import ops_lock
from tcg_core.ops.plan import make_plan
from tcg_core.ops.retention import Retention, read_retention
from tcg_core.submission.ladder import add_push
from tcg_core.train.errors import TrainerBusy
from tcg_core.train.lock import trainer_lock
from tests.ops.chain import BROKEN, age, artifact, chain, day

DEAD = 4_194_304  # above the kernel's highest process id


def ids(home, kind=None):
    return {row.id for row in registry.rows_of(home, kind)}


def old(path, days):
    then = time.time() - days * 86_400
    for file in (*path.rglob("*"), path):
        os.utime(file, (then, then))


def snapshot(root):
    return {str(p.relative_to(root)) for p in root.rglob("*") if not p.name.endswith(("-wal", "-shm", ".lock"))}


ONE = Retention(latest=1)


def test_an_old_chain_goes_from_its_tournament_to_its_plan_and_the_rest_stays_whole(home):
    days = (day(home, "2026-08-01"), day(home, "2026-08-02"))
    chain(home, "old", days)
    write_bytes(home.runs / "checkpoint-old" / "events", b"x")
    chain(home, "new", days[1:])
    age(home, 40)
    before = snapshot(home.root)
    plan = make_plan(home, ONE)
    assert snapshot(home.root) == before, "a plan changed something"
    assert {item.key[1] for item in plan.items} == {
        "plan-old",
        *(f"{k}-old" for k in ("checkpoint", "torch_artifact", "submission", "tournament")),
    }
    done = clean(home, ONE)
    assert done.freed == plan.freed > 0
    assert {row.id for row in registry.rows_of(home) if row.kind != "parquet_day"} == {
        "cards", "plan-new", *(f"{k}-new" for k in ("checkpoint", "torch_artifact", "submission", "tournament")),
    }  # fmt: skip
    assert not (home.plans / "plan-old").exists() and not (home.runs / "checkpoint-old").exists()
    assert not (home.root / "checks" / "submission" / "submission-old.json").exists()
    assert all(node.state == "intact" for node in walk_back(home, home.submissions / "submission-new"))
    assert len(ids(home, "parquet_day")) == 2, "a validated day went"
    assert make_plan(home, ONE).items == ()


def test_what_is_named_recent_or_was_champion_stays_with_its_lineage(home):
    for name in ("named", "champion", "sent", "other", "last"):
        chain(home, name, (day(home, "2026-08-01"),))
    with catalog(home) as connection:
        connection.execute("DROP TABLE IF EXISTS promotions")
        connection.execute("CREATE TABLE promotions (challenger TEXT, verdict TEXT)")
        connection.executemany(
            "INSERT INTO promotions VALUES (?, ?)", [("submission-champion", "promoted"), ("submission-other", "rejected")]
        )
    add_push(home, "submission-sent", "1")
    assert make_plan(home, ONE).items == (), "something recent would go"
    age(home, 40)
    clean(home, Retention(keep=("submission-named",), latest=1))
    assert ids(home, "submission") == {"submission-named", "submission-champion", "submission-sent", "submission-last"}
    assert ids(home, "work_plan") == {"plan-named", "plan-champion", "plan-sent", "plan-last"}
    assert ids(home, "tournament") == {"tournament-named", "tournament-champion", "tournament-sent", "tournament-last"}
    with pytest.raises(TcgError, match="keep names nobody"):
        make_plan(home, Retention(keep=("nobody",)))


def test_what_failed_goes_earlier_unless_something_kept_was_made_from_it(home):
    plan = artifact(home, "work_plan", "failed-but-used", check=BROKEN)
    artifact(home, "checkpoint", "user", (plan.as_input(),))
    artifact(home, "work_plan", "failed", check=BROKEN)
    artifact(home, "work_plan", "unchecked", check=None)
    artifact(home, "work_plan", "good")
    age(home, 10)
    clean(home, ONE)
    assert ids(home, "work_plan") == {"failed-but-used", "good"}


def test_superseded_versions_go_unless_a_kept_submission_was_trained_on_them(home):
    used = day(home, "2026-08-01")
    chain(home, "a", (used,))
    day(home, "2026-08-01", archive="second", episodes=2)
    unused = day(home, "2026-08-02")
    present = day(home, "2026-08-02", archive="second", episodes=2)
    age(home, 20)
    archives = snapshot(home.archives)
    clean(home, ONE)
    assert verify_files(next(home.days.glob("2026-08-01/*/manifest.json")).parent)
    with catalog(home) as connection:
        held = {d.dataset_id: (d.state, (home.root / d.path).is_dir()) for d in datasets_of(connection)}
    assert held[used.id] == ("superseded", True) and held[unused.id] == ("superseded", False)
    assert held[present.id] == ("validated", True)
    assert snapshot(home.archives) == archives, "an archive went without being asked for"
    assert make_plan(home, ONE).items == ()


def test_archives_go_only_when_asked_and_only_those_of_nothing_kept(home):
    shas = {}
    for name, archive in (("2026-08-01", "used"), ("2026-08-01", "present"), ("2026-08-02", "gone"), ("2026-08-02", "present")):
        built = day(home, name, archive, episodes=len(archive))
        sha = sha256_bytes(f"{name}{archive}".encode())
        shas[name, archive] = sha
        path = home.archives / name / f"{sha}.zip"
        registry.register(home, archive_manifest(sha, path.name), path)
        with catalog(home) as connection:
            connection.execute("UPDATE artifacts SET content = ? WHERE kind = 'day_archive' AND id = ?", (sha, sha[:16]))
            connection.execute(
                "INSERT INTO artifact_inputs VALUES ('parquet_day', ?, 9, 'day_archive', ?, ?)", (built.id, sha[:16], sha)
            )
        if archive == "used":
            chain(home, "a", (built,))
    age(home, 20)
    assert not [i for i in make_plan(home, ONE).items if i.what == "superseded archive"]
    item = next(i for i in make_plan(home, Retention(latest=1, archives=True)).items if i.what == "superseded archive")
    assert item.path.stem == shas["2026-08-02", "gone"]
    clean(home, Retention(latest=1, archives=True))
    assert {p.stem for p in home.archives.glob("*/*.zip")} == set(shas.values()) - {item.path.stem}


def test_leftovers_of_the_dead_go_and_those_of_the_living_stay(home):
    dead, living = home.plans / f".tmp-{DEAD}-x-plan", home.plans / f".tmp-{os.getpid()}-x-plan"
    for path in (dead, living):
        write_bytes(path / "file", b"x")
    for name in ("finished", "owned", "idle", "fresh"):
        write_bytes(home.tournaments / f"{name}.running" / "lock", b"")
        if name != "fresh":
            old(home.tournaments / f"{name}.running", 5)
    artifact(home, "tournament", "finished")
    handle = os.open(home.tournaments / "owned.running" / "lock", os.O_RDWR)
    fcntl.flock(handle, fcntl.LOCK_EX)
    try:
        clean(home, Retention())
    finally:
        os.close(handle)
    assert not dead.exists() and living.exists()
    assert {p.name for p in home.tournaments.glob("*.running")} == {"owned.running", "fresh.running"}


def test_steps_that_no_pointer_names_go_and_those_something_was_made_from_stay(home):
    run = home.checkpoints / "run"
    for n in (1, 2, 3):
        write_bytes(run / f"step_{n}" / "weights", b"x")
    write_json(run / "latest.json", {"path": "step_3", "step": 3, "sha256": "x"})
    artifact(home, "torch_artifact", "from-step", (Input("checkpoint_step", "run/step_2", "0" * 64),))
    clean(home, Retention())
    assert {p.name for p in run.glob("step_*")} == {"step_2", "step_3"}


def test_a_run_that_can_be_continued_keeps_its_plan_and_its_days_until_it_is_abandoned(home):
    built = day(home, "2026-08-01")
    cards = artifact(home, "card_features", "cards")
    artifact(home, "work_plan", "unfinished", (built.as_input(), cards.as_input()))
    artifact(home, "work_plan", "later", (cards.as_input(),))
    day(home, "2026-08-01", archive="second", episodes=2)
    write_json(home.checkpoints / "unfinished" / "latest.json", {"path": "step_1", "step": 1, "sha256": "x"})
    write_bytes(home.runs / "unfinished" / "events", b"x")
    age(home, 40)
    assert make_plan(home, ONE).items == ()
    old(home.checkpoints / "unfinished", 40)
    done = clean(home, ONE)
    assert {item.what for item in done.plan.items} == {"abandoned training run", "work_plan", "superseded day version"}
    assert not (home.runs / "unfinished").exists()


def test_orphans_are_adopted_when_whole_told_of_when_strange_and_removed_when_broken(home):
    for name in ("whole", "broken"):
        artifact(home, "work_plan", name)
        with catalog(home) as connection:
            for table in ("artifact_checks", "artifact_inputs", "artifacts"):
                connection.execute(f"DELETE FROM {table}")
    (home.plans / "broken" / "file.bin").write_bytes(b"other")
    write_bytes(home.plans / "letters" / "mother.txt", b"dear")
    fresh = {item.path.name: item.action for item in make_plan(home, Retention()).items}
    assert fresh == {"whole": "adopt", "broken": "look", "letters": "look"}
    old(home.plans / "broken", 10)
    clean(home, Retention())
    assert ids(home) == {"whole"} and not (home.plans / "broken").exists()
    assert (home.plans / "letters" / "mother.txt").exists(), "a directory that is none of ours went"
    with pytest.raises(TcgError, match="never checked"):
        registry.require_passed(home, "work_plan", "whole")


def test_the_registered_one_is_never_replaced_by_one_that_lies_beside_it(home):
    artifact(home, "work_plan", "one")
    shutil.copytree(home.plans / "one", home.plans / "one.second")
    [item] = make_plan(home, Retention()).items
    assert item.action == "look" and "beside the registered" in item.why
    clean(home, Retention())
    assert registry.find(home, "work_plan", "one") == home.plans / "one" and (home.plans / "one.second").is_dir()


def test_killed_between_any_two_removals_the_next_call_goes_on_and_nothing_kept_is_touched(home, monkeypatch):
    class Killed(BaseException):
        pass

    days = (day(home, "2026-08-01"),)
    chain(home, "old", days)
    chain(home, "new", days)
    age(home, 40)
    forget, remove = clean_module._forget, clean_module._remove
    for target in (1, 2, 3, 4):
        count = []

        def once(*arguments, step, count=count, target=target):
            count.append(1)
            if len(count) == target:
                raise Killed
            step(*arguments)

        monkeypatch.setattr(clean_module, "_forget", lambda *a, once=once: once(*a, step=forget))
        monkeypatch.setattr(clean_module, "_remove", lambda *a, once=once: once(*a, step=remove))
        with pytest.raises(Killed):
            clean(home, ONE)
        for row in registry.rows_of(home):
            if row.path.exists():
                assert all(node.state == "intact" for node in walk_back(home, row.path)), row.id
    monkeypatch.undo()
    clean(home, ONE)
    assert {id for id in ids(home) if id.endswith("-old")} == set()
    assert all(node.state == "intact" for node in walk_back(home, home.submissions / "submission-new"))


@pytest.mark.parametrize("how", ["again", "used"])
def test_what_is_used_between_look_and_removal_stays(home, monkeypatch, how):
    cards = artifact(home, "card_features", "old")
    artifact(home, "card_features", "new")
    age(home, 40)
    look = clean_module.make_plan

    def looked(*arguments):
        plan = look(*arguments)
        assert [item.key for item in plan.items] == [("card_features", "old")]
        if how == "again":
            artifact(home, "card_features", "old")
        else:
            artifact(home, "work_plan", "plan", (cards.as_input(),))
        return plan

    monkeypatch.setattr(clean_module, "make_plan", looked)
    assert clean(home, ONE).freed == 0
    assert registry.find(home, "card_features", "old").is_dir()


def test_a_superseded_version_that_is_restored_in_between_stays(home, monkeypatch):
    old_version = day(home, "2026-08-02")
    day(home, "2026-08-02", archive="second", episodes=2)
    age(home, 20)
    look = clean_module.make_plan

    def looked(*arguments):
        plan = look(*arguments)
        assert [item.key for item in plan.items] == [("parquet_day", old_version.id)]
        with catalog(home) as connection:
            connection.execute("UPDATE datasets SET changed_at = 'now' WHERE dataset_id = ?", (old_version.id,))
        return plan

    monkeypatch.setattr(clean_module, "make_plan", looked)
    clean(home, ONE)
    assert registry.find(home, "parquet_day", old_version.id).is_dir()


def test_a_missing_artifact_that_is_kept_is_told_and_not_forgotten(home):
    chain(home, "a", (day(home, "2026-08-01"),))
    shutil.rmtree(home.plans / "plan-a")
    [item] = make_plan(home, ONE).items
    assert item.action == "look" and "backup" in item.why
    clean(home, ONE)
    assert "plan-a" in ids(home)


def test_nothing_is_cleaned_beside_a_trainer_or_a_backup(home):
    with trainer_lock(home, "training"), pytest.raises(TrainerBusy, match=str(os.getpid())):
        clean(home, Retention())
    with ops_lock(home.root, "backup"), pytest.raises(OpsBusy):
        clean(home, Retention())


def test_retention_is_read_from_the_home_and_refuses_what_it_does_not_know(home):
    assert read_retention(home) == Retention()
    write_json(home.root / "retention.json", {"recent_days": 3, "keep": ["a"]})
    assert read_retention(home) == Retention(recent_days=3, keep=("a",))
    write_json(home.root / "retention.json", {"recent_dayz": 3})
    with pytest.raises(ConfigError, match=r"retention\.json: unknown key recent_dayz"):
        read_retention(home)
    with pytest.raises(RetentionError, match="latest is 0"):
        Retention(latest=0)
    with pytest.raises(RetentionError, match="recent_days is -1"):
        Retention(recent_days=-1)
