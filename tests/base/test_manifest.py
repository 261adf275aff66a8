import json
from pathlib import Path

import pytest

from tcg_core.base import manifest as provenance
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


def test_code_identity_follows_the_import_closure_and_the_libraries() -> None:
    closure = provenance._closure(["tcg_core.recipe"])
    assert {"tcg_core.recipe", "tcg_core.base.errors", "tcg_core.model.config"} <= closure
    assert "tcg_assets.cli.main" not in closure
    assert provenance.code_identity("tcg_core.recipe") != provenance.code_identity("tcg_core.base.home")
    assert provenance.code_identity("tcg_core.recipe") != provenance.code_identity("tcg_core.recipe", libraries=["numpy"])
