"""The parent's side of a keeper: start it, hear by which means the agent is held apart, have it end everything."""

import contextlib
import json
import os
import socket
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tcg_core.submission.host import keeper

#: Means that are not tried, of "namespaces", "user", "landlock": for tests of what a poorer system has.
WITHOUT: tuple[str, ...] = ()
_TO_START, _TO_END = 30.0, 30.0


@dataclass(frozen=True)
class AgentEnd:
    """How an agent ended. code: as of :mod:`subprocess`, negative for a signal, None if nobody knows; left: names of the
    processes that outlived it."""

    code: int | None
    left: tuple[str, ...]


class Keeper:
    """A keeper and its agent. ``place``: where the agent sees its folder; ``libraries``: where it sees those; ``held``: the
    means that hold it apart, as in docs/operations/isolation.md. Raises OSError if it does not start."""

    def __init__(self, folder: Path, private: Path, libraries: Sequence[str], agent: socket.socket, environment: dict[str, str]):
        ours, theirs = socket.socketpair()
        self._control = ours
        self._rest = b""
        self._ended: AgentEnd | None = None
        job = {"folder": str(folder), "private": str(private), "libraries": list(libraries), "without": list(WITHOUT)}
        command = [sys.executable, "-I", "-S", "-B", str(Path(keeper.__file__).resolve())]
        with theirs:
            self.process = subprocess.Popen(
                [*command, str(theirs.fileno()), str(agent.fileno()), json.dumps(job)],
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                pass_fds=(theirs.fileno(), agent.fileno()),
                start_new_session=True,
            )
        said = self._line(_TO_START) or {}
        self.held: tuple[str, ...] = tuple(said.get("held", ()))
        self.place = str(said.get("folder", folder))
        self.libraries = [str(path) for path in said.get("libraries", libraries)]

    def end(self, at_once: bool) -> AgentEnd:
        """Ends the agent and its descendants (not ``at_once``: after they had time to end by themselves). A second call
        tells the same."""
        if self._ended is None:
            with contextlib.suppress(OSError):
                self._control.sendall(b"k" if at_once else b"e")
            said = self._line(_TO_END) or {}
            status = said.get("status")
            self._ended = AgentEnd(None if status is None else os.waitstatus_to_exitcode(status), tuple(said.get("left", ())))
            self._control.close()
            try:
                self.process.wait(timeout=_TO_END)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        return self._ended

    def _line(self, seconds: float) -> dict[str, Any] | None:
        self._control.settimeout(seconds)
        with contextlib.suppress(OSError):
            while b"\n" not in self._rest:
                part = self._control.recv(1 << 16)
                if not part:
                    return None
                self._rest += part
            line, _, self._rest = self._rest.partition(b"\n")
            found: dict[str, Any] = json.loads(line)
            return found
        return None
