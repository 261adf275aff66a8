"""What a Linux process gives up for good before it becomes an agent: writing, sockets, other processes, privileges.

Loaded by path into the keeper (:mod:`tcg_core.submission.host.keeper`): standard library only. Each means is tried where the
system has it; the functions return whether it holds. Numbers are those of the kernel's headers (``linux/landlock.h``,
``linux/seccomp.h``, ``asm/unistd.h`` of x86_64 and aarch64).
"""

import ctypes
import os
import platform
import struct
from collections.abc import Sequence
from pathlib import Path

LIBC = ctypes.CDLL(None, use_errno=True)
PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_SET_SECCOMP, PR_CAPBSET_DROP, PR_SET_CHILD_SUBREAPER = 1, 4, 22, 24, 36
PR_SET_NO_NEW_PRIVS = 38
_HIGHEST_CAPABILITY = 63
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
#: Rights of landlock to change files and names; those of later versions of it are bits 13 (2) and 14 (3).
_WRITES = 1 << 1 | 1 << 4 | 1 << 5 | sum(1 << bit for bit in range(6, 13))
_OF_A_FILE = 1 << 1 | 1 << 14
_TCP, _SCOPES = 3, 3
_SCOPED_SINCE = 6

#: System calls by machine: refused always; refused unless the first argument is 0 or this process; the call of fcntl.
_ALWAYS = {
    "x86_64": (101, 310, 311, 41, 272, 308, 165, 425, 438),
    "aarch64": (117, 270, 271, 198, 97, 268, 40, 425, 438),
}
_OTHERS = {
    "x86_64": (62, 234, 129, 297, 302, 203, 144, 314),
    "aarch64": (129, 131, 138, 240, 261, 122, 119, 274),
}
_NEVER_OUTSIDE = {"x86_64": (200, 424, 141, 251), "aarch64": (130, 424, 140, 30)}
_FCNTL = {"x86_64": 72, "aarch64": 25}
#: fcntl commands that name the process to be signalled, or the signal: F_SETOWN, F_SETSIG, F_SETOWN_EX.
_OWNERS = (8, 10, 15)
_AUDIT = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_LOAD, _EQUAL, _AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06
_ALLOW, _REFUSE = 0x7FFF0000, 0x00050001  # SECCOMP_RET_ERRNO with EPERM


def prctl(option: int, value: int) -> bool:
    """One option of this process; False where the kernel does not know it or forbids it."""
    return bool(LIBC.prctl(option, value, 0, 0, 0) == 0)


def drop_capabilities() -> None:
    """No program that is executed from here on gets a capability, not even as root."""
    for capability in range(_HIGHEST_CAPABILITY + 1):
        prctl(PR_CAPBSET_DROP, capability)


def landlock_version() -> int:
    """Version of landlock in this kernel, 0 for none."""
    return max(0, int(LIBC.syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), 1)))


def landlock(writable: Sequence[str]) -> int:
    """Only beneath ``writable`` can files be changed from here on; no process outside can be traced or (from version 6) be
    signalled. Returns the version that holds, 0 for none."""
    version = landlock_version()
    if version < 1:
        return 0
    handled = _WRITES | (1 << 13 if version >= 2 else 0) | (1 << 14 if version >= 3 else 0)
    words = [handled]
    if version >= 4:
        words.append(_TCP)
    if version >= _SCOPED_SINCE:
        words.append(_SCOPES)
    attributes = struct.pack(f"={len(words)}Q", *words)
    ruleset = LIBC.syscall(_CREATE_RULESET, attributes, ctypes.c_size_t(len(attributes)), 0)
    if ruleset < 0:
        return 0
    try:
        for path in writable:
            if not Path(path).exists():
                continue
            place = os.open(path, os.O_PATH | os.O_CLOEXEC)
            allowed = handled if Path(path).is_dir() else handled & _OF_A_FILE
            LIBC.syscall(_ADD_RULE, ruleset, 1, struct.pack("=Qi", allowed, place), 0)
            os.close(place)
        held = LIBC.syscall(_RESTRICT_SELF, ruleset, 0) == 0
    finally:
        os.close(ruleset)
    return version if held else 0


def signals_scoped(version: int) -> bool:
    """Whether this version of landlock keeps signals within."""
    return version >= _SCOPED_SINCE


def seccomp(signals: bool) -> bool:
    """Refuses sockets, tracing, mounts and other namespaces; with ``signals`` also whatever signals, limits or schedules a
    process other than this one. False on a machine whose numbers are not known here."""
    machine = platform.machine()
    if machine not in _AUDIT:
        return False
    steps: list[tuple[int, int, int, int]] = [
        (_LOAD, 0, 0, 4),
        (_EQUAL, 1, 0, _AUDIT[machine]),
        (_RETURN, 0, 0, _REFUSE),
        (_LOAD, 0, 0, 0),
        (_AT_LEAST, 0, 1, 0x40000000),  # x32: other numbers for the same calls
        (_RETURN, 0, 0, _REFUSE),
    ]
    refused = _ALWAYS[machine] + (_NEVER_OUTSIDE[machine] if signals else ())
    for number in refused:
        steps += [(_EQUAL, 0, 1, number), (_RETURN, 0, 0, _REFUSE)]
    if signals:
        for number in _OTHERS[machine]:
            steps += [
                (_EQUAL, 0, 5, number),
                (_LOAD, 0, 0, 16),
                (_EQUAL, 2, 0, 0),
                (_EQUAL, 1, 0, os.getpid()),
                (_RETURN, 0, 0, _REFUSE),
                (_RETURN, 0, 0, _ALLOW),
            ]
        steps += [(_EQUAL, 0, 2 + 2 * len(_OWNERS), _FCNTL[machine]), (_LOAD, 0, 0, 24)]
        for command in _OWNERS:
            steps += [(_EQUAL, 0, 1, command), (_RETURN, 0, 0, _REFUSE)]
        steps.append((_RETURN, 0, 0, _ALLOW))
    steps.append((_RETURN, 0, 0, _ALLOW))
    program = b"".join(struct.pack("=HBBI", *step) for step in steps)
    kept = ctypes.create_string_buffer(program, len(program))
    header = ctypes.create_string_buffer(struct.pack("@HP", len(steps), ctypes.addressof(kept)))
    return bool(LIBC.prctl(PR_SET_SECCOMP, 2, ctypes.c_void_p(ctypes.addressof(header)), 0, 0) == 0)
