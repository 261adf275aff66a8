"""Forty agents that misbehave, each in a short game: who loses, why, and that nothing of it stays."""

import sys
import textwrap
from pathlib import Path

import psutil
import pytest

from tcg_core.arena import seats
from tcg_core.engine.decks import sample_deck
from tcg_core.submission.host.process import Limits

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform != "linux", reason="only Linux has a keeper")]
FORK = "import os, time\nif os.fork() == 0:\n    {}\n    time.sleep(300)"
RAW = "import os, struct, sys\nbody = {}\nos.write(int(sys.argv[1]), struct.pack('>I', len(body)) + body)\nreturn [0]"
#: What each does at its third decision, and the reasons that are right; "" where it is harmless and the game goes on.
AGENTS = {
    "raises": ("raise ValueError('lost it')", {"error"}),
    "recurses": ("f = lambda g: g(g)\nf(f)", {"error"}),
    "raises_base": ("raise BaseException", {"crash"}),
    "cheats": ("return [999]", {"illegal"}),
    "counts_backwards": ("return [-1]", {"illegal"}),
    "answers_text_in_a_list": ("return ['a']", {"illegal"}),
    "answers_nothing": ("return None", {"garbage"}),
    "answers_nested": ("return [[0]]", {"illegal"}),
    "answers_itself": ("x = []\nx.append(x)\nreturn x", {"garbage", "crash"}),
    "answers_deep": ("x = []\nfor _ in range(100000): x = [x]\nreturn x", {"garbage", "crash"}),
    "answers_nan": ("return [float('nan')]", {"garbage"}),
    "answers_much": ("return [0] * 6_000_000", {"garbage", "timeout"}),
    "babbles": ("return 'garbage'", {"garbage"}),
    "exits": ("import os\nos._exit(0)", {"crash"}),
    "exits_politely": ("raise SystemExit", {"crash"}),
    "kills_itself": ("import os\nos.kill(os.getpid(), 9)", {"crash"}),
    "kills_its_group": ("import os\nos.killpg(0, 9)", {"crash"}),
    "ends_by_a_real_time_signal": ("import os\nos.kill(os.getpid(), 40)", {"crash"}),
    "segfaults": ("import ctypes\nctypes.string_at(0)", {"crash"}),
    "aborts": ("import os\nos.abort()", {"crash"}),
    "kills_its_parent": ("import os\nos.kill(os.getppid(), 9)", {"error"}),
    "kills_everybody": ("import os\nos.kill(-1, 9)", {"error", "crash", ""}),
    "hangs": ("import time\ntime.sleep(1000)", {"timeout"}),
    "spins": ("while True: pass", {"timeout"}),
    "hangs_deaf": ("import signal, time\nfor n in (1, 2, 15): signal.signal(n, signal.SIG_IGN)\ntime.sleep(1000)", {"timeout"}),
    "stops_itself": ("import os\nos.kill(os.getpid(), 19)", {"timeout"}),
    "eats": ("held = [bytearray(1 << 24) for _ in range(2000)]", {"memory"}),
    "eats_in_children": (
        "import os, time\nfor _ in range(4):\n    if os.fork() == 0:\n        held = bytearray(100 << 20)\n"
        "        held[::4096] = b'x' * len(held[::4096])\n        time.sleep(300)\ntime.sleep(300)",
        {"memory"},
    ),
    "multiplies": (
        "import os, time\nfor _ in range(100):\n    if os.fork() == 0: time.sleep(300)\ntime.sleep(300)",
        {"processes", "memory"},
    ),
    "prints": ("print('x' * 30_000_000)", {"output"}),
    "forks": (FORK.format("pass"), {"leftover"}),
    "forks_and_moves_away": (FORK.format("os.setsid()"), {"leftover"}),
    "forks_twice": (FORK.format("os.setsid()\n    if os.fork(): os._exit(0)"), {"leftover"}),
    "leaves_a_program": ("import subprocess\nsubprocess.Popen(['sleep', '300'], start_new_session=True)", {"leftover"}),
    "writes_elsewhere": ("open('/tmp/tcg-hostile', 'w')", {"error"}),
    "rewrites_itself": ("open('main.py', 'w').write('raise OSError')", {""}),
    "locks_its_files": (
        "import os\nos.makedirs(os.environ['TMPDIR'] + '/a/b', exist_ok=True)\nos.chmod(os.environ['TMPDIR'] + '/a', 0)",
        None,
    ),
    "opens_a_socket": ("import socket\nsocket.create_server(('', 0))", {"error"}),
    "speaks_no_json": (RAW.format("b'no json'"), {"garbage"}),
    "speaks_deep_json": (RAW.format("b'[' * 1000000"), {"garbage"}),
    "speaks_without_an_answer": (RAW.format("b'{\"seconds\": 1}'"), {"garbage"}),
    "speaks_of_a_strange_failure": (RAW.format('b\'{"failure": "won", "text": "\\\\u001b[2J"}\''), {"garbage"}),
}


def test_there_are_forty():
    assert len(AGENTS) >= 40


@pytest.mark.parametrize("name", AGENTS)
def test_the_right_seat_loses_for_the_right_reason(play, tmp_path, monkeypatch, name):
    monkeypatch.setattr(seats, "FOREIGN_LIMITS", Limits(memory=300 << 20, output=16 << 20, processes=20))
    body, reasons = AGENTS[name]
    source = (
        f"DECK, COUNT = {list(sample_deck())}, 0\ndef agent(obs):\n    global COUNT\n"
        "    if obs['select'] is None:\n        return DECK\n    COUNT += 1\n    if COUNT == 3:\n"
        f"{textwrap.indent(body, ' ' * 8)}\n    return list(range(obs['select']['minCount']))\n"
    )
    folder = tmp_path / name
    folder.mkdir()
    (folder / "main.py").write_text(source)
    before = set(psutil.Process().children(recursive=True))
    found = play("random", str(folder), games=4, seconds_budget=3.0)
    reached = [game for game in found if game.decisions[1] >= 2]
    assert {game.outcome for game in found if game.offender} <= {"win"}, found
    assert {game.offender for game in found} <= {"", "opponent"}, found
    if reasons is not None:
        assert {game.reason if game.offender else "" for game in reached if game.decisions[1] > 3 or game.offender} <= reasons
        assert "" in reasons or any(game.offender for game in found), "it never got as far as to misbehave"
    assert set(psutil.Process().children(recursive=True)) - before == set()
    assert not Path("/tmp/tcg-hostile").exists()
