"""Identity of artifacts: what went in, under which configuration, by which code; and the manifest that says so.

An artifact's id is derived from its inputs, configuration and code identity, so the same three name the same
artifact. Package version, git commit and time are written beside the manifest (``recorded.json``), outside the id.
"""

import importlib.metadata
import json
import subprocess
import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from tcg_core.base.atomic import write_json
from tcg_core.base.digest import sha256_file, sha256_json
from tcg_core.base.errors import IntegrityError
from tcg_core.base.makers import mended_by

OUTSIDE_IDENTITY = "the record of what was made"

MANIFEST, RECORDED = "manifest.json", "recorded.json"
#: Version 1 counted pictures among the content and stored the version of the package.
MANIFEST_VERSION = 2
#: Files of these kinds show an artifact: they are listed and verified, and are no part of its content.
PICTURES = (".html", ".png", ".svg")
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

    files: SHA-256 of each file by its name in the directory; content: SHA-256 over those that are data.
    """

    kind: str
    id: str
    inputs: tuple[Input, ...]
    config: dict[str, Any]
    code: str
    versions: dict[str, str]
    files: dict[str, str]
    facts: dict[str, Any] = field(default_factory=dict)
    manifest_version: int = MANIFEST_VERSION

    @property
    def content(self) -> str:
        """Hex SHA-256 over names and hashes of the data files, by the rule of the manifest's version."""
        if self.manifest_version == 1:
            return sha256_json(self.files)
        return sha256_json({name: hash for name, hash in self.files.items() if not name.endswith(PICTURES)})

    @property
    def key(self) -> Key:
        """Kind and id."""
        return self.kind, self.id

    @property
    def derived_id(self) -> str:
        """The id that follows from inputs, configuration and code (:func:`artifact_id`), in every manifest version alike. Only
        checkpoints have another: they are named by their plan."""
        return artifact_id(self.kind, self.inputs, self.config, self.code)

    def as_input(self) -> Input:
        """This artifact as the input of another."""
        return Input(self.kind, self.id, self.content)

    def to_dict(self) -> dict[str, Any]:
        """As ``manifest.json`` holds it."""
        return asdict(self) | {"content": self.content}


def manifest_from(values: dict[str, Any]) -> Manifest:
    """A stored manifest of any known version; raises ValueError, TypeError or KeyError for what is none."""
    fields = {name: value for name, value in values.items() if name not in ("content", "package_version")}
    if fields["manifest_version"] not in range(1, MANIFEST_VERSION + 1):
        raise ValueError(f"manifest version {fields['manifest_version']}, this code knows 1 to {MANIFEST_VERSION}")
    return Manifest(**fields | {"inputs": tuple(Input(**item) for item in fields["inputs"])})


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
    write_json(directory / MANIFEST, manifest.to_dict())
    write_json(directory / RECORDED, recorded())


def read_manifest(directory: Path) -> Manifest:
    """Reads a manifest; raises :class:`IntegrityError` naming the file, and the command that makes it again, if it is missing or
    is not one."""
    path = directory / MANIFEST
    try:
        values = json.loads(path.read_text())
        content, manifest = values["content"], manifest_from(values)
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise IntegrityError(f"{path} is not a manifest: {error}{mended_by(directory)}") from None
    if manifest.content != content:
        raise IntegrityError(
            f"{path}: content hash {content[:12]} does not match its own files {manifest.content[:12]}"
            + _mended(directory, manifest)
        )
    return manifest


def verify_files(directory: Path) -> Manifest:
    """Re-hashes every file a manifest lists; raises :class:`IntegrityError` naming the first that differs or is missing
    or extra."""
    manifest = read_manifest(directory)
    found = hash_files(directory)
    for name in sorted(set(manifest.files) | set(found)):
        expected, actual = manifest.files.get(name, "absent"), found.get(name, "absent")
        if expected != actual:
            differs = f"{directory / name}: expected SHA-256 {expected[:12]}, found {actual[:12]}"
            raise IntegrityError(differs + _mended(directory, manifest))
    return manifest


def _mended(directory: Path, manifest: Manifest) -> str:
    return mended_by(directory, manifest.inputs[0].id if manifest.inputs else "")


def package_version() -> str:
    """Version of this package, as installed: recorded beside manifests, part of no identity and of no packed byte."""
    return importlib.metadata.version("tcg-assets")


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
    return {
        "package": package_version(),
        "commit": commit,
        "dirty": dirty,
        "at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }
