import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tcg_core.base import atomic, digest


def test_canonical_json_ignores_order_and_refuses_nan() -> None:
    assert digest.canonical_json({"b": 1, "a": [1.5, None]}) == '{"a":[1.5,null],"b":1}'
    with pytest.raises(ValueError):
        digest.canonical_json({"a": float("nan")})


def test_failed_write_leaves_the_old_file_and_no_temporary(tmp_path: Path) -> None:
    target = tmp_path / "a.txt"
    atomic.write_bytes(target, b"old")
    with pytest.raises(RuntimeError), atomic.replacing(target) as temporary:
        temporary.write_bytes(b"half")
        raise RuntimeError("killed")
    assert target.read_bytes() == b"old"
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]


def test_publishing_shows_all_or_nothing_and_keeps_the_first(tmp_path: Path) -> None:
    target = tmp_path / "artifact"
    with pytest.raises(RuntimeError), atomic.publishing(target) as directory:
        (directory / "x").write_text("1")
        raise RuntimeError
    assert not target.exists()
    for text in ("first", "second"):
        with atomic.publishing(target) as directory:
            (directory / "x").write_text(text)
    assert (target / "x").read_text() == "first"
    assert [path.name for path in tmp_path.iterdir()] == ["artifact"]


def test_kill_in_the_middle_of_a_write_is_swept_by_the_next(tmp_path: Path) -> None:
    program = (
        "import sys, time, pathlib; from tcg_core.base import atomic\n"
        "with atomic.replacing(pathlib.Path(sys.argv[1])) as t:\n"
        "    t.write_bytes(b'half'); print('ready', flush=True); time.sleep(60)\n"
    )
    child = subprocess.Popen([sys.executable, "-c", program, str(tmp_path / "a")], stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None and child.stdout.readline() == "ready\n"
    assert atomic.sweep(tmp_path) == [], "a living writer's temporary must be spared"
    os.kill(child.pid, signal.SIGKILL)
    child.wait()
    removed = atomic.sweep(tmp_path)
    assert len(removed) == 1 and list(tmp_path.iterdir()) == []


def test_sweep_spares_other_files(tmp_path: Path) -> None:
    (tmp_path / "kept.tmp").write_text("x")
    assert atomic.sweep(tmp_path) == []
    assert (tmp_path / "kept.tmp").exists()


KILLED = """
import os, signal, sys
from pathlib import Path
from tcg_core.base import atomic
root, what = Path(sys.argv[1]), sys.argv[2]
with (atomic.replacing if what == "file" else atomic.publishing)(root / "made") as temporary:
    (temporary if what == "file" else temporary / "inner").write_text("half")
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize("what", ["file", "directory"])
def test_a_success_removes_what_a_killed_writer_left_and_spares_the_living(tmp_path, what):
    child = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path), what], env=os.environ, check=False)
    assert child.returncode == -signal.SIGKILL and len(list(tmp_path.glob(".tmp-*"))) == 1
    living = tmp_path / f".tmp-{os.getppid()}-00000000-other"
    living.write_text("in use")
    if what == "file":
        atomic.write_bytes(tmp_path / "made", b"whole")
    else:
        with atomic.publishing(tmp_path / "made") as temporary:
            (temporary / "inner").write_text("whole")
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(["made", living.name])
