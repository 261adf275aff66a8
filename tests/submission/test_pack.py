"""Packing: bytes are a function of artifact, deck and code; the deck and the policy cannot be parted."""

import json
import shutil

import pytest

from tcg_core.base import source
from tcg_core.base.checks import Check
from tcg_core.base.errors import UnknownId
from tcg_core.base.manifest import MANIFEST, read_manifest, verify_files
from tcg_core.catalog import registry
from tcg_core.catalog.errors import ChecksNotPassed
from tcg_core.engine.cards import load_cards
from tcg_core.engine.decks import random_legal_deck, sample_deck, write_deck
from tcg_core.engine.errors import DeckError
from tcg_core.submission.closure import NotPackable, foreign_imports, runtime_sources
from tcg_core.submission.contents import submission_files, submission_stage
from tcg_core.submission.names import ARCHIVE
from tcg_core.submission.pack import pack
from tcg_core.submission.preflight import CHECKS


def files_of(packed, deck):
    directory = packed.home.artifacts / packed.artifact
    origin = read_manifest(directory).as_input()
    stage = submission_stage(packed.home.submissions, directory, origin, "some", deck)
    return submission_files(stage, directory, deck)


def test_preflight_passed_with_every_check(packed):
    assert [check.name for check in packed.built.checks] == list(CHECKS)
    assert packed.built.passed, [check.message for check in packed.built.checks if not check.passed]
    assert packed.built.facts["preflight_games"] == 4


def test_packed_again_it_is_reused_without_playing(packed, monkeypatch):
    monkeypatch.setattr("tcg_core.submission.pack.preflight", lambda *a, **k: pytest.fail("played again"))
    again = pack(packed.home, packed.artifact)
    assert again.reused and again.id == packed.built.id and again.passed


def test_same_inputs_same_bytes(packed, tmp_path):
    from tcg_core.submission.archive import write_archive

    _, files = files_of(packed, sample_deck())
    files[MANIFEST] = packed.files()[MANIFEST]  # the deck's name differs, all else is the same
    write_archive(tmp_path / "again.tar.gz", files)
    assert (tmp_path / "again.tar.gz").read_bytes() == packed.archive.read_bytes()


def test_manifest_inside_holds_every_hash_and_no_time_or_commit(packed):
    manifest = verify_files(packed.folder)
    assert manifest.id == packed.built.id and manifest.inputs[0].id == packed.artifact
    assert {"main.py", "deck.csv", "weights.safetensors", "tcg_core/encode/encoder.py"} <= set(manifest.files)
    assert not {"at", "commit", "dirty"} & set(json.loads((packed.folder / MANIFEST).read_text()))


def test_deck_is_part_of_the_identity(packed):
    other = random_legal_deck("v1", 3)
    assert files_of(packed, other)[0].id != files_of(packed, sample_deck())[0].id


def test_shipped_code_is_the_project_s_byte_for_byte(packed):
    for name, data in packed.files().items():
        if name.startswith("tcg_core/"):
            assert data == (source.ROOT / name).read_bytes(), name


def test_runtime_needs_nothing_but_the_sandbox():
    names = set(runtime_sources())
    assert "tcg_core/submission/runtime/agent.py" in names and "tcg_core/encode/__init__.py" in names
    assert not [
        name for name in names if "mlx" in name or name.split("/")[1] in ("engine", "catalog", "train", "convert", "arena")
    ]


def test_a_runtime_that_imports_more_is_refused(monkeypatch):
    assert foreign_imports({"tcg_core/x.py": "import msgspec\n"}) == [
        "tcg_core/x.py imports msgspec, which is neither in the archive nor in the sandbox"
    ]
    assert foreign_imports({"a.py": "from tcg_core.engine.battle import Battle\n"})
    assert not foreign_imports({"a.py": "import os, numpy.typing, torch\nfrom b import c\n", "b.py": ""})
    with pytest.raises(NotPackable):
        runtime_sources("tcg_core.submission.host.process")


def test_unknown_unproven_and_illegal_are_refused(packed):
    with pytest.raises(UnknownId):
        pack(packed.home, "nothing")
    with pytest.raises(UnknownId, match="decks here"):
        pack(packed.home, packed.artifact, deck="nowhere")
    write_deck(packed.home.decks / "bad.csv", [sample_deck()[0]] * 60)
    with pytest.raises(DeckError, match="not legal in engine v1"):
        pack(packed.home, packed.artifact, deck="bad")
    registry.record_checks(packed.home, "torch_artifact", packed.artifact, [Check("parity", False, "off")])
    try:
        with pytest.raises(ChecksNotPassed, match="parity"):
            pack(packed.home, packed.artifact)
    finally:
        registry.record_checks(packed.home, "torch_artifact", packed.artifact, [Check("names", True, "as built")])


def test_a_deck_of_one_generation_only_is_refused_for_both(packed):
    only_v2 = max(card.card_id for card in load_cards("v2"))
    deck = [*sample_deck()[:-1], only_v2]
    write_deck(packed.home.decks / "newer.csv", deck)
    with pytest.raises(DeckError, match="v1"):
        pack(packed.home, packed.artifact, deck="newer")


def test_a_damaged_submission_is_not_reused(packed):
    directory = packed.built.path
    whole = (directory / ARCHIVE).read_bytes()
    (directory / ARCHIVE).write_bytes(whole[:-1])
    again = pack(packed.home, packed.artifact)
    assert (again.id, again.path, again.reused, again.passed) == (packed.built.id, directory, False, True)
    assert (directory / ARCHIVE).read_bytes() == whole, "the same bytes"
    [aside] = directory.parent.glob(".damaged-*")
    assert (aside / ARCHIVE).read_bytes() == whole[:-1], "what may have been sent can be looked at"
    shutil.rmtree(aside)
