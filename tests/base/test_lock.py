"""One process at a time, by name, and never longer than its holder lives. The holders are real processes."""

import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tcg_core.base.errors import TcgError
from tcg_core.base.lock import Busy, hold, is_held

HOLDER = """
import pathlib, sys
from tcg_core.base.lock import hold
with hold(pathlib.Path(sys.argv[1]), sys.argv[2]):
    print("held", flush=True)
    sys.stdin.read()
"""


@contextmanager
def another_process(path: Path, what: str = "training run-7") -> Iterator[subprocess.Popen[str]]:
    """A process that holds ``path`` until its standard input is closed, or it is killed."""
    command = [sys.executable, "-c", HOLDER, str(path), what]
    holder = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert holder.stdin is not None and holder.stdout is not None
    try:
        assert holder.stdout.readline() == "held\n"
        yield holder
    finally:
        holder.kill()
        holder.wait()
        holder.stdin.close()
        holder.stdout.close()


def test_what_another_process_holds_is_refused_by_its_name(tmp_path: Path) -> None:
    path = tmp_path / "notify" / "x.lock"
    with another_process(path) as holder:
        expected = (
            rf"^{re.escape(str(path))} is held by process {holder.pid} \(training run-7, since 2\d{{3}}-.+T.+\): one at a time$"
        )
        with pytest.raises(Busy, match=expected) as refused, hold(path, "backup", rule="one at a time"):
            pytest.fail("two hold it")
        assert "\n" not in str(refused.value)
        assert is_held(path)


def test_kill_9_of_the_holder_frees_it(tmp_path: Path) -> None:
    path = tmp_path / "x.lock"
    with another_process(path) as holder:
        holder.kill()
        holder.wait()
        assert path.read_text(), "nobody tidied up behind it"
        assert not is_held(path)
        with hold(path, "backup"), pytest.raises(Busy, match=rf"process {os.getpid()} \(backup, "), hold(path, "prune"):
            pytest.fail("two hold it")


def test_one_who_waits_gets_it_when_the_holder_ends(tmp_path: Path) -> None:
    path = tmp_path / "x.lock"
    with another_process(path) as holder:
        assert holder.stdin is not None
        ends = threading.Timer(0.3, holder.stdin.close)
        ends.start()
        with hold(path, "backup", wait=60.0):
            assert holder.wait(timeout=60) == 0
        ends.join()


def test_one_who_waits_is_refused_at_the_deadline_and_not_before(tmp_path: Path) -> None:
    path = tmp_path / "x.lock"
    with another_process(path) as holder:
        began = time.monotonic()
        with pytest.raises(Busy, match=f"process {holder.pid}"), hold(path, "backup", wait=0.4):
            pytest.fail("two hold it")
        assert time.monotonic() - began >= 0.4


def test_an_error_inside_lets_it_go_and_takes_the_name_off(tmp_path: Path) -> None:
    path = tmp_path / "x.lock"
    with pytest.raises(ZeroDivisionError), hold(path, "backup"):
        raise ZeroDivisionError
    assert not is_held(path) and path.read_text() == ""


def test_a_file_whose_holder_removed_it_is_no_lock(tmp_path: Path) -> None:
    """A tournament ends by removing its directory; one who waited for it must not hold a file that nobody else can find."""
    path = tmp_path / "game.running" / "lock"
    inside = threading.Event()

    def holder() -> None:
        with hold(path, "tournament"):
            inside.set()
            time.sleep(0.3)
            path.unlink()
            path.parent.rmdir()

    first = threading.Thread(target=holder)
    first.start()
    assert inside.wait(10)
    with hold(path, "tournament", wait=60.0):
        first.join()
        assert path.is_file() and is_held(path)
        with pytest.raises(Busy), hold(path, "tournament"):
            pytest.fail("two hold it")


def test_whoever_has_not_written_its_name_is_another_process(tmp_path: Path) -> None:
    path = tmp_path / "x.lock"

    class Refused(TcgError):
        pass

    with hold(path, "backup"):
        path.write_text("4711\n")  # as a file of an earlier version has it
        with pytest.raises(Refused, match=r"is held by another process$"), hold(path, "prune", refused=Refused):
            pytest.fail("two hold it")


def test_nothing_to_look_at_is_not_held(tmp_path: Path) -> None:
    assert not is_held(tmp_path / "absent") and not (tmp_path / "absent").exists()
