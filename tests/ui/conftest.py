"""Webserver and daemon, started as `tcg ui` starts them, and a browser on them."""

import os
import shutil
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tcg_assets.sync.server import environment, serve_command
from tcg_core.base.home import Home
from tests.ui.live import make_home

ROOT = Path(__file__).resolve().parents[2]
SHOTS = ROOT / "tests" / "ui" / "screenshots"
LOCATION = "tcg_assets"
_SECONDS_TO_START = 120.0


@dataclass(frozen=True)
class Served:
    """A running webserver and its data home."""

    url: str
    home: Home


@pytest.fixture(scope="session")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    home = make_home(tmp_path_factory.mktemp("ui") / "data")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    settings = os.environ | environment(home)
    with (home.root / "webserver.log").open("wb") as log:
        server = subprocess.Popen(serve_command(port), cwd=home.dagster, env=settings, stdout=log, stderr=log)
    url = f"http://127.0.0.1:{port}"
    try:
        _wait(url, server, home)
        yield Served(url, home)
    finally:
        server.send_signal(signal.SIGINT)
        try:
            server.wait(timeout=60)
        except subprocess.TimeoutExpired:
            server.kill()


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    playwright = pytest.importorskip("playwright.sync_api", reason="`make test-ui` installs playwright")
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        pytest.fail("the browser tests need Debian's chromium: apt-get install chromium")
    with playwright.sync_playwright() as driver:
        context = driver.chromium.launch_persistent_context(
            str(tmp_path_factory.mktemp("profile")),
            executable_path=chromium,
            headless=True,
            args=["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"],
            viewport={"width": 1600, "height": 1000},
        )
        yield context
        context.close()


@pytest.fixture
def page(browser: Any) -> Iterator[Any]:
    opened = browser.new_page()
    opened.set_default_timeout(60_000)
    yield opened
    opened.close()


def _wait(url: str, server: "subprocess.Popen[bytes]", home: Home) -> None:
    until = time.monotonic() + _SECONDS_TO_START
    while time.monotonic() < until:
        if server.poll() is not None:
            pytest.fail((home.root / "webserver.log").read_text()[-2000:])
        try:
            with urllib.request.urlopen(f"{url}/server_info", timeout=5):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.5)
    pytest.fail(f"no webserver at {url} after {_SECONDS_TO_START:.0f} s")
