"""One process, one code: what a process loads, and what its children run, is the code that its identities name.

A file may change on disk while a process runs, as by a ``git pull`` during a night. What was loaded stays as it was, and so do
the identities. What would be loaded later, here or in a child, is compared first, and refused where a result could differ.
"""

import hashlib
import importlib.abc
import importlib.machinery
import json
import os
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from types import ModuleType

from tcg_core.base.code import PRODUCERS, code_version, version_in
from tcg_core.base.errors import TcgError
from tcg_core.base.identity import Index
from tcg_core.base.source import PACKAGES, ROOT, SourceTree, at_start, read_source

OUTSIDE_IDENTITY = "it compares identities"
#: In a child's environment: process id and code versions of the process that started it, as JSON.
VARIABLE = "TCG_CODE"
#: Versions of the last state of the disk that was asked for, by the digest of its files.
_KNOWN: dict[str, dict[str, str]] = {}


class CodeChanged(TcgError):
    """The code on disk would give other results than the code of the process that is at work."""

    def __init__(self, pid: int) -> None:
        super().__init__(f"the code changed since PID {pid} started: restart `tcg ui`")
        self.pid = pid

    def __reduce__(self) -> tuple[type["CodeChanged"], tuple[int]]:
        return type(self), (self.pid,)


def for_child(*assets: str) -> dict[str, str]:
    """What to add to the environment of a child that makes ``assets``, so that it can compare. The first process of a chain
    decides: a child hands on what it was given."""
    return {VARIABLE: os.environ.get(VARIABLE) or _described(assets)}


def is_child() -> bool:
    """Whether a process that started this one, directly or not, handed its code on."""
    return VARIABLE in os.environ


def hand_over() -> None:
    """From now on every child of this process, whoever starts it, can compare; a child keeps what it was handed."""
    os.environ |= for_child(*PRODUCERS)


def _described(assets: Iterable[str]) -> str:
    versions = {asset: code_version(asset) for asset in assets}
    return json.dumps({"pid": os.getpid(), "digest": at_start().digest, "versions": versions})


def require_same(*assets: str, given: str | None = None) -> None:
    """Raises :class:`CodeChanged` if a process that started this one, directly or not, has other code for one of ``assets``.

    given: what :func:`for_child` said, where it did not come by the environment.
    """
    given = given or os.environ.get(VARIABLE)
    if given is None:
        return
    said = json.loads(given)
    if said["digest"] == at_start().digest:
        return
    if any(code_version(asset) != said["versions"].get(asset, code_version(asset)) for asset in assets):
        raise CodeChanged(said["pid"])


def changed_on_disk(assets: Iterable[str] = PRODUCERS) -> tuple[str, ...]:
    """The assets that the code on disk would make otherwise than this process does."""
    found = versions_on_disk()
    return tuple(asset for asset in assets if found[asset] != code_version(asset))


def versions_on_disk() -> dict[str, str]:
    """Code version of each asset by the files as they lie now; those of this process while no file differs."""
    source = read_source()
    if source.digest == at_start().digest:
        return {asset: code_version(asset) for asset in PRODUCERS}
    if source.digest not in _KNOWN:
        index = Index(source)
        _KNOWN.clear()
        _KNOWN[source.digest] = {asset: version_in(index, asset) for asset in PRODUCERS}
    return _KNOWN[source.digest]


class _Guard(importlib.abc.MetaPathFinder):
    """Looks at each module of the project before it is loaded; the loading itself is Python's own."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """None, so that Python goes on looking; raises :class:`CodeChanged` for a file that is not as it was at the start."""
        if fullname.split(".")[0] in PACKAGES:
            spec = importlib.machinery.PathFinder.find_spec(fullname, path, target)
            if spec is not None and spec.origin is not None and _differs(Path(spec.origin), at_start()) and changed_on_disk():
                raise CodeChanged(os.getpid())
        return None


def _differs(file: Path, source: SourceTree) -> bool:
    try:
        name = file.relative_to(ROOT).as_posix()
    except ValueError:
        return False  # another tree's module, which this process was told to load by its path
    return name not in source.files or hashlib.sha256(file.read_bytes()).hexdigest() != source.sha256(name)


def guard() -> None:
    """From now on no module of the project is loaded that would not be the code of this process."""
    if not any(isinstance(finder, _Guard) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Guard())


guard()
