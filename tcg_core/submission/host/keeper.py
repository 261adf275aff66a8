"""The keeper of one agent that is not ours: its parent on Linux, which holds it apart and ends with all that it started.

Run by path with ``python -I -S``: standard library only. Arguments: the number of the control socket, the number of the
agent's socket, and a JSON object (see :func:`main`). It sends one line when the agent is started (``held``: by which means
it is apart) and one when all has ended (``status``: how the agent's process ended; ``left``: names of processes that
outlived it). It ends the agent when the control socket says so, or closes.
"""

import contextlib
import ctypes
import importlib.util
import json
import os
import resource
import select
import signal
import socket
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

CLONE_NEWNS, CLONE_NEWIPC, CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNET = 0x20000, 0x8000000, 0x10000000, 0x20000000, 0x40000000
MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_BIND, MS_REC, MS_PRIVATE = 2, 4, 8, 0x1000, 0x4000, 0x40000
AT_FDCWD, AT_RECURSIVE, MOUNT_ATTR_RDONLY, MOUNT_SETATTR = -100, 0x8000, 1, 442
#: Users for agents of root: far above those that a system gives to people and services, one for each keeper.
FIRST_USER = 2_000_000_000
#: Seconds that what an agent started may outlive it: a pool of helpers sees its parent end and ends too.
GRACE, TO_LEAVE = 1.0, 1.0
MOST_PROCESSES = 256
#: Mount points for what another user could not reach. All are empty on most systems; they are covered only for the agent.
ROOMS = ("/mnt", "/media", "/srv", "/opt")


def _confine() -> Any:
    path = Path(__file__).resolve().with_name("confine.py")
    spec = importlib.util.spec_from_file_location("confine", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


confine = _confine()


def mount(source: str, target: str, kind: str | None, flags: int, data: str = "") -> None:
    """mount(2); raises OSError."""
    texts = [text.encode() if text is not None else None for text in (source, target, kind)]
    if confine.LIBC.mount(*texts, ctypes.c_ulong(flags), data.encode()) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), target)


def read_only(path: str, value: bool, flags: int = 0) -> None:
    """Makes a mount (with AT_RECURSIVE: and those below) read-only, or writable again; raises OSError."""
    change = (0, MOUNT_ATTR_RDONLY) if not value else (MOUNT_ATTR_RDONLY, 0)
    attributes = (ctypes.c_uint64 * 4)(*change, 0, 0)
    if confine.LIBC.syscall(MOUNT_SETATTR, AT_FDCWD, path.encode(), flags, attributes, ctypes.c_size_t(32)) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), path)


def separate() -> bool:
    """Process, mount, network and IPC namespaces of their own for the processes to come; False where that is not permitted."""
    flags = CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC
    user, group = os.geteuid(), os.getegid()
    if user == 0:
        return bool(confine.LIBC.unshare(flags) == 0)
    if confine.LIBC.unshare(flags | CLONE_NEWUSER) != 0:
        return False
    confine.prctl(confine.PR_SET_DUMPABLE, 1)  # the files below belong to root otherwise
    for name, text in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")):
        with contextlib.suppress(OSError):
            Path(f"/proc/self/{name}").write_text(text, encoding="utf-8")
    confine.prctl(confine.PR_SET_DUMPABLE, 0)
    return os.geteuid() == user


class Places:
    """Where the agent finds its files. With a mount namespace everything else is read-only, and what another user could not
    reach is mounted where it can."""

    def __init__(self, job: dict[str, Any]) -> None:
        self.folder, self.private = str(job["folder"]), str(job["private"])
        self.libraries = [str(path) for path in job["libraries"]]
        self.child = str(Path(__file__).resolve().with_name("child.py"))
        self.python = os.path.realpath(sys.executable)
        self.memory = ""

    def everything(self) -> list[str]:
        """All of them."""
        return [self.folder, self.private, self.child, self.python, *self.libraries]

    def for_all(self) -> bool:
        """Whether another user can work with them, once the agent's own are given to it."""
        shared = [self.child, self.python, *self.libraries]
        return all(map(readable, shared)) and reachable(self.folder) and reachable(self.private)

    def mount(self, another_user: bool) -> list[str]:
        """Mounts for the agent only; returns what holds: "proc", "files"."""
        held = []
        mount("none", "/", None, MS_REC | MS_PRIVATE)
        with contextlib.suppress(OSError):
            mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC)
            held.append("proc")
        if another_user:
            self._move()
        for path in (self.folder, self.private):
            mount(path, path, None, MS_BIND)
        with contextlib.suppress(OSError):
            mount("tmpfs", "/dev/shm", "tmpfs", MS_NOSUID | MS_NODEV, "size=256m,mode=1777")
            self.memory = "/dev/shm"
        with contextlib.suppress(OSError):
            read_only("/", True, AT_RECURSIVE)
            for path in filter(None, (self.folder, self.private, self.memory)):
                read_only(path, False)
            held.append("files")
        return held

    def _move(self) -> None:
        """What lies below a directory that others cannot enter is mounted in a room of the agent's own."""
        if all(reachable(path) for path in self.everything()):
            return
        free = [room for room in ROOMS if Path(room).is_dir() and not any(p.startswith(f"{room}/") for p in self.everything())]
        if not free:
            return
        mount("tmpfs", free[0], "tmpfs", MS_NOSUID | MS_NODEV, "size=1m,mode=0755")

        def here(path: str, name: str) -> str:
            target = f"{free[0]}/{name}"
            if Path(path).is_dir():
                Path(target).mkdir()
            else:
                Path(target).touch()
            mount(path, target, None, MS_BIND)
            return target

        self.folder, self.private = here(self.folder, "agent"), here(self.private, "private")
        if not reachable(self.child):
            self.child = here(self.child, "child.py")
        if not reachable(self.python):
            base = os.path.realpath(sys.base_prefix)
            self.python = f"{here(base, 'python')}/{os.path.relpath(self.python, base)}"
        self.libraries = [p if reachable(p) else here(p, f"library{n}") for n, p in enumerate(self.libraries)]


def reachable(path: str) -> bool:
    """Whether every user may enter the directories above ``path``."""
    return all(parent.stat().st_mode & 0o001 for parent in Path(path).parents)


def readable(path: str) -> bool:
    """Whether every user may reach and read ``path``."""
    needed = 0o005 if Path(path).is_dir() else 0o004
    return reachable(path) and Path(path).stat().st_mode & needed == needed


def free_user() -> int:
    """A user that nobody is, or 0 where this process cannot become one."""
    wanted = FIRST_USER + os.getpid()
    for line in Path("/proc/self/uid_map").read_text(encoding="utf-8").splitlines():
        first, _, count = (int(word) for word in line.split())
        if os.geteuid() == 0 and first <= wanted < first + count:
            return wanted
    return 0


def give(path: str, user: int) -> None:
    """Makes ``user`` the owner of ``path`` and of all below it."""
    os.chown(path, user, user)
    for folder, names, files in os.walk(path):
        for name in names + files:
            os.lchown(Path(folder) / name, user, user)


def start(job: dict[str, Any], agent_socket: int, user: int, held: list[str], places: Places) -> int:
    """Forks; the child gives up what it can and becomes the agent's process. Returns its id."""
    said, says = os.pipe()
    process = os.fork()
    if process:
        os.close(says)
        with os.fdopen(said) as reader:
            held += reader.read().split()
        return process
    try:
        os.setsid()
        os.chdir(places.folder)
        confine.drop_capabilities()
        if user:
            os.setgroups([])
            os.setresgid(user, user, user)
            os.setresuid(user, user, user)
        confine.prctl(confine.PR_SET_PDEATHSIG, signal.SIGKILL)
        confine.prctl(confine.PR_SET_NO_NEW_PRIVS, 1)
        if user or "processes" in held:
            resource.setrlimit(resource.RLIMIT_NPROC, (MOST_PROCESSES, MOST_PROCESSES))
        writable = [places.folder, places.private, "/dev/null", places.memory]
        version = confine.landlock([path for path in writable if path]) if "landlock" not in job["without"] else 0
        words = ["landlock"] if version else []
        scoped = "processes" in held or confine.signals_scoped(version)
        filtered = confine.seccomp(signals=not scoped)
        words += ["seccomp"] if filtered else []
        words += ["signals"] if scoped or filtered or user else []
        os.write(says, " ".join(words).encode())
        os.close(says)
        os.set_inheritable(agent_socket, True)
        environment = dict(os.environ) | {"HOME": places.private, "TMPDIR": places.private}
        os.execve(places.python, [places.python, "-I", "-S", "-B", places.child, str(agent_socket)], environment)
    except BaseException as error:
        os.write(2, f"{type(error).__name__}: {error}\n".encode())
    os._exit(126)


def children() -> Iterator[tuple[int, str]]:
    """Process ids and names of what this process is the parent of, zombies left out."""
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError, ValueError, IndexError):
                text = (entry / "stat").read_text(encoding="utf-8", errors="replace")
                state, parent = text.rpartition(")")[2].split()[:2]
                if int(parent) == os.getpid() and state not in "ZX":
                    yield int(entry.name), text.partition("(")[2].rpartition(")")[0]


class Watch:
    """The agent's process and what it leaves to this one."""

    def __init__(self, process: int) -> None:
        self.process = process
        self.status: int | None = None

    def reap(self) -> bool:
        """Takes the ends of processes; True if none is left."""
        try:
            while True:
                found, status = os.waitpid(-1, os.WNOHANG)
                if found == 0:
                    return False
                if found == self.process:
                    self.status = status
        except ChildProcessError:
            return True

    def wait(self, seconds: float, agent_only: bool = False) -> bool:
        """Waits for the end of the agent's process or of all; False if it did not come."""
        deadline = time.monotonic() + seconds
        while not self.reap() and not (agent_only and self.status is not None):
            if time.monotonic() > deadline:
                return False
            time.sleep(0.005)
        return True

    def end(self, at_once: bool) -> list[str]:
        """Ends everything; returns the names of what outlived the agent's process and the grace."""
        if at_once or not self.wait(TO_LEAVE, agent_only=True):
            with contextlib.suppress(ProcessLookupError):
                if self.status is None:
                    os.kill(self.process, signal.SIGKILL)
            self.wait(TO_LEAVE, agent_only=True)
        left = [] if at_once or self.wait(GRACE) else [name for _, name in children()] or ["unnamed"]
        self.sweep()
        return left

    def sweep(self) -> None:
        """Kills what is left; what a killed one leaves comes to this process and is killed in turn."""
        if os.getpid() == 1:
            with contextlib.suppress(ProcessLookupError):
                os.kill(-1, signal.SIGKILL)
        deadline = time.monotonic() + 10.0
        while not self.reap() and time.monotonic() < deadline:
            found = list(children())
            for number in (signal.SIGSTOP, signal.SIGKILL):
                for process, _ in found:
                    with contextlib.suppress(ProcessLookupError, PermissionError):
                        os.kill(process, number)
            time.sleep(0.002)


def keep(control: socket.socket, agent_socket: int, job: dict[str, Any], user: int, held: list[str]) -> None:
    """Starts the agent and stays until it and all its descendants have ended."""
    places = Places(job)
    if "processes" in held:
        held += places.mount(bool(user))
    if user and not places.for_all():
        user = 0
    if user:
        held.append("user")
        give(places.folder, user)
        give(places.private, user)
    watch = Watch(start(job, agent_socket, user, held, places))
    os.close(agent_socket)
    where = {"folder": places.folder, "libraries": places.libraries}
    control.sendall(json.dumps({"held": held, **where}).encode() + b"\n")
    asked = b""
    while not select.select([control], [], [], 0.5)[0]:
        watch.reap()
    with contextlib.suppress(OSError):
        asked = control.recv(1)
    left = watch.end(at_once=asked != b"e")
    with contextlib.suppress(OSError):
        control.sendall(json.dumps({"status": watch.status, "left": left}).encode() + b"\n")


def main() -> None:
    """The job's keys: ``folder``, ``private``, ``libraries``: the agent's places; ``without``: means that are not tried."""
    control = socket.socket(fileno=int(sys.argv[1]))
    agent_socket = int(sys.argv[2])
    job = json.loads(sys.argv[3])
    os.set_inheritable(control.fileno(), False)
    confine.prctl(confine.PR_SET_PDEATHSIG, signal.SIGKILL)
    confine.prctl(confine.PR_SET_DUMPABLE, 0)
    held: list[str] = ["descendants"] if confine.prctl(confine.PR_SET_CHILD_SUBREAPER, 1) else []
    user = free_user() if "user" not in job["without"] else 0
    if "namespaces" not in job["without"] and separate():
        held += ["processes", "network"]
        inner = os.fork()
        if inner:
            control.close()
            os.close(agent_socket)
            os.waitpid(inner, 0)
            os._exit(0)
        confine.prctl(confine.PR_SET_PDEATHSIG, signal.SIGKILL)
    keep(control, agent_socket, job, user, held)
    os._exit(0)


if __name__ == "__main__":
    main()
