"""What a submission holds and how it is named: deck, artifact, runtime and the manifest that binds them."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tcg_core.base.digest import sha256_bytes
from tcg_core.base.manifest import MANIFEST, Input, Manifest
from tcg_core.base.stage import Stage
from tcg_core.engine.decks import deck_hash
from tcg_core.model.torch_load import CONTRACT, REFERENCE, WEIGHTS, read_contract
from tcg_core.submission.closure import runtime_sources
from tcg_core.submission.main_source import MAIN
from tcg_core.submission.names import DECK, ENTRY, KIND

REQUIRED = (ENTRY, DECK, WEIGHTS, CONTRACT, MANIFEST)
#: The reference travels along while it is small against the archive's limit.
LARGEST_REFERENCE = 16 << 20


def submission_stage(root: Path, artifact: Path, origin: Input, deck_name: str, deck: Sequence[int]) -> Stage:
    """The submission of an artifact and a deck, below ``root``. It may be what was handed in, so a damaged one is set
    aside, not removed."""
    contract = read_contract(artifact / CONTRACT)
    config: dict[str, Any] = {
        "deck": deck_name,
        "deck_sha256": deck_hash(deck),
        "generations": list(contract["generations"]),
        "schema": contract["schema"],
    }
    return Stage.of(KIND, KIND, root, (origin,), config, keeping=True)


def submission_files(stage: Stage, artifact: Path, deck: Sequence[int]) -> tuple[Manifest, dict[str, bytes]]:
    """The manifest and every file of the archive by name, the manifest among them."""
    files: dict[str, bytes] = {
        ENTRY: MAIN.encode(),
        DECK: "".join(f"{card}\n" for card in deck).encode(),
        WEIGHTS: (artifact / WEIGHTS).read_bytes(),
        CONTRACT: (artifact / CONTRACT).read_bytes(),
        **runtime_sources(),
    }
    reference = artifact / REFERENCE
    if reference.is_file() and reference.stat().st_size <= LARGEST_REFERENCE:
        files[REFERENCE] = reference.read_bytes()
    manifest = stage.manifest({name: sha256_bytes(data) for name, data in sorted(files.items())})
    text = json.dumps(manifest.to_dict(), sort_keys=True, indent=2, ensure_ascii=False) + "\n"
    return manifest, files | {MANIFEST: text.encode()}
