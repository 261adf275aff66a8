"""A copy of the project that a test may edit, with a data home of its own, served as `tcg ui` serves it."""

import os
import shutil
import signal
import socket
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tcg_core.base.home import VARIABLE, Home
from tests.ui.conftest import LOCATION, Served
from tests.ui.driving import answers, ask, until

ROOT = Path(__file__).resolve().parents[2]
_PARTS = ("tcg_core", "tcg_assets", "docs", "pyproject.toml", "workspace.yaml", "dagster.yaml")
_SECONDS_TO_START = 240.0


@dataclass
class Tree:
    """The copy at ``root`` and its home; commands run in it with its own code."""

    root: Path
    home: Home
    _server: "subprocess.Popen[bytes] | None" = field(default=None, init=False)
    _url: str = field(default="", init=False)

    @property
    def served(self) -> Served:
        """Where it is served."""
        return Served(self._url, self.home)

    def run(self, *arguments: str, status: int = 0) -> str:
        """Runs `python ARGUMENTS` in the copy; returns what it printed. Fails unless it ends with ``status``."""
        done = subprocess.run(
            [sys.executable, *arguments], cwd=self.root, env=self._environment(), capture_output=True, text=True, check=False
        )
        assert done.returncode == status, (done.returncode, done.stdout[-2000:], done.stderr[-3000:])
        return done.stdout + done.stderr

    def edit(self, file: str, old: str, new: str) -> None:
        """Replaces a piece of a file that occurs once."""
        path = self.root / file
        text = path.read_text()
        assert text.count(old) == 1, (file, old, text.count(old))
        path.write_text(text.replace(old, new))

    def append(self, file: str, text: str) -> None:
        """Adds to the end of a file."""
        with (self.root / file).open("a") as stream:
            stream.write(text)

    def start(self) -> None:
        """Starts webserver, code server and daemon and waits until they answer."""
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self._url = f"http://127.0.0.1:{port}"
        command = [sys.executable, "-m", "tcg_assets.cli", "ui", "--port", str(port)]
        with (self.home.root / "server.log").open("ab") as log:
            self._server = subprocess.Popen(command, cwd=self.root, env=self._environment(), stdout=log, stderr=log)
        until(lambda: answers(self._url), _SECONDS_TO_START, f"a webserver at {self._url}")

    def reload(self) -> None:
        """Reloads the code location, as its button does."""
        told = ask(
            self.served,
            f'mutation {{ reloadRepositoryLocation(repositoryLocationName: "{LOCATION}") {{ __typename'
            " ... on WorkspaceLocationEntry { loadStatus locationOrLoadError { __typename ... on PythonError { message } } }"
            " ... on PythonError { message } } }",
        )["reloadRepositoryLocation"]
        assert told["__typename"] == "WorkspaceLocationEntry", told
        assert told["locationOrLoadError"]["__typename"] == "RepositoryLocation", told

    def stop(self) -> None:
        """Ends it as Ctrl-C does."""
        if self._server is not None and self._server.poll() is None:
            self._server.send_signal(signal.SIGINT)
            try:
                self._server.wait(timeout=60)
            except subprocess.TimeoutExpired:
                self._server.kill()

    def _environment(self) -> dict[str, str]:
        return os.environ | {"PYTHONPATH": str(self.root), VARIABLE: str(self.home.root), "PYTHONDONTWRITEBYTECODE": "1"}


def copy_project(to: Path) -> Tree:
    """A copy of the project below ``to``, with an empty home."""
    root = to / "project"
    root.mkdir(parents=True)
    for name in _PARTS:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, root / name, ignore=shutil.ignore_patterns("__pycache__", "images"))
        else:
            shutil.copy(ROOT / name, root / name)
    return Tree(root, Home(to / "data").prepare())


def stale(served: Served) -> dict[str, set[str]]:
    """What the UI calls unsynced, with its causes: by asset, or by asset[day]."""
    told = ask(served, "{ assetNodes { assetKey { path } isPartitioned staleCauses { reason } } }")["assetNodes"]
    found: dict[str, Any] = {}
    for node in told:
        [name] = node["assetKey"]["path"]
        if not node["isPartitioned"]:
            found[name] = node["staleCauses"]
            continue
        by_day = ask(
            served,
            "query($key: AssetKeyInput!) { assetNodeOrError(assetKey: $key) { ... on AssetNode"
            " { partitionKeys staleCausesByPartition { reason } } } }",
            key={"path": [name]},
        )["assetNodeOrError"]
        pairs = zip(by_day["partitionKeys"], by_day["staleCausesByPartition"], strict=True)
        found |= {f"{name}[{day}]": causes for day, causes in pairs}
    return {name: {cause["reason"] for cause in causes} for name, causes in found.items() if causes}
