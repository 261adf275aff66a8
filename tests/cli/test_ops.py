"""The operator's commands as they are typed: one line and exit 2 for a refusal, and a dry run that is one."""

import os
import subprocess
import sys
from pathlib import Path

from tcg_core.alerts.incidents import incident, notify
from tcg_core.ops.record import names_of
from tests.ops.chain import age, chain, day

PROJECT = Path(__file__).resolve().parents[2]


def tcg(data: Path, *arguments: object) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"TCG_DATA": str(data)}
    command = [sys.executable, "-m", "tcg_assets.cli", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, env=environment, cwd=PROJECT, timeout=120)


def refused(done: subprocess.CompletedProcess[str], text: str) -> None:
    assert done.returncode == 2 and text in done.stderr and "Traceback" not in done.stderr, done
    assert len(done.stderr.strip().splitlines()) == 1


def test_a_home_is_backed_up_checked_and_restored(home, tmp_path):
    chain(home, "a", (day(home, "2026-08-01"),))
    assert "new contents" in tcg(home.root, "backup", tmp_path / "b", "--keep", 2).stdout
    assert "every hash as recorded" in tcg(home.root, "backup", tmp_path / "b", "--check").stdout
    refused(tcg(home.root, "restore", tmp_path / "b"), "is not empty")
    assert tcg(tmp_path / "other", "restore", tmp_path / "b").returncode == 0
    assert (tmp_path / "other" / "submissions" / "submission-a").is_dir()
    refused(tcg(tmp_path / "third", "restore", tmp_path / "b", "--backup", "yesterday"), names_of(tmp_path / "b")[0])
    (home.plans / "plan-a" / "file.bin").write_bytes(b"other")
    done = tcg(home.root, "backup", tmp_path / "b")
    assert done.returncode == 2 and "1 files of the home are damaged" in done.stderr


def test_gc_tells_first_and_does_it_only_when_asked(home):
    days = (day(home, "2026-08-01"),)
    for name in "abcd":
        chain(home, name, days)
    age(home, 40)
    told = tcg(home.root, "gc")
    assert "would be freed" in told.stdout and "plan-a" in told.stdout and (home.plans / "plan-a").is_dir()
    assert "plan-a" not in tcg(home.root, "gc", "--keep", "submission-a").stdout
    refused(tcg(home.root, "gc", "--keep", "nobody"), "nobody")
    assert tcg(home.root, "gc", "--apply").returncode == 0
    assert not (home.plans / "plan-a").exists() and (home.plans / "plan-b").is_dir()


def test_services_are_written_where_they_are_asked_for(home, tmp_path):
    done = tcg(home.root, "service", "print", "launchd", "--to", tmp_path / "agents", "--port", 3111)
    assert sorted(path.name for path in (tmp_path / "agents").iterdir()) == ["tcg.daemon.plist", "tcg.webserver.plist"]
    assert "3111" in (tmp_path / "agents" / "tcg.webserver.plist").read_text() and done.returncode == 0


def test_status_warns_of_superseded_days_and_open_incidents(home):
    chain(home, "a", (day(home, "2026-08-01"),))
    assert "WARN" not in tcg(home.root, "status").stdout
    day(home, "2026-08-01", archive="second", episodes=2)
    notify(home, incident("nightly", "work_plan", "the selection is empty"), to=())
    told = [line for line in tcg(home.root, "status").stdout.splitlines() if line.startswith("WARN")]
    assert (
        len(told) == 2 and "built from superseded day 2026-08-01" in told[0] and "work_plan failed in nightly (1 times" in told[1]
    )
