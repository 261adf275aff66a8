"""A deployment of a data home: webserver and daemon as the service files start them, to be launched into and killed."""

import os
import re
import shlex
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
from dataclasses import dataclass, field
from typing import Any

import dagster as dg
import psutil  # type: ignore[import-untyped]

from tcg_core.base.home import Home
from tcg_core.ops.service import render
from tests.ui.conftest import LOCATION, Served
from tests.ui.driving import ask, until

_SECONDS_TO_START = 120.0
_SECONDS_TO_STOP = 60.0
_LAUNCH = (
    "mutation($params: ExecutionParams!) { launchRun(executionParams: $params) { __typename"
    " ... on LaunchRunSuccess { run { runId } } ... on PythonError { message }"
    " ... on RunConfigValidationInvalid { errors { message } } } }"
)
_SWITCH_ON = (
    "mutation($schedule: ScheduleSelector!) { startSchedule(scheduleSelector: $schedule) { __typename"
    " ... on ScheduleStateResult { scheduleState { status } } ... on PythonError { message } } }"
)
REPOSITORY = {"repositoryName": "__repository__", "repositoryLocationName": LOCATION}
_FINAL = ("SUCCESS", "FAILURE", "CANCELED")


@dataclass
class Deployment:
    """The two services of ``home``, each with its own code server, as systemd or launchd run them."""

    home: Home
    _webserver: "subprocess.Popen[bytes] | None" = field(default=None, init=False)
    _daemon: "subprocess.Popen[bytes] | None" = field(default=None, init=False)
    _orphans: list[psutil.Process] = field(default_factory=list, init=False)
    _port: int = field(default=0, init=False)

    @property
    def served(self) -> Served:
        """Where it is served."""
        return Served(f"http://127.0.0.1:{self._port}", self.home)

    def start(self) -> None:
        """Starts both and waits until the webserver answers."""
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self._port = free.getsockname()[1]
        self._webserver = self._service("tcg-webserver.service")
        self.start_daemon()
        until(self._answers, _SECONDS_TO_START, f"a webserver at {self.served.url}")

    def start_daemon(self) -> None:
        """Starts the daemon after what its unit runs first."""
        self._daemon = self._service("tcg-daemon.service")

    def kill_daemon(self) -> None:
        """SIGKILL for the daemon's own process alone: its code server and the runs in that are orphans now."""
        assert self._daemon is not None
        self._orphans += psutil.Process(self._daemon.pid).children(recursive=True)
        self._daemon.kill()
        self._daemon.wait(timeout=_SECONDS_TO_STOP)

    def kill(self) -> None:
        """SIGKILL for every process of it at once, as when the machine loses power."""
        assert self._daemon is not None and self._webserver is not None
        heads = [psutil.Process(head.pid) for head in (self._daemon, self._webserver)]
        processes = [*heads, *(child for head in heads for child in head.children(recursive=True)), *self._orphans]
        _send(processes, signal.SIGKILL)
        psutil.wait_procs(processes, timeout=30)
        for head in (self._daemon, self._webserver):
            head.wait(timeout=_SECONDS_TO_STOP)
        self._orphans = []

    def stop(self) -> None:
        """Ends it as a service manager does, and what a killed daemon left behind."""
        running = [head for head in (self._daemon, self._webserver) if head is not None and head.poll() is None]
        processes = [*self._orphans, *(child for head in running for child in psutil.Process(head.pid).children(recursive=True))]
        for head in running:
            head.terminate()
        for head in running:
            try:
                head.wait(timeout=_SECONDS_TO_STOP)
            except subprocess.TimeoutExpired:
                head.kill()
                head.wait()
        _, alive = psutil.wait_procs(processes, timeout=10)
        _send(alive, signal.SIGTERM)
        _, alive = psutil.wait_procs(alive, timeout=30)
        _send(alive, signal.SIGKILL)

    def launch(self, job: str, config: dict[str, Any], tags: dict[str, str]) -> str:
        """Puts a run into the queue as the launchpad does; returns its id."""
        metadata = {"tags": [{"key": key, "value": value} for key, value in tags.items()]}
        selector = {**REPOSITORY, "pipelineName": job}
        params = {"selector": selector, "runConfigData": config, "executionMetadata": metadata, "mode": "default"}
        told = ask(self.served, _LAUNCH, params=params)["launchRun"]
        assert told["__typename"] == "LaunchRunSuccess", told
        return str(told["run"]["runId"])

    def switch_on(self, schedule: str) -> None:
        """The switch of a schedule on the Automation page."""
        told = ask(self.served, _SWITCH_ON, schedule={**REPOSITORY, "scheduleName": schedule})["startSchedule"]
        assert told["__typename"] == "ScheduleStateResult" and told["scheduleState"]["status"] == "RUNNING", told

    def _service(self, name: str) -> "subprocess.Popen[bytes]":
        unit = render("systemd", self.home, self._port)[name].splitlines()
        told = re.compile(r"(Environment|ExecStartPre|ExecStart)=(.*)")
        lines = [(found[1], shlex.split(found[2].replace("%%", "%"))) for line in unit if (found := told.fullmatch(line))]
        settings = os.environ | dict(text.split("=", 1) for key, words in lines if key == "Environment" for text in words)
        [start] = [words for key, words in lines if key == "ExecStart"]
        with (self.home.root / f"{name}.log").open("ab") as log:
            for before in (words for key, words in lines if key == "ExecStartPre"):
                subprocess.run(before, env=settings, stdout=log, stderr=log, check=True)
            return subprocess.Popen(start, cwd=self.home.dagster, env=settings, stdout=log, stderr=log)

    def _answers(self) -> bool:
        assert self._webserver is not None and self._webserver.poll() is None, "the webserver ended; see its log in the home"
        try:
            with urllib.request.urlopen(f"{self.served.url}/server_info", timeout=5):
                return True
        except (urllib.error.URLError, OSError):
            return False


def status_of(instance: dg.DagsterInstance, run_id: str) -> str:
    """Status of a run by name."""
    run = instance.get_run_by_id(run_id)
    return "" if run is None else run.status.value


def ended(instance: dg.DagsterInstance, run_id: str, seconds: float) -> str:
    """The status in which a run ends; a failure if it does not in time."""
    return str(
        until(lambda: status_of(instance, run_id) in _FINAL and status_of(instance, run_id), seconds, f"the end of {run_id}")
    )


def soon(question: Any, seconds: float, what: str) -> Any:
    """As ``until``, asked every few milliseconds: for what must be caught while it lasts."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        answer = question()
        if answer:
            return answer
        time.sleep(0.01)
    raise AssertionError(f"{what}: not in {seconds:.0f} s")


def _send(processes: list[psutil.Process], number: int) -> None:
    for process in processes:
        try:
            process.send_signal(number)
        except psutil.NoSuchProcess:
            continue
