"""Identity of artifacts: what went in, under which configuration, by which code; and the manifest that says so.

An artifact's id is derived from its inputs, configuration and code identity, so the same three name the same
artifact. The git commit and the time are written beside the manifest (``recorded.json``), outside the id.
"""

import ast
import importlib.metadata
import json
import subprocess
import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from tcg_core import __version__
from tcg_core.base.atomic import sha256_bytes, sha256_file, sha256_json, write_json
from tcg_core.base.errors import IntegrityError

MANIFEST, RECORDED = "manifest.json", "recorded.json"
MANIFEST_VERSION = 1
_PACKAGE = Path(__file__).resolve().parents[1]

#: An artifact's kind and id.
Key = tuple[str, str]


@dataclass(frozen=True)
class Input:
    """One artifact that went in: its kind, id and content hash."""

    kind: str
    id: str
    sha256: str

    @property
    def key(self) -> Key:
        """Kind and id."""
        return self.kind, self.id


@dataclass(frozen=True)
class Manifest:
    """What an artifact directory holds and what it was made from.

    files: SHA-256 of each file by its name in the directory; content: SHA-256 over ``files``.
    """

    kind: str
    id: str
    inputs: tuple[Input, ...]
    config: dict[str, Any]
    code: str
    versions: dict[str, str]
    files: dict[str, str]
    facts: dict[str, Any] = field(default_factory=dict)
    package_version: str = __version__
    manifest_version: int = MANIFEST_VERSION

    @property
    def content(self) -> str:
        """Hex SHA-256 over names and hashes of all files."""
        return sha256_json(self.files)

    @property
    def key(self) -> Key:
        """Kind and id."""
        return self.kind, self.id

    def as_input(self) -> Input:
        """This artifact as the input of another."""
        return Input(self.kind, self.id, self.content)


def artifact_id(kind: str, inputs: Iterable[Input], config: dict[str, Any], code: str) -> str:
    """16 hex digits from kind, inputs (order matters), configuration and code identity."""
    return sha256_json([kind, [asdict(item) for item in inputs], config, code])[:16]


def hash_files(directory: Path) -> dict[str, str]:
    """SHA-256 of each file below ``directory``, manifest and record excepted."""
    return {
        str(file.relative_to(directory)): sha256_file(file)
        for file in sorted(directory.rglob("*"))
        if file.is_file() and file.name not in (MANIFEST, RECORDED)
    }


def write_manifest(directory: Path, manifest: Manifest) -> None:
    """Writes ``manifest.json`` and, beside it, ``recorded.json`` with commit, dirty flag and time."""
    write_json(directory / MANIFEST, asdict(manifest) | {"content": manifest.content})
    write_json(directory / RECORDED, recorded())


def read_manifest(directory: Path) -> Manifest:
    """Reads a manifest; raises :class:`IntegrityError` naming the file if it is missing or is not one."""
    path = directory / MANIFEST
    try:
        values = json.loads(path.read_text())
        content = values.pop("content")
        manifest = Manifest(**values | {"inputs": tuple(Input(**item) for item in values["inputs"])})
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise IntegrityError(f"{path} is not a manifest: {error}") from None
    if manifest.content != content:
        raise IntegrityError(f"{path}: content hash {content[:12]} does not match its own files {manifest.content[:12]}")
    return manifest


def verify_files(directory: Path) -> Manifest:
    """Re-hashes every file a manifest lists; raises :class:`IntegrityError` naming the first that differs or is missing
    or extra."""
    manifest = read_manifest(directory)
    found = hash_files(directory)
    for name in sorted(set(manifest.files) | set(found)):
        expected, actual = manifest.files.get(name, "absent"), found.get(name, "absent")
        if expected != actual:
            raise IntegrityError(f"{directory / name}: expected SHA-256 {expected[:12]}, found {actual[:12]}")
    return manifest


def code_identity(*modules: str, libraries: Iterable[str] = ()) -> str:
    """Hash of the source of ``modules`` and of all they import inside tcg_core, plus the versions of ``libraries``.

    A commit to the docs changes nothing; an edit of the encoder changes exactly what is made with it.
    """
    sources = sorted(_closure(modules))
    hashes = {name: sha256_bytes(_module_path(name).read_bytes()) for name in sources}
    return sha256_json([hashes, versions(libraries)])[:16]


def versions(libraries: Iterable[str]) -> dict[str, str]:
    """Installed versions by distribution name."""
    return {name: importlib.metadata.version(name) for name in sorted(libraries)}


@cache
def recorded_commit() -> tuple[str, bool]:
    """The commit of the checkout and whether it is dirty; ("unknown", True) outside one."""
    try:
        commit = subprocess.run(["git", "rev-parse", "HEAD"], cwd=_PACKAGE, capture_output=True, text=True, check=True)
        status = subprocess.run(["git", "status", "--porcelain"], cwd=_PACKAGE, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return "unknown", True
    return commit.stdout.strip(), bool(status.stdout.strip())


def recorded() -> dict[str, Any]:
    """Circumstances of a build: never part of an id."""
    commit, dirty = recorded_commit()
    return {"commit": commit, "dirty": dirty, "at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())}


def _module_path(name: str) -> Path:
    path = _PACKAGE.parent.joinpath(*name.split("."))
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


def _closure(modules: Iterable[str]) -> set[str]:
    found: set[str] = set()
    waiting = list(modules)
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting.extend(_imports(name))
    return found


@cache
def _imports(name: str) -> frozenset[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(_module_path(name).read_text())):
        candidates: list[str] = []
        if isinstance(node, ast.Import):
            candidates = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            candidates = [node.module] + [f"{node.module}.{alias.name}" for alias in node.names]
        found.update(c for c in candidates if c.split(".")[0] == "tcg_core" and _module_path(c).is_file())
    return frozenset(found)
