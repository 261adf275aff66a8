"""The parent's side of an agent process: start, ask within a time limit, stop with all its descendants."""

import contextlib
import importlib.util
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self

import msgspec
import psutil  # type: ignore[import-untyped]  # no type information is published with it

from tcg_core.base.errors import TcgError
from tcg_core.submission.host import child

Reason = Literal["load", "error", "timeout", "crash", "garbage", "memory", "output"]
#: Packages that an agent may only use if they lie in its own folder.
BLOCKED = ("tcg_core", "tcg_assets", "mlx", "dagster", "kaggle_environments")
GIBIBYTE = 1 << 30
_LARGEST_REPLY = 8 << 20
_KEPT_OUTPUT = 4096
_SLICE = 0.25

_decode = msgspec.json.Decoder(type=dict)
_encode = msgspec.json.Encoder()


class AgentFailure(TcgError):
    """An agent that did not answer: why, in one word and in a line. Afterwards its process may be gone."""

    def __init__(self, reason: Reason, text: str) -> None:
        super().__init__(reason, text)
        self.reason: Reason = reason
        self.text = text

    def __str__(self) -> str:
        return f"{self.reason}: {self.text}"


@dataclass(frozen=True)
class Limits:
    """What an agent process may use. memory: bytes resident (and private data, where the system limits it); file: bytes of
    one file; output: bytes printed; load: seconds to load; the time of a decision is given with each request."""

    memory: int = 6 * GIBIBYTE
    file: int = 256 << 20
    output: int = 64 << 20
    load: float = 120.0


def library_folders(packages: Sequence[str] = ("numpy", "torch")) -> tuple[str, ...]:
    """The folders that hold ``packages``, found without importing them; a package that is absent adds none."""
    found = []
    for name in packages:
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.origin:
            found.append(str(Path(spec.origin).resolve().parent.parent))
    return tuple(dict.fromkeys(found))


class AgentProcess:
    """One agent, loaded from ``folder``/``main`` in a process with a clean environment and ``folder`` as its directory.

    ``blocked``: packages refused unless they lie in the folder; ``libraries``: folders on its search path besides the
    standard library; ``scratch``: where its private folder is made (default: the system's place). Use as a context
    manager, or :meth:`close` it. Raises :class:`AgentFailure`.
    """

    def __init__(
        self,
        folder: Path,
        main: str = "main.py",
        limits: Limits | None = None,
        blocked: Sequence[str] = BLOCKED,
        libraries: Sequence[str] | None = None,
        environment: Mapping[str, str] | None = None,
        scratch: Path | None = None,
    ) -> None:
        self.folder = folder.resolve()
        self.limits = limits or Limits()
        self.load_seconds = 0.0
        self.callable_name = ""
        self._private = Path(tempfile.mkdtemp(prefix="tcg-agent-", dir=scratch))
        self._tail = bytearray()
        self.printed = 0
        ours, theirs = socket.socketpair()
        self._connection = ours
        try:
            with theirs:
                self._process = subprocess.Popen(
                    [sys.executable, "-I", "-S", "-B", str(Path(child.__file__).resolve()), str(theirs.fileno())],
                    cwd=self.folder,
                    env=self._environment(environment or {}),
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                    pass_fds=(theirs.fileno(),),
                    start_new_session=True,
                )
        except BaseException:
            ours.close()
            shutil.rmtree(self._private, ignore_errors=True)
            raise
        self._drainer = threading.Thread(target=self._drain, name="tcg-agent-output", daemon=True)
        self._drainer.start()
        try:
            self._load(main, blocked, library_folders() if libraries is None else libraries)
        except BaseException:
            self.close()
            raise

    def _environment(self, extra: Mapping[str, str]) -> dict[str, str]:
        private = str(self._private)
        return {"PATH": "/usr/bin:/bin", "HOME": private, "TMPDIR": private, "LANG": "C.UTF-8", "OMP_NUM_THREADS": "1", **extra}

    def _load(self, main: str, blocked: Sequence[str], libraries: Sequence[str]) -> None:
        limits = {"DATA": self.limits.memory, "FSIZE": self.limits.file, "CORE": 0}
        request = {
            "op": "load",
            "folder": str(self.folder),
            "main": main,
            "blocked": list(blocked),
            "libraries": list(libraries),
            "limits": limits,
        }
        loaded = self._ask(request, self.limits.load)
        self.load_seconds, self.callable_name = float(loaded["seconds"]), str(loaded["value"])

    def act(self, observation: Mapping[str, Any], configuration: Mapping[str, Any], timeout: float) -> tuple[list[Any], float]:
        """The agent's answer and the seconds it took there."""
        request = {"op": "act", "observation": observation, "configuration": configuration}
        reply = self._ask(request, timeout)
        return reply["answer"], float(reply["seconds"])

    def call(self, name: str, *arguments: Any, timeout: float = 60.0) -> Any:
        """Calls the function ``name`` that is an attribute of the agent; None if there is no such attribute."""
        return self._ask({"op": "call", "name": name, "arguments": arguments}, timeout).get("value")

    def modules(self, names: Sequence[str]) -> dict[str, str]:
        """Which of ``names`` are loaded there, and from where."""
        return dict(self._ask({"op": "modules", "names": list(names)}, 60.0)["value"])

    @property
    def output(self) -> str:
        """The end of what the agent printed."""
        return bytes(self._tail).decode(errors="replace")

    @property
    def alive(self) -> bool:
        """Whether the process still runs."""
        return self._process.poll() is None

    def _ask(self, request: Mapping[str, Any], timeout: float) -> dict[str, Any]:
        deadline = time.monotonic() + timeout
        body = _encode.encode(request)
        try:
            self._connection.settimeout(max(timeout, 0.001))
            self._connection.sendall(child.HEADER.pack(len(body)) + body)
            size = child.HEADER.unpack(self._receive(child.HEADER.size, deadline))[0]
            if size > _LARGEST_REPLY:
                self._kill()
                raise AgentFailure("garbage", f"a reply of {size} bytes")
            reply = _decode.decode(self._receive(size, deadline))
        except TimeoutError:
            self._kill()
            raise AgentFailure("timeout", f"no answer within {timeout:.1f} s") from None
        except (ConnectionError, EOFError, BrokenPipeError):
            raise AgentFailure("crash", self._death()) from None
        except msgspec.DecodeError as error:
            self._kill()
            raise AgentFailure("garbage", f"a reply that is no JSON: {error}") from None
        if "failure" in reply:
            raise AgentFailure(reply["failure"], str(reply.get("text", "")))
        if self.printed > self.limits.output:
            self._kill()
            raise AgentFailure("output", f"{self.printed >> 20} MiB printed, {self.limits.output >> 20} MiB allowed")
        return reply

    def _receive(self, count: int, deadline: float) -> bytes:
        data = bytearray()
        while len(data) < count:
            remaining = deadline - time.monotonic()
            if remaining <= 0:
                raise TimeoutError
            self._connection.settimeout(min(_SLICE, remaining))
            try:
                part = self._connection.recv(min(1 << 20, count - len(data)))
            except TimeoutError:
                self._check_memory()
                continue
            if not part:
                raise EOFError
            data += part
        return bytes(data)

    def _check_memory(self) -> None:
        try:
            used = psutil.Process(self._process.pid).memory_info().rss
        except psutil.Error:
            return
        if used > self.limits.memory:
            self._kill()
            raise AgentFailure("memory", f"{used >> 20} MiB in use, {self.limits.memory >> 20} MiB allowed")

    def _death(self) -> str:
        try:
            code = self._process.wait(timeout=5.0)
        except subprocess.TimeoutExpired:
            self._kill()
            return "it closed its connection"
        self._drainer.join(timeout=1.0)
        how = f"exit code {code}" if code >= 0 else signal.Signals(-code).name
        last = self.output.strip().splitlines()
        return f"its process ended with {how}" + (f"; it last printed {last[-1][:200]!r}" if last else "")

    def _drain(self) -> None:
        stream = self._process.stdout
        assert stream is not None
        with contextlib.suppress(OSError, ValueError):
            while part := os.read(stream.fileno(), 1 << 16):
                self.printed += len(part)
                self._tail += part
                del self._tail[:-_KEPT_OUTPUT]

    def _kill(self) -> None:
        # The child leads its own session: its group holds what it started, unless that moved away by itself.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def close(self) -> None:
        """Ends the process and its descendants and removes its private folder; a second call does nothing."""
        self._connection.close()
        self._kill()
        self._drainer.join(timeout=1.0)
        if self._process.stdout is not None:
            self._process.stdout.close()
        shutil.rmtree(self._private, ignore_errors=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()
