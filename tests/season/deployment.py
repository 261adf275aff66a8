"""A deployment of a data home: webserver, code server and daemon as `tcg ui` starts them, to be launched into and killed."""

import os
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
from dataclasses import dataclass, field
from typing import Any

import dagster as dg
import psutil

from tcg_assets.serve import command, environment
from tcg_core.home import Home
from tests.ui.conftest import LOCATION, Served
from tests.ui.driving import ask, until

_SECONDS_TO_START = 120.0
_LAUNCH = (
    "mutation($params: ExecutionParams!) { launchRun(executionParams: $params) { __typename"
    " ... on LaunchRunSuccess { run { runId } } ... on PythonError { message }"
    " ... on RunConfigValidationInvalid { errors { message } } } }"
)


@dataclass
class Deployment:
    """The processes that serve ``home``."""

    home: Home
    _server: "subprocess.Popen[bytes] | None" = field(default=None, init=False)
    _url: str = field(default="", init=False)

    @property
    def served(self) -> Served:
        """Where it is served."""
        return Served(self._url, self.home)

    def start(self) -> None:
        """Starts everything and waits until the webserver answers."""
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self._url = f"http://127.0.0.1:{port}"
        with (self.home.root / "server.log").open("ab") as log:
            settings = os.environ | environment(self.home)
            self._server = subprocess.Popen(command(port), cwd=self.home.dagster, env=settings, stdout=log, stderr=log)
        until(self._answers, _SECONDS_TO_START, f"a webserver at {self._url}")

    def kill(self) -> None:
        """SIGKILL for every process of it at once, as when the machine loses power."""
        assert self._server is not None
        processes = [psutil.Process(self._server.pid), *psutil.Process(self._server.pid).children(recursive=True)]
        for process in processes:
            process.send_signal(signal.SIGKILL)
        psutil.wait_procs(processes, timeout=30)
        self._server.wait(timeout=30)

    def stop(self) -> None:
        """Ends it as Ctrl-C does."""
        if self._server is not None and self._server.poll() is None:
            self._server.send_signal(signal.SIGINT)
            try:
                self._server.wait(timeout=60)
            except subprocess.TimeoutExpired:
                self.kill()

    def launch(self, job: str, config: dict[str, Any], tags: dict[str, str]) -> str:
        """Puts a run into the queue as the launchpad does; returns its id."""
        selector = {"repositoryName": "__repository__", "repositoryLocationName": LOCATION, "pipelineName": job}
        metadata = {"tags": [{"key": key, "value": value} for key, value in tags.items()]}
        params = {"selector": selector, "runConfigData": config, "executionMetadata": metadata, "mode": "default"}
        told = ask(self.served, _LAUNCH, params=params)["launchRun"]
        assert told["__typename"] == "LaunchRunSuccess", told
        return str(told["run"]["runId"])

    def _answers(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self._url}/server_info", timeout=5):
                return True
        except (urllib.error.URLError, OSError):
            return False


def status_of(instance: dg.DagsterInstance, run_id: str) -> str:
    """Status of a run by name."""
    run = instance.get_run_by_id(run_id)
    return "" if run is None else run.status.value


def ended(instance: dg.DagsterInstance, run_id: str, seconds: float) -> str:
    """The status in which a run ends; a failure if it does not in time."""
    final = ("SUCCESS", "FAILURE", "CANCELED")
    return str(
        until(lambda: status_of(instance, run_id) in final and status_of(instance, run_id), seconds, f"the end of {run_id}")
    )


def process_named(part: str, below: str) -> psutil.Process | None:
    """The living process whose command line holds both texts."""
    for process in psutil.process_iter(["cmdline"]):
        line = " ".join(process.info["cmdline"] or [])
        if part in line and below in line:
            return process
    return None


def kill_when_it_appears(part: str, below: str, seconds: float) -> int:
    """SIGKILL for the first process with both texts in its command line; returns its id."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        process = process_named(part, below)
        if process is not None:
            process.send_signal(signal.SIGKILL)
            return int(process.pid)
        time.sleep(0.05)
    raise AssertionError(f"no process {part} {below} in {seconds:.0f} s")
