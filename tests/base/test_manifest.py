import json
from dataclasses import replace
from pathlib import Path

import pytest

from tcg_core.base import manifest as provenance
from tcg_core.base.digest import sha256_json
from tcg_core.base.errors import IntegrityError
from tcg_core.base.manifest import Input, Manifest


def artifact(directory: Path) -> Manifest:
    directory.mkdir()
    (directory / "data.bin").write_bytes(b"123")
    manifest = Manifest(
        "demo", "abc", (Input("day", "d1", "0" * 64),), {"k": 1}, "code", {"numpy": "1"}, provenance.hash_files(directory)
    )
    provenance.write_manifest(directory, manifest)
    return manifest


def test_a_manifest_is_read_back_as_written(tmp_path: Path) -> None:
    manifest = artifact(tmp_path / "a")
    assert provenance.read_manifest(tmp_path / "a") == manifest
    assert provenance.verify_files(tmp_path / "a").content == manifest.content


@pytest.mark.parametrize("damage", ["changed", "missing", "extra", "manifest"])
def test_each_damage_is_named(tmp_path: Path, damage: str) -> None:
    directory = tmp_path / "a"
    artifact(directory)
    if damage == "changed":
        (directory / "data.bin").write_bytes(b"124")
    elif damage == "missing":
        (directory / "data.bin").unlink()
    elif damage == "extra":
        (directory / "other.bin").write_bytes(b"")
    else:
        values = json.loads((directory / "manifest.json").read_text())
        values["files"]["data.bin"] = "0" * 64
        (directory / "manifest.json").write_text(json.dumps(values))
    with pytest.raises(IntegrityError, match=r"other\.bin" if damage == "extra" else r"data\.bin|manifest\.json"):
        provenance.verify_files(directory)


def test_the_id_follows_inputs_configuration_and_code_only() -> None:
    inputs = [Input("day", "d1", "0" * 64)]
    base = provenance.artifact_id("plan", inputs, {"a": 1}, "c")
    assert base == provenance.artifact_id("plan", inputs, {"a": 1}, "c") and len(base) == 16
    others = {
        provenance.artifact_id("other", inputs, {"a": 1}, "c"),
        provenance.artifact_id("plan", [], {"a": 1}, "c"),
        provenance.artifact_id("plan", inputs, {"a": 2}, "c"),
        provenance.artifact_id("plan", inputs, {"a": 1}, "d"),
    }
    assert base not in others and len(others) == 4


def test_pictures_are_verified_and_no_part_of_the_content(tmp_path: Path) -> None:
    manifest = artifact(tmp_path / "a")
    drawn = replace(manifest, files=manifest.files | {"shape.png": "0" * 64, "report.html": "1" * 64})
    assert drawn.content == manifest.content
    assert replace(drawn, manifest_version=1).content != manifest.content
    (tmp_path / "a" / "shape.png").write_bytes(b"p")
    with pytest.raises(IntegrityError, match=r"shape\.png: expected SHA-256 absent"):
        provenance.verify_files(tmp_path / "a")


def test_a_manifest_of_the_first_version_is_read_by_its_own_rule(tmp_path: Path) -> None:
    """As 0.1.0 wrote it: the package's version in it, pictures among the content."""
    directory = tmp_path / "old"
    directory.mkdir()
    (directory / "data.bin").write_bytes(b"123")
    (directory / "shape.png").write_bytes(b"p")
    old = Manifest("demo", "abc", (), {}, "code", {}, provenance.hash_files(directory), {}, 1)
    values = old.to_dict() | {"package_version": "0.1.0"}
    assert values["content"] == sha256_json(old.files)
    (directory / "manifest.json").write_text(json.dumps(values))
    assert provenance.verify_files(directory) == old


def test_a_manifest_of_a_later_version_is_refused_by_name(tmp_path: Path) -> None:
    directory = tmp_path / "a"
    values = artifact(directory).to_dict() | {"manifest_version": 3}
    (directory / "manifest.json").write_text(json.dumps(values))
    with pytest.raises(IntegrityError, match="manifest version 3, this code knows 1 to 2"):
        provenance.read_manifest(directory)
