"""Agents in processes of their own: what hurts them does not hurt us, and each failure has its reason."""

import textwrap
import time
from pathlib import Path

import psutil
import pytest

from tcg_core.submission.host.process import AgentFailure, AgentProcess, Limits

OBSERVATION = {"select": {"option": [{"type": 1}, {"type": 2}], "minCount": 1, "maxCount": 1}, "current": {"yourIndex": 0}}


@pytest.fixture
def folder(tmp_path):
    def write(source: str, **files: str) -> Path:
        (tmp_path / "main.py").write_text(textwrap.dedent(source))
        for name, text in files.items():
            (tmp_path / f"{name}.py").write_text(text)
        return tmp_path

    return write


def ask(path: Path, timeout: float = 10.0, **options) -> tuple[list, AgentProcess]:
    with AgentProcess(path, libraries=(), **options) as agent:
        return agent.act(OBSERVATION, {"version": 1}, timeout)[0], agent


def reason(path: Path, timeout: float = 10.0, **options) -> str:
    with pytest.raises(AgentFailure) as caught:
        ask(path, timeout, **options)
    return caught.value.reason


def test_last_callable_gets_attribute_access_and_the_arguments_it_takes(folder):
    path = folder(
        """
        def helper(obs): return [0]
        def agent(obs): return [len(obs.select.option) - obs["current"].yourIndex - 1]
        """
    )
    assert ask(path)[0] == [1]
    assert ask(folder("def agent(obs, config): return [config.version]"))[0] == [1]


def test_file_is_not_defined_as_on_kaggle(folder):
    assert reason(folder("HERE = __file__\ndef agent(obs): return [0]")) == "load"


def test_a_module_of_the_folder_is_found_while_loading(folder):
    assert ask(folder("import other\ndef agent(obs): return other.ANSWER", other="ANSWER = [1]"))[0] == [1]


def test_environment_and_project_are_out_of_sight(folder, monkeypatch):
    monkeypatch.setenv("TCG_SECRET", "hush")
    source = """
        import os, sys
        def agent(obs):
            try:
                import tcg_core
            except ModuleNotFoundError:
                return ["TCG_SECRET" in os.environ, len([p for p in sys.path if "site-packages" in p]), os.getcwd()]
    """
    path = folder(source)
    assert ask(path)[0] == [False, 0, str(path)]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("def agent(obs): raise RuntimeError('no')", "error"),
        ("def agent(obs): return 'abc'", "garbage"),
        ("def agent(obs): return (0,)", "garbage"),
        ("def agent(obs): return None", "garbage"),
        ("def agent(obs): return [float('nan')]", "garbage"),
        ("import os\ndef agent(obs): os._exit(3)", "crash"),
        ("import os, signal\ndef agent(obs): os.kill(os.getpid(), signal.SIGSEGV)", "crash"),
        ("import sys\ndef agent(obs): sys.exit(0)", "crash"),
        ("def agent(obs):\n  while True: pass", "timeout"),
        ("import time\ndef agent(obs): time.sleep(60)", "timeout"),
        ("x = 1", "load"),
        ("def agent(obs: return", "load"),
    ],
)
def test_each_failure_has_its_reason(folder, source, expected):
    assert reason(folder(source), timeout=1.0) == expected


def test_memory_is_limited(folder):
    source = "def agent(obs):\n  held = []\n  while True: held.append(bytearray(1 << 24))"
    assert reason(folder(source), limits=Limits(memory=256 << 20)) in ("error", "memory", "crash")


def test_megabytes_of_prints_break_nothing_and_are_not_kept(folder):
    path = folder("import os\ndef agent(obs):\n  print('x' * (20 << 20)); os.write(1, b'end of it'); return [0]")
    answer, agent = ask(path)
    assert answer == [0]
    assert agent.printed > 20 << 20 and len(agent.output) <= 4096


def test_descendants_and_private_files_go_with_the_agent(folder):
    path = folder("import os, subprocess\ndef agent(obs): return [subprocess.Popen(['sleep', '60']).pid, os.environ['TMPDIR']]")
    (pid, private), _ = ask(path)
    for _ in range(50):
        if not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE:
            break
        time.sleep(0.05)
    else:
        pytest.fail("a descendant outlived its agent")
    assert not Path(private).exists()


def test_many_starts_leak_no_descriptor(folder):
    path = folder("def agent(obs): return [0]")
    ask(path)
    before = len(list(Path("/dev/fd").iterdir()))
    for _ in range(3):
        ask(path)
    assert len(list(Path("/dev/fd").iterdir())) == before


def test_the_crash_says_what_was_printed_last(folder):
    with pytest.raises(AgentFailure, match=r"SIGABRT.*goodbye"):
        ask(folder("import os\ndef agent(obs):\n  print('goodbye', flush=True); os.abort()"))
