"""The parent's side of an agent process: start, ask within a time limit, stop with all its descendants."""

import contextlib
import importlib.util
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self

import msgspec

from tcg_core.base.errors import TcgError
from tcg_core.submission.host import child
from tcg_core.submission.host.keeping import AgentEnd, Keeper
from tcg_core.submission.host.tree import Limits, Tree, remove

__all__ = ["AgentFailure", "AgentProcess", "Limits", "Reason"]

Reason = Literal[
    "load", "error", "timeout", "crash", "garbage", "memory", "output", "processes", "cpu", "disk", "files", "leftover"
]
#: What an agent's process itself may say of a failure; its word for anything else is garbage.
_SAYS: tuple[Reason, ...] = ("load", "error", "garbage", "memory")
#: Packages that an agent may only use if they lie in its own folder.
BLOCKED = ("tcg_core", "tcg_assets", "mlx", "dagster", "kaggle_environments")
_LARGEST_REPLY = 8 << 20
_KEPT_OUTPUT = 4096
_LONGEST_TEXT = 1000
_SLICE = 0.25

_decode = msgspec.json.Decoder(type=dict)
_encode = msgspec.json.Encoder()


class AgentFailure(TcgError):
    """An agent that did not answer: why, in one word and in a line. Afterwards its process may be gone. ``signal``: the one
    that ended its process where we did not send it, else 0."""

    def __init__(self, reason: Reason, text: str, signal: int = 0) -> None:
        super().__init__(reason, text)
        self.reason: Reason = reason
        self.text = text
        self.signal = signal

    def __str__(self) -> str:
        return f"{self.reason}: {self.text}"


def printable(text: str) -> str:
    """A stranger's text with everything replaced that is no character to be seen; line ends stay."""
    return "".join(letter if letter.isprintable() or letter == "\n" else "\N{REPLACEMENT CHARACTER}" for letter in text)


def name_of(number: int) -> str:
    """The name of a signal; those for free use have only a number."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


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
    standard library; ``scratch``: where its private folder is made (default: the system's place); ``ours``: whether it is
    trusted. One that is not runs under a keeper where the system has the means (``held`` names those that hold), and what it
    may write to is ``folder`` and its private folder. Use as a context manager, or :meth:`close` it. Raises
    :class:`AgentFailure`.
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
        ours: bool = True,
    ) -> None:
        self.folder = folder.resolve()
        self.limits = limits or Limits()
        self.load_seconds = 0.0
        self.callable_name = ""
        self._private = Path(tempfile.mkdtemp(prefix="tcg-agent-", dir=scratch))
        self._tail = bytearray()
        self.printed = 0
        self._keeper: Keeper | None = None
        self._killed = self._closed = False
        self._place, found = str(self.folder), list(library_folders() if libraries is None else libraries)
        parent, theirs = socket.socketpair()
        self._connection = parent
        try:
            with theirs:
                if not ours and sys.platform == "linux":
                    self._keeper = Keeper(self.folder, self._private, found, theirs, self._environment(environment or {}))
                    self._place, found = self._keeper.place, self._keeper.libraries
                self._process = (
                    self._keeper.process
                    if self._keeper
                    else subprocess.Popen(
                        [sys.executable, "-I", "-S", "-B", str(Path(child.__file__).resolve()), str(theirs.fileno())],
                        cwd=self.folder,
                        env=self._environment(environment or {}),
                        stdin=subprocess.DEVNULL,
                        stdout=subprocess.PIPE,
                        stderr=subprocess.STDOUT,
                        pass_fds=(theirs.fileno(),),
                        start_new_session=True,
                    )
                )
        except BaseException:
            parent.close()
            remove(self._private)
            raise
        self._tree = Tree(self._process.pid, (self._private,) if ours else (self._private, self.folder), self.limits)
        self._drainer = threading.Thread(target=self._drain, name="tcg-agent-output", daemon=True)
        self._drainer.start()
        try:
            self._load(main, blocked, found)
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
            "folder": self._place,
            "main": main,
            "blocked": list(blocked),
            "libraries": list(libraries),
            "limits": limits,
        }
        loaded = self._ask(request, self.limits.load)
        self.load_seconds, self.callable_name = self._seconds(loaded), str(loaded.get("value", ""))

    def act(self, observation: Mapping[str, Any], configuration: Mapping[str, Any], timeout: float) -> tuple[list[Any], float]:
        """The agent's answer and the seconds it took there."""
        request = {"op": "act", "observation": observation, "configuration": configuration}
        reply = self._ask(request, timeout)
        answer = reply.get("answer")
        if not isinstance(answer, list):
            self._kill()
            raise AgentFailure("garbage", "a reply without an answer")
        return answer, self._seconds(reply)

    def _seconds(self, reply: Mapping[str, Any]) -> float:
        found = reply.get("seconds")
        if not isinstance(found, int | float):
            self._kill()
            raise AgentFailure("garbage", "a reply without its seconds")
        return float(found)

    def call(self, name: str, *arguments: Any, timeout: float = 60.0) -> Any:
        """Calls the function ``name`` that is an attribute of the agent; None if there is no such attribute."""
        return self._ask({"op": "call", "name": name, "arguments": arguments}, timeout).get("value")

    def modules(self, names: Sequence[str]) -> dict[str, str]:
        """Which of ``names`` are loaded there, and from where."""
        return dict(self._ask({"op": "modules", "names": list(names)}, 60.0)["value"])

    @property
    def held(self) -> tuple[str, ...]:
        """By which means an agent that is not ours is held apart, as in docs/operations/isolation.md."""
        return self._keeper.held if self._keeper else ()

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
            raise AgentFailure("crash", *self._death()) from None
        except (msgspec.DecodeError, RecursionError) as error:
            self._kill()
            raise AgentFailure("garbage", f"a reply that is no JSON: {error}") from None
        if "failure" in reply:
            reason: Reason = next((known for known in _SAYS if known == reply["failure"]), "garbage")
            raise AgentFailure(reason, printable(str(reply.get("text", ""))[:_LONGEST_TEXT]))
        self._check()
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
                self._check()
                continue
            if not part:
                raise EOFError
            data += part
        return bytes(data)

    def _check(self) -> None:
        found = self._tree.broken()
        if found is not None:
            self._kill()
            raise AgentFailure(*found)

    def _death(self) -> tuple[str, int]:
        """How the process ended, and by which signal that we did not send."""
        code: int | None
        ours = self._killed
        if self._keeper is not None:
            code = self._keeper.end(at_once=False).code
        else:
            try:
                code = self._process.wait(timeout=5.0)
            except subprocess.TimeoutExpired:
                self._kill()
                return "it closed its connection", 0
        self._drainer.join(timeout=1.0)
        how = "nobody knows what" if code is None else f"exit code {code}" if code >= 0 else name_of(-code)
        last = printable(self.output).strip().splitlines()
        said = f"; it last printed {last[-1][:200]!r}" if last else ""
        return f"its process ended with {how}{said}", 0 if ours or code is None or code >= 0 else -code

    def _drain(self) -> None:
        stream = self._process.stdout
        assert stream is not None
        with contextlib.suppress(OSError, ValueError):
            while part := os.read(stream.fileno(), 1 << 16):
                self.printed += len(part)
                self._tail += part
                del self._tail[:-_KEPT_OUTPUT]

    def _kill(self) -> None:
        self._killed = True
        if self._keeper is not None:
            self._keeper.end(at_once=True)
            return
        # The child leads its own session: its group holds what it started, unless that moved away by itself.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def close(self) -> tuple[str, ...]:
        """Ends the process and its descendants and removes its private folder; a second call does nothing.

        Returns the names of processes that the agent left running by itself: its keeper ended them. Without a keeper none
        are known.
        """
        if self._closed:
            return ()
        self._closed = True
        self._connection.close()
        if self._keeper is None:
            self._kill()
        ended = AgentEnd(None, ()) if self._keeper is None else self._keeper.end(at_once=False)
        self._drainer.join(timeout=1.0)
        if self._process.stdout is not None:
            self._process.stdout.close()
        remove(self._private)
        return tuple(printable(name)[:60] for name in ended.left)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()
