"""Service files: no machine's path in a template, this machine's in what is rendered, and the formats' own checkers agree."""

import os
import plistlib
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tcg_core.base.home import Home
from tcg_core.ops.errors import ServiceError
from tcg_core.ops.service import PROJECT, render

TEMPLATES = sorted((PROJECT / "deploy").glob("*/tcg*"))
ODD = 'a b%h$HOME"&<é'


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.name)
def test_a_template_names_no_machine(path):
    text = path.read_text()
    assert not re.search(r"/(home|Users|work|root|opt|tmp)/", text)
    assert "@PYTHON@" in text and "@DATA@" in text and "@PROJECT@" in text


def test_there_are_two_services_a_format():
    assert sorted(path.name for path in TEMPLATES) == [
        "tcg-daemon.service",
        "tcg-webserver.service",
        "tcg.daemon.plist",
        "tcg.webserver.plist",
    ]


def settings(text: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for line in text.splitlines():
        if "=" in line and not line.startswith("#"):
            name, value = line.split("=", 1)
            found.setdefault(name, []).append(value)
    return found


def test_systemd_units_share_one_home_and_only_the_loopback_interface(tmp_path):
    home = Home(tmp_path / "data")
    files = render("systemd", home, 3456)
    web, daemon = settings(files["tcg-webserver.service"]), settings(files["tcg-daemon.service"])
    assert web["Environment"] == daemon["Environment"]
    assert f'"DAGSTER_HOME={home.dagster}"' in web["Environment"] and f'"TCG_DATA={home.root}"' in web["Environment"]
    assert "-h 127.0.0.1 -p 3456" in web["ExecStart"][0] and f'"{PROJECT}/workspace.yaml"' in web["ExecStart"][0]
    assert daemon["ExecStart"][0].startswith(f'"{sys.executable}" -m dagster._daemon run')
    assert "0.0.0.0" not in str(files) and "@" not in "".join(files.values())


def test_paths_with_blanks_quotes_and_specifiers_survive(tmp_path):
    home, python, project = Home(tmp_path / ODD), tmp_path / ODD / "python", tmp_path / ODD / "project"
    text = render("systemd", home, 3000, python, project)["tcg-webserver.service"]
    start = settings(text)["ExecStart"][0]
    assert "%%h" in start and "$$HOME" in start and '\\"' in start and "%h$" not in start.replace("%%h", "")
    [data] = [value for value in settings(text)["Environment"] if "TCG_DATA" in value]
    assert "%%h$HOME" in data and "$$" not in data
    for name, text in render("launchd", home, 3000, python, project).items():
        held = plistlib.loads(text.encode())
        assert held["EnvironmentVariables"]["TCG_DATA"] == str(home.root), name
        assert held["ProgramArguments"][3:] == [str(python), str(project), "3000"]


def test_launchd_agents_start_what_systemd_starts(tmp_path):
    files = {name: plistlib.loads(text.encode()) for name, text in render("launchd", Home(tmp_path), 3000).items()}
    for name, module in (("tcg.webserver", "dagster_webserver"), ("tcg.daemon", "dagster._daemon run")):
        held = files[f"{name}.plist"]
        assert held["Label"] == name and f'exec "$0" -m {module}' in held["ProgramArguments"][2]
        assert held["EnvironmentVariables"]["DAGSTER_HOME"] == str(tmp_path / "dagster")
    assert '-h 127.0.0.1 -p "$2"' in files["tcg.webserver.plist"]["ProgramArguments"][2]


@pytest.mark.parametrize("name", ["tcg.webserver", "tcg.daemon"])
def test_the_command_of_an_agent_runs_with_odd_paths_and_reads_its_secrets(tmp_path, name):
    data = tmp_path / "da ta"
    python, project = tmp_path / "py thon", tmp_path / "pro ject"
    python.write_text('#!/bin/sh\nprintf "%s|" "$PWD" "$TCG_WEBHOOK" "$@"\necho\n')
    python.chmod(0o755)
    (data / "dagster").mkdir(parents=True)
    secrets = tmp_path / ".config" / "tcg" / "environment"
    secrets.parent.mkdir(parents=True)
    secrets.write_text("TCG_WEBHOOK=http://127.0.0.1:1/x\n")
    held = plistlib.loads(render("launchd", Home(data), 3000, python, project)[f"{name}.plist"].encode())
    environment = {**held["EnvironmentVariables"], "HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}
    done = subprocess.run(held["ProgramArguments"], env=environment, capture_output=True, text=True, cwd=tmp_path, check=True)
    prepared, started = done.stdout.splitlines()
    assert "|-m|tcg_assets." in prepared
    assert started.startswith(f"{data}/dagster|http://127.0.0.1:1/x|-m|dagster") and f"{project}/workspace.yaml" in started


def test_what_cannot_be_rendered_is_refused(tmp_path):
    with pytest.raises(ServiceError, match="line break"):
        render("systemd", Home(tmp_path / "a\nb"), 3000)


def verified(unit: Path) -> subprocess.CompletedProcess[str]:
    command = ["systemd-analyze", "--user", "verify", str(unit)]
    environment = os.environ | {"XDG_RUNTIME_DIR": str(unit.parent)}
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd-analyze is not installed")
def test_systemd_itself_accepts_the_units(tmp_path):
    python = tmp_path / "with blank" / "python"
    python.parent.mkdir()
    python.symlink_to(Path(sys.executable))
    for name, text in render("systemd", Home(tmp_path / "da ta"), 3000, python).items():
        unit = tmp_path / name
        unit.write_text(text)
        done = verified(unit)
        told = [line for line in done.stderr.splitlines() if name in line or str(tmp_path) in line]
        assert told == [], done.stderr
        broken = text.replace("Restart=on-failure", "Restart=sometimes")
        unit.write_text(broken)
        assert "sometimes" in verified(unit).stderr, "systemd-analyze would not have told"
