"""The child's side of an agent process. Run by path with ``python -I -S``: standard library only, no project on the path.

Loads an agent as Kaggle does (the source is exec'd without ``__file__``, the last callable is the agent) and answers
framed requests (4 bytes of length, big-endian, then UTF-8 JSON) on one socket whose number is the only argument. What the
agent prints goes to descriptors 1 and 2, which are not that socket.
"""

import contextlib
import ctypes
import importlib.machinery
import json
import os
import signal
import socket
import struct
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

HEADER = struct.Struct(">I")
PR_SET_PDEATHSIG, PR_SET_DUMPABLE = 1, 4


class Struct(dict[str, Any]):
    """A dictionary whose keys are attributes too, as Kaggle hands observations to agents."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None

    def __setattr__(self, name: str, value: Any) -> None:
        self[name] = value


def frame(value: Any) -> bytes:
    """One message as it travels."""
    body = json.dumps(value, separators=(",", ":"), allow_nan=False).encode()
    return HEADER.pack(len(body)) + body


class Guard:
    """Imports of the named packages come from the agent's folder or fail, wherever else they are installed."""

    def __init__(self, folder: str, blocked: Sequence[str]) -> None:
        self.folder = folder
        self.blocked = frozenset(blocked)

    def find_spec(self, name: str, path: Sequence[str] | None = None, target: Any = None) -> Any:
        """Answers for blocked top-level packages only; the submodules of what is found follow its own path."""
        if path is not None or name not in self.blocked:
            return None
        found = importlib.machinery.PathFinder.find_spec(name, [self.folder])
        if found is None:
            raise ModuleNotFoundError(f"No module named {name!r}: it is not part of the sandbox", name=name)
        return found


def limit(limits: dict[str, int]) -> None:
    """Lowers the limits of this process; a platform that knows one of them not leaves it to the parent."""
    import resource

    for name, value in limits.items():
        kind = getattr(resource, f"RLIMIT_{name}", None)
        if kind is not None:
            with contextlib.suppress(OSError, ValueError):
                resource.setrlimit(kind, (value, value))


def load(folder: str, main: str) -> Callable[..., Any]:
    """The agent of ``main``, as ``kaggle_environments.agent.get_last_callable`` finds it."""
    path = str(Path(folder) / main)
    code = compile(Path(path).read_text(encoding="utf-8"), path, "exec")
    names: dict[str, Any] = {}
    sys.path.append(folder)
    exec(code, names)
    sys.path.pop()  # as Kaggle does: the last entry, whatever the agent did to the path meanwhile
    callables = [value for value in names.values() if callable(value)]
    if not callables:
        raise LookupError(f"{main} defines no callable")
    return callables[-1]  # type: ignore[no-any-return]  # whatever the agent's file defines last


def call(agent: Callable[..., Any], observation: Any, configuration: Any) -> Any:
    """Calls with as many of (observation, configuration) as the agent's code takes."""
    arguments = [observation, configuration]
    count = getattr(getattr(agent, "__code__", None), "co_argcount", None)
    if count is not None:
        arguments = arguments[:count]
    return agent(*arguments)


def plain(answer: Any) -> Any:
    """The answer as Kaggle's engine would take it: a list, or the list under "action"; raises TypeError for another."""
    if isinstance(answer, dict) and "action" in answer:
        answer = answer["action"]
    if not isinstance(answer, list):
        raise TypeError(f"expected a list of option indexes, found {type(answer).__name__}")
    json.dumps(answer, allow_nan=False)
    return answer


def failed(kind: str, error: BaseException) -> dict[str, Any]:
    """An exception as a reply, cut to a readable size; the limit of memory has its own kind."""
    kind = "memory" if isinstance(error, MemoryError) else kind
    text = f"{type(error).__name__}: {error}"[:1000]
    return {"failure": kind, "text": text, "trace": "".join(traceback.format_exception(error))[-4000:]}


class Served:
    """The loaded agent and its answers to requests."""

    def __init__(self) -> None:
        self.agent: Callable[..., Any] | None = None
        self.folder = ""

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        """One reply. A failing agent is a reply too; BaseExceptions other than Exception end the process."""
        operation = request["op"]
        if operation == "load":
            return self.load(request)
        if operation == "modules":
            return {"value": {name: self.origin(name) for name in request["names"] if name in sys.modules}}
        if self.agent is None:
            return {"failure": "load", "text": "no agent is loaded", "trace": ""}
        started = time.perf_counter()
        try:
            if operation == "call":
                function = getattr(self.agent, request["name"], None)
                return {"absent": True} if function is None else {"value": function(*request["arguments"])}
            answer = call(self.agent, request["observation"], request["configuration"])
        except Exception as error:
            return failed("error", error)
        seconds = time.perf_counter() - started
        try:
            return {"answer": plain(answer), "seconds": seconds}
        except (TypeError, ValueError) as error:
            return failed("garbage", error)

    def load(self, request: dict[str, Any]) -> dict[str, Any]:
        """Limits, search path, guard, then the agent."""
        started = time.perf_counter()
        self.folder = request["folder"]
        sys.path.extend(request["libraries"])
        sys.meta_path.insert(0, Guard(self.folder, request["blocked"]))
        limit(request["limits"])
        try:
            self.agent = load(self.folder, request["main"])
        except Exception as error:
            return failed("load", error)
        return {"value": getattr(self.agent, "__name__", type(self.agent).__name__), "seconds": time.perf_counter() - started}

    def origin(self, name: str) -> str:
        """Where a loaded module came from."""
        return str(getattr(sys.modules[name], "__file__", None) or "built in")


def receive(connection: socket.socket, count: int) -> bytes:
    """Exactly ``count`` bytes; EOFError when the parent is gone."""
    data = bytearray()
    while len(data) < count:
        part = connection.recv(min(1 << 20, count - len(data)))
        if not part:
            raise EOFError
        data += part
    return bytes(data)


def serve(connection: socket.socket) -> None:
    """Answers requests until the parent closes its end."""
    served = Served()
    while True:
        try:
            body = receive(connection, HEADER.unpack(receive(connection, HEADER.size))[0])
        except (EOFError, ConnectionError):
            return
        reply = served.answer(json.loads(body, object_hook=Struct))
        try:
            message = frame(reply)
        except (TypeError, ValueError) as error:
            message = frame(failed("garbage", error))
        connection.sendall(message)


def main() -> None:
    """Dies with the parent and cannot be read by others of its user, where the system offers that; then serves."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        ctypes.CDLL(None).prctl(PR_SET_DUMPABLE, 0)
    serve(socket.socket(fileno=int(sys.argv[1])))
    os._exit(0)  # threads that the agent started must not keep the process


if __name__ == "__main__":
    main()
