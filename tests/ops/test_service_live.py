"""The units under a real `systemd --user`: both start, serve, come back after a kill, and stop.

It runs in a mount namespace of its own with an empty /run, so that neither this machine's systemd nor its users notice.
"""

import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tcg_core.base.home import Home
from tcg_core.ops.service import render

MANAGER = Path("/lib/systemd/systemd")
#: $1: scratch directory, which is $HOME, too; $2: port.
SCRIPT = """
set -eu
mount -t tmpfs tmpfs /run
mkdir -p /run/systemd/system /run/user
chmod 700 /run/user
export XDG_RUNTIME_DIR=/run/user HOME="$1"
"$3" --user --log-target=console >"$1/manager.log" 2>&1 &
manager=$!
trap 'kill -TERM $manager; wait $manager || true' EXIT
for _ in $(seq 100); do systemctl --user is-system-running >/dev/null 2>&1 && break; sleep 0.2; done
systemctl --user start tcg-webserver tcg-daemon
answers() { curl -fsS -m 5 "http://127.0.0.1:$2/server_info" >/dev/null 2>&1; }
for _ in $(seq 240); do answers "$@" && break; sleep 0.5; done
answers "$@" && echo "webserver answers"
echo "daemon $(systemctl --user is-active tcg-daemon)"
first=$(systemctl --user show -P MainPID tcg-webserver)
kill -KILL "$first"
for _ in $(seq 240); do
  second=$(systemctl --user show -P MainPID tcg-webserver)
  [ "$second" != 0 ] && [ "$second" != "$first" ] && answers "$@" && break
  sleep 0.5
done
[ "$second" != "$first" ] && answers "$@" && echo "webserver came back"
echo "webserver restarts $(systemctl --user show -P NRestarts tcg-webserver)"
echo "daemon restarts $(systemctl --user show -P NRestarts tcg-daemon)"
systemctl --user stop tcg-daemon tcg-webserver
echo "daemon $(systemctl --user is-active tcg-daemon), $(systemctl --user show -P Result tcg-daemon)"
echo "webserver $(systemctl --user is-active tcg-webserver), $(systemctl --user show -P Result tcg-webserver)"
answers "$@" || echo "nobody answers"
"""


def possible() -> str:
    """Why it cannot be done here, "" if it can."""
    missing = [tool for tool in ("unshare", "systemctl", "curl") if shutil.which(tool) is None]
    if missing or not MANAGER.is_file():
        return f"{', '.join(missing) or MANAGER} is not installed"
    done = subprocess.run(["unshare", "-m", "mount", "-t", "tmpfs", "tmpfs", "/run"], capture_output=True, text=True, check=False)
    return f"no mount namespace: {done.stderr.strip()}" if done.returncode else ""


@pytest.mark.slow
def test_both_units_run_under_systemd(tmp_path):
    problem = possible()
    if problem:
        pytest.skip(problem)
    home = Home(tmp_path / "da ta")
    home.root.mkdir()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    units = tmp_path / ".config" / "systemd" / "user"
    units.mkdir(parents=True)
    for name, text in render("systemd", home, port, Path(sys.executable)).items():
        (units / name).write_text(text)
        # There is no journal in here.
        (units / f"{name}.d").mkdir()
        log = f"[Service]\nStandardOutput=append:{tmp_path}/{name}.log\nStandardError=inherit\n"
        (units / f"{name}.d" / "log.conf").write_text(log)
    secret = tmp_path / ".config" / "tcg" / "environment"
    secret.parent.mkdir()
    secret.write_text("DAGSTER_DISABLE_TELEMETRY=yes\n")
    command = ["unshare", "-m", "bash", "-c", SCRIPT, "bash", str(tmp_path), str(port), str(MANAGER)]
    environment = {"PATH": os.environ["PATH"], "LANG": "C.UTF-8"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=550, check=False)
    told = "".join(path.read_text()[-2000:] for path in sorted(tmp_path.glob("*.log")))
    assert done.returncode == 0, (done.stdout, done.stderr, told)
    assert done.stdout.splitlines() == [
        "webserver answers",
        "daemon active",
        "webserver came back",
        "webserver restarts 1",
        "daemon restarts 0",
        "daemon inactive, success",
        "webserver inactive, success",
        "nobody answers",
    ], told
    assert (home.dagster / "storage" / "runs.db").exists() or list(home.dagster.rglob("runs.db"))
