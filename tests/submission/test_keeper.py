"""An agent that is not ours is held apart, by whatever means the system has; each poorer system is tried too."""

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import psutil
import pytest

from tcg_core.submission.host import keeping
from tcg_core.submission.host.process import AgentFailure, AgentProcess, Limits
from tcg_core.submission.host.tree import remove

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux has a keeper")
OBSERVATION = {"select": {"option": [{"type": 1}], "minCount": 1, "maxCount": 1}, "current": {"yourIndex": 0}}
SYSTEMS = [(), ("user",), ("namespaces",), ("namespaces", "user"), ("namespaces", "user", "landlock")]
DOUBLE_FORK = """
        if os.fork() == 0:
            os.setsid()
            if os.fork():
                os._exit(0)
            time.sleep(300)
        return [0]
"""
#: What an agent does, and the exceptions that it may meet.
ATTACKS = {
    "signals_a_stranger": ("os.kill({other}, 9)", ("PermissionError", "ProcessLookupError")),
    "signals_its_parent": ("os.kill(os.getppid(), 9)", ("PermissionError",)),
    "reads_an_environment": ("open('/proc/{other}/environ').read()", ("PermissionError", "FileNotFoundError")),
    "reads_a_memory": ("open('/proc/{other}/mem', 'rb').read(1)", ("PermissionError", "FileNotFoundError")),
    "writes_elsewhere": ("open({elsewhere!r}, 'w')", ("PermissionError", "OSError", "FileNotFoundError")),
    "opens_a_socket": ("import socket; socket.socket()", ("PermissionError",)),
}
#: Without landlock and namespaces only another user would keep an agent from our files and processes.
POOREST = ("namespaces", "user", "landlock")
NOT_THERE = ("writes_elsewhere", "reads_an_environment", "reads_a_memory")


@pytest.fixture(params=SYSTEMS, ids=lambda without: "-".join(("without", *without)) if without else "all")
def system(request, monkeypatch):
    monkeypatch.setattr(keeping, "WITHOUT", request.param)
    return request.param


@pytest.fixture
def other():
    """A process of ours that an agent may look for."""
    process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(300)"])
    yield process
    process.kill()
    process.wait()


def write(folder: Path, source: str) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "main.py").write_text(f"import os, time\ndef agent(obs):\n{textwrap.indent(textwrap.dedent(source), '    ')}")
    return folder


def started(folder: Path, tmp_path: Path, **options) -> AgentProcess:
    return AgentProcess(folder, libraries=(), scratch=tmp_path, ours=False, **options)


@pytest.mark.parametrize("name", ATTACKS)
def test_an_attack_meets_an_error(system, other, tmp_path, name):
    if system == POOREST and name in NOT_THERE:
        return
    attack, expected = ATTACKS[name]
    elsewhere = tmp_path / "written"
    source = attack.format(other=other.pid, elsewhere=str(elsewhere))
    with started(write(tmp_path / "agent", source + "\nreturn [0]"), tmp_path) as agent:
        with pytest.raises(AgentFailure) as caught:
            agent.act(OBSERVATION, {}, 20.0)
        assert caught.value.reason == "error" and caught.value.text.split(":")[0] in expected, agent.held
    assert other.poll() is None and not elsewhere.exists()


def test_what_outlives_the_game_is_ended_and_named(system, tmp_path):
    before = set(psutil.Process().children(recursive=True))
    agent = started(write(tmp_path / "agent", DOUBLE_FORK), tmp_path)
    assert agent.act(OBSERVATION, {}, 20.0)[0] == [0]
    assert agent.close() != ()
    assert set(psutil.Process().children(recursive=True)) - before == set()
    assert [path.name for path in tmp_path.iterdir()] == ["agent"]
    quiet = started(write(tmp_path / "agent", "return [0]"), tmp_path)
    assert quiet.act(OBSERVATION, {}, 20.0)[0] == [0] and quiet.close() == ()


def test_the_memory_limit_is_the_tree_s(system, tmp_path):
    source = """
        for _ in range(3):
            if os.fork() == 0:
                held = bytearray(120 << 20)
                held[::4096] = b'x' * len(held[::4096])
                time.sleep(300)
        time.sleep(300)
    """
    agent = started(write(tmp_path / "agent", source), tmp_path, limits=Limits(memory=256 << 20))
    with agent, pytest.raises(AgentFailure, match=r"memory: .* allowed"):
        agent.act(OBSERVATION, {}, 60.0)


def test_files_that_resist_are_removed(tmp_path):
    place = tmp_path / "agent"
    place.mkdir()
    here = os.open(place, os.O_RDONLY)
    for _ in range(3000):  # deeper than a path may be long, and than the interpreter calls itself
        os.mkdir("d", dir_fd=here)  # no path reaches it
        inner = os.open("d", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = inner
    os.close(here)
    (place / "locked").mkdir()
    (place / "locked" / "file").touch()
    (place / "locked").chmod(0)
    (place / "link").symlink_to(tmp_path)
    remove(place)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
@pytest.mark.skipif(os.geteuid() != 0, reason="an ordinary user ran these tests already")
def test_all_of_it_as_an_ordinary_user():
    interpreter = Path(sys.executable).resolve()
    if not all(parent.stat().st_mode & 0o001 for parent in (*interpreter.parents, *Path(__file__).resolve().parents)):
        pytest.skip(f"another user cannot reach {interpreter} or this project")
    place = Path("/tmp")  # where another user may enter
    command = [sys.executable, "-m", "pytest", str(Path(__file__).resolve()), "-q", "-p", "no:cacheprovider"]
    command.append(f"--basetemp={place / f'tcg-keeper-{os.getpid()}'}")
    environment = os.environ | {"HOME": str(place), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        command,
        user=65534,
        group=65534,
        extra_groups=[],
        env=environment,
        capture_output=True,
        text=True,
        cwd=Path(__file__).resolve().parents[2],
    )
    remove(place / f"tcg-keeper-{os.getpid()}")
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-1000:]
