"""One packed submission of a random-weights artifact, and ways to change it."""

import dataclasses
import json
import tarfile
from pathlib import Path

import pytest

from tcg_core.base.built import Built
from tcg_core.base.digest import sha256_bytes
from tcg_core.base.home import Home
from tcg_core.base.manifest import MANIFEST, Input, Manifest
from tcg_core.submission.archive import extract_archive, write_archive
from tcg_core.submission.names import ARCHIVE
from tcg_core.submission.pack import pack
from tests.submission.random_artifact import random_artifact


@dataclasses.dataclass(frozen=True)
class Packed:
    """The home, the artifact's id, what pack returned, and the extracted archive."""

    home: Home
    artifact: str
    built: Built
    folder: Path

    @property
    def archive(self) -> Path:
        """The archive."""
        return self.built.path / ARCHIVE

    def files(self) -> dict[str, bytes]:
        """Its members."""
        with tarfile.open(self.archive) as found:
            return {member.name: found.extractfile(member).read() for member in found}

    def changed(self, path: Path, honest: bool = True, **members: bytes | None) -> Path:
        """The archive with members replaced, added or (None) removed; ``honest`` renews the manifest's hashes."""
        files = self.files() | {name: data for name, data in members.items() if data is not None}
        files = {name: data for name, data in files.items() if members.get(name, b"") is not None}
        if honest and MANIFEST in files:
            values = json.loads(files[MANIFEST])
            values.pop("content")
            hashes = {name: sha256_bytes(data) for name, data in sorted(files.items()) if name != MANIFEST}
            inputs = tuple(Input(**item) for item in values["inputs"])
            manifest = Manifest(**values | {"inputs": inputs, "files": hashes})
            files[MANIFEST] = json.dumps(dataclasses.asdict(manifest) | {"content": manifest.content}).encode()
        write_archive(path, files)
        return path


@pytest.fixture(scope="session")
def packed(tmp_path_factory) -> Packed:
    """Packed once, preflight and all, for both engine generations."""
    home = Home(tmp_path_factory.mktemp("home")).prepare()
    artifact = random_artifact(home, ("v1", "v2"))
    built = pack(home, artifact)
    folder = tmp_path_factory.mktemp("extracted")
    extract_archive(built.path / ARCHIVE, folder)
    return Packed(home, artifact, built, folder)
