"""Opponents are data: a baseline, a submission or any folder or archive with a ``main.py``, with a hash over all its files."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tcg_core.arena.errors import OpponentError
from tcg_core.arena.schedule import Contestant
from tcg_core.base.code import code_version
from tcg_core.base.digest import sha256_file, sha256_json
from tcg_core.base.errors import IntegrityError, TcgError, UnknownId
from tcg_core.base.home import Home
from tcg_core.base.manifest import MANIFEST, Manifest, read_manifest, verify_files
from tcg_core.catalog import registry
from tcg_core.engine.agents import BASELINES
from tcg_core.engine.decks import read_deck, resolve_deck, validate_deck
from tcg_core.engine.errors import DeckError
from tcg_core.submission.archive import ArchiveRefused, extract_archive
from tcg_core.submission.host.process import AgentFailure, AgentProcess
from tcg_core.submission.names import ARCHIVE, DECK, ENTRY, KIND

BASELINE, SUBMISSION, FOREIGN = "baseline", "submission", "foreign"
_SUFFIXES = (".tar.gz", ".tgz")
_DECK_REQUEST: dict[str, Any] = {"select": None, "logs": [], "current": None, "search_begin_input": None, "step": 0}


def resolve(home: Home, spec: str, generation: str, deck: str = "sample") -> Contestant:
    """The player called ``spec``: a baseline (``heuristic``, or ``heuristic:NAME`` with a deck of the registry), a
    submission's id, a ``.tar.gz``, or a folder with a ``main.py``.

    Its deck is asked of it where it brings one, and must be legal. Raises :class:`OpponentError` naming what is wrong.
    """
    name, _, own_deck = spec.partition(":")
    if name in BASELINES:
        cards = resolve_deck(home, own_deck or deck)
        return _checked(Contestant(spec, BASELINE, spec, code_version("baseline"), own_deck or deck, cards), generation)
    source = source_of(home, spec)
    with unpacked(source) as folder:
        manifest = _submission_of(spec, folder)
        if manifest is not None and _known(home, source, manifest.id):
            if generation not in manifest.config["generations"]:
                known = ", ".join(manifest.config["generations"])
                raise OpponentError(f"opponent {spec!r} plays engine generations {known}, not {generation}")
            player = Contestant(
                manifest.id[:8], SUBMISSION, spec, hash_of(source), manifest.config["deck"], read_deck(folder / DECK)
            )
        else:
            label = source.name.removesuffix(".tar.gz").removesuffix(".tgz")
            player = Contestant(label, FOREIGN, spec, hash_of(source), "own", _asked_deck(spec, folder))
    return _checked(player, generation)


def source_of(home: Home, spec: str) -> Path:
    """The folder or archive behind ``spec``; raises :class:`OpponentError`, and :class:`IntegrityError` for a submission of this
    home that is not as recorded."""
    path = Path(spec)
    if path.is_dir():
        if not (path / ENTRY).is_file():
            raise OpponentError(f"opponent {spec!r}: the folder has no {ENTRY}")
        return path.resolve()
    if spec.endswith(_SUFFIXES):
        if not path.is_file():
            raise OpponentError(f"opponent {spec!r}: no such file")
        return path.resolve()
    try:
        directory = registry.find(home, KIND, spec)
        verify_files(directory)
        return directory / ARCHIVE
    except UnknownId:
        raise OpponentError(
            f"opponent {spec!r} is no baseline ({', '.join(BASELINES)}), no submission's id, no .tar.gz and no folder"
        ) from None


def hash_of(source: Path) -> str:
    """SHA-256 of an archive, or over names and hashes of all files of a folder (caches of Python excepted)."""
    if source.is_file():
        return sha256_file(source)
    files = [file for file in sorted(source.rglob("*")) if file.is_file() and "__pycache__" not in file.parts]
    return sha256_json({file.relative_to(source).as_posix(): sha256_file(file) for file in files})


@contextmanager
def unpacked(source: Path) -> Iterator[Path]:
    """A private copy of a folder or archive, in a temporary directory."""
    with tempfile.TemporaryDirectory(prefix="tcg-opponent-") as name:
        yield unpack(source, Path(name) / "agent")


def unpack(source: Path, folder: Path) -> Path:
    """Copies a folder or extracts an archive into ``folder``; raises :class:`OpponentError` for what is refused."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if source.is_dir():
        for file in sorted(source.rglob("*")):
            if file.is_file() and "__pycache__" not in file.parts:
                target = folder / file.relative_to(source)
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(file.read_bytes())
        return folder
    try:
        extract_archive(source, folder)
    except ArchiveRefused as error:
        raise OpponentError(f"opponent {source}: {error}") from None
    if not (folder / ENTRY).is_file():
        raise OpponentError(f"opponent {source}: the archive has no {ENTRY}")
    return folder


def is_submission(folder: Path) -> bool:
    """Whether the folder is one of our own submissions, whose agent plays many games in one process."""
    if not (folder / MANIFEST).is_file():
        return False
    try:
        return read_manifest(folder).kind == KIND
    except TcgError:
        return False


def _submission_of(spec: str, folder: Path) -> Manifest | None:
    """The manifest of a submission, None for another agent. Raises :class:`OpponentError` for a submission whose files are not
    those of its manifest: it would play without its network and not say so."""
    if not is_submission(folder):
        return None
    try:
        return verify_files(folder)
    except IntegrityError as error:
        raise OpponentError(f"opponent {spec!r} is not as the submission's manifest records it: {error}") from None


def _known(home: Home, source: Path, id: str) -> bool:
    """Whether it is a submission of this home. A stranger's archive can carry any manifest: its word is not enough to be
    trusted as ours, or to be taken for the champion."""
    try:
        archive = registry.find(home, KIND, id) / ARCHIVE
    except UnknownId:
        return False
    return archive.is_file() and hash_of(archive) == hash_of(source)


def _asked_deck(spec: str, folder: Path) -> tuple[int, ...]:
    try:
        with AgentProcess(folder, ours=False) as agent:
            deck = agent.act(_DECK_REQUEST | {"remainingOverageTime": 600}, {}, 60.0)[0]
    except AgentFailure as error:
        raise OpponentError(f"opponent {spec!r} did not answer the deck request: {error}") from None
    if not all(isinstance(card, int) and not isinstance(card, bool) for card in deck):
        raise OpponentError(f"opponent {spec!r} answered the deck request with {str(deck)[:80]}")
    return tuple(deck)


def _checked(player: Contestant, generation: str) -> Contestant:
    try:
        validate_deck(generation, player.cards)
    except DeckError as error:
        raise OpponentError(f"opponent {player.spec!r}: {error}") from None
    return player
