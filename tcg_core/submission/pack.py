"""Packs an artifact and a deck into ``submission.tar.gz``, proven by preflight before anything may use it."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from tcg_core.base.built import Built
from tcg_core.base.checks import Check
from tcg_core.base.errors import IntegrityError, TcgError
from tcg_core.base.home import Home
from tcg_core.base.manifest import Manifest, verify_files
from tcg_core.base.stage import finish, make, standing
from tcg_core.catalog import registry
from tcg_core.engine.decks import resolve_deck, validate_deck
from tcg_core.model.torch_load import CONTRACT, read_contract
from tcg_core.submission.archive import write_archive
from tcg_core.submission.contents import submission_files, submission_stage
from tcg_core.submission.names import ARCHIVE
from tcg_core.submission.preflight import CHECKS, preflight


class NoLookAhead(TcgError):
    """An artifact whose network reads what only the engine's look-ahead can tell."""


def pack(home: Home, artifact_id: str, deck: str = "sample", games: int = 2) -> Built:
    """Builds the submission of an artifact whose checks passed, with the deck called ``deck``.

    ``games``: preflight games for each engine generation that the artifact declares. The same artifact, deck and code
    give the same id and the same bytes. Raises :class:`~tcg_core.base.errors.TcgError` for an unknown or unproven artifact
    and for a deck that is unknown or illegal in a declared generation, :class:`NoLookAhead` for a network with would-KO inputs.
    """
    artifact = registry.require_passed(home, "torch_artifact", artifact_id)
    origin = verify_files(artifact).as_input()
    contract = read_contract(artifact / CONTRACT)
    _refuse_would_ko(contract, artifact_id)
    cards = resolve_deck(home, deck)
    for generation in contract["generations"]:
        validate_deck(generation, cards)
    stage = submission_stage(home.submissions, artifact, origin, deck, cards)
    inner, files = submission_files(stage, artifact, cards)

    def write(directory: Path) -> dict[str, Any]:
        write_archive(directory / ARCHIVE, files)
        return {"inner_content": inner.content}

    made = make(stage, write)
    if made.manifest.facts["inner_content"] != inner.content:
        raise IntegrityError(f"{made.path}: holds other files than artifact {artifact_id}, deck {deck} and this code give")
    registrar = registry.HomeRegistrar(home)

    def checks() -> tuple[Check, ...]:
        return standing(registrar, made, CHECKS) or preflight(made.path / ARCHIVE, games=games)

    built = finish(registrar, made, checks, {})
    return replace(built, facts=_facts(made.manifest, built.checks, len(files)))


def _refuse_would_ko(contract: dict[str, Any], artifact_id: str) -> None:
    """Also where ``zero_wouldko`` gave the network zeros only: the run with ``model.would_ko`` off has the same weights."""
    if contract["arch_config"]["model"].get("would_ko", False):
        run = contract["origin"]["run"]
        raise NoLookAhead(
            f"artifact {artifact_id} of run {run} has would-KO inputs (model.would_ko), and play has no engine to look ahead "
            "with: train with model.would_ko off"
        )


def _facts(manifest: Manifest, checks: tuple[Check, ...], files: int) -> dict[str, object]:
    found = {check.name: check.facts for check in checks}
    size = found.get("size", {}).get("bytes")
    times = {name: value for name, value in found.get("time", {}).items() if name.endswith("_ms")}
    return {
        "archive": ARCHIVE,
        "archive_bytes": size,
        "archive_sha256": manifest.files[ARCHIVE],
        "files": files,
        "deck": manifest.config["deck"],
        "deck_sha256": manifest.config["deck_sha256"],
        "generations": manifest.config["generations"],
        "preflight_games": found.get("plays", {}).get("games"),
        **times,
    }
