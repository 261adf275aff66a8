"""Builds the static card and attack tables that networks, checkpoints and play look ids up in."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file

from tcg_core.base.built import Built
from tcg_core.base.checks import Check
from tcg_core.base.digest import sha256_json
from tcg_core.base.errors import IntegrityError
from tcg_core.base.home import Home
from tcg_core.base.manifest import read_manifest, verify_files
from tcg_core.base.stage import Registrar, Stage, find, finish, make
from tcg_core.cards.csv import CardCsv, read_card_csv
from tcg_core.cards.statics import ATTACK_NAMES, CARD_NAMES, attack_features, card_features_of
from tcg_core.cards.vocabulary import Vocabulary, attack_contents, card_contents, vocabulary
from tcg_core.encode.cards import FIRST, CardTables
from tcg_core.encode.errors import EncodeError

KIND, TABLES = "card_features", "tables.safetensors"
CHECKS = ("id_coverage", "finite")


def build_tables(
    cards: Mapping[str, Sequence[Any]], attacks: Mapping[str, Sequence[Any]], card_csv: CardCsv | None = None
) -> CardTables:
    """Tables of cards and attacks by generation (``engine.cards.Card`` and ``Attack``, or anything with their fields).

    ``card_csv`` appends its columns to ``card_static``; raises :class:`CardCsvError` if it is not of these cards.
    """
    attack_ids = {generation: attack_contents(attacks[generation]) for generation in attacks}
    card_ids = {generation: card_contents(cards[generation], attack_ids[generation]) for generation in cards}
    attack_words = vocabulary(attacks, attack_ids, "attack_id")
    card_words = vocabulary(cards, card_ids, "card_id")
    by_id = {generation: {attack.attack_id: attack for attack in attacks[generation]} for generation in attacks}
    card_static = _matrix(card_words, lambda generation, card: card_features_of(card, by_id[generation]), len(CARD_NAMES))
    if card_csv is not None:
        card_static = np.concatenate([card_static, card_csv.features(card_words.index, card_words.size)], axis=1)
    return CardTables(
        card_words.index,
        attack_words.index,
        card_static,
        _matrix(attack_words, lambda _, attack: attack_features(attack), len(ATTACK_NAMES)),
    )


def card_features(
    home: Home, registrar: Registrar, cards: Mapping[str, Sequence[Any]], attacks: Mapping[str, Sequence[Any]]
) -> Built:
    """Publishes ``cards/<id>/tables.safetensors``; the id follows from the engine's tables, ``home.card_csv`` and this code.

    Raises :class:`CardCsvError` for a card CSV that cannot be joined; nothing is written then.
    """
    sources = {generation: sha256_json([_plain(cards[generation]), _plain(attacks[generation])]) for generation in sorted(cards)}
    card_csv = read_card_csv(home.card_csv)
    joined = "none" if card_csv is None else card_csv.sha256

    stage = Stage.of(KIND, KIND, home.cards, (), {"engine_tables": sources, "card_csv": joined})
    made = find(stage) or make(stage, _writer(build_tables(cards, attacks, card_csv), card_csv))
    tables = _load(made.path)
    shown: dict[str, Any] = {
        "digest": tables.digest,
        "cards": len(tables.card_static) - FIRST,
        "attacks": len(tables.attack_static) - FIRST,
        "card_features": tables.card_static.shape[1],
        "attack_features": tables.attack_static.shape[1],
        "generations": {generation: len(cards[generation]) for generation in sorted(cards)},
        "card_csv": joined,
        "bytes": (made.path / TABLES).stat().st_size,
    }
    return finish(registrar, made, lambda: check_tables(tables, cards, attacks), shown)


def load_cards(directory: Path) -> CardTables:
    """The tables in ``cards/<id>``; raises :class:`IntegrityError` if the files are not those that were published."""
    verify_files(directory)
    return _load(directory)


def card_csv_of(directory: Path) -> str | None:
    """SHA-256 of the EN_Card_Data.csv that the tables in ``cards/<id>`` were joined with; None if there was none."""
    joined = read_manifest(directory).config["card_csv"]
    return None if joined == "none" else str(joined)


def check_tables(
    tables: CardTables, cards: Mapping[str, Sequence[Any]], attacks: Mapping[str, Sequence[Any]]
) -> tuple[Check, ...]:
    """id_coverage: each id of the engine has a position of its own content, and no other id has one; finite: no NaN."""
    problems = []
    for what, records, key, index, size in (
        ("card", cards, "card_id", tables.card_index, len(tables.card_static)),
        ("attack", attacks, "attack_id", tables.attack_index, len(tables.attack_static)),
    ):
        for generation in sorted(set(records) | set(index)):
            wanted = {getattr(record, key) for record in records.get(generation, ())}
            table = index.get(generation, np.zeros(0, np.int32))
            held = {int(id) for id in np.flatnonzero(table >= FIRST)}
            problems += [f"{generation}: {what} {id} has no position" for id in sorted(wanted - held)[:3]]
            problems += [f"{generation}: {what} {id} is unknown to the engine" for id in sorted(held - wanted)[:3]]
            if len(table) and int(table.max()) >= size:
                problems.append(f"{generation}: {what} position {int(table.max())} is past the table of {size}")
    counts = f"{len(tables.card_static) - FIRST} cards and {len(tables.attack_static) - FIRST} attacks"
    finite = bool(np.isfinite(tables.card_static).all() and np.isfinite(tables.attack_static).all())
    return (
        Check(
            "id_coverage", not problems, "; ".join(problems) or f"each id of {', '.join(sorted(cards))} has a position: {counts}"
        ),
        Check("finite", finite, "all static features are finite" if finite else "a static feature is not finite"),
    )


def _matrix(words: Vocabulary, features: Any, width: int) -> Any:
    matrix = np.zeros((words.size, width), np.float32)
    for position, (generation, record) in enumerate(words.first, FIRST):
        matrix[position] = features(generation, record)
    return matrix


def _writer(tables: CardTables, card_csv: CardCsv | None) -> Callable[[Path], dict[str, Any]]:
    def write(directory: Path) -> dict[str, Any]:
        save_file({name: np.ascontiguousarray(array) for name, array in tables.arrays().items()}, directory / TABLES)
        return {
            "digest": tables.digest,
            "card_columns": [*CARD_NAMES, *(card_csv.names if card_csv else ())],
            "attack_columns": list(ATTACK_NAMES),
            "card_csv": card_csv.sha256 if card_csv else "none",
        }

    return write


def _load(path: Path) -> CardTables:
    try:
        return CardTables.from_arrays(load_file(path / TABLES))
    except (OSError, SafetensorError, EncodeError) as error:
        raise IntegrityError(f"{path / TABLES}: {error}") from None


def _plain(records: Sequence[Any]) -> list[Any]:
    return [asdict(record) for record in records]
