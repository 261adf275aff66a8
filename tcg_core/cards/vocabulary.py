"""The canonical vocabulary: one position for each distinct content, whichever generation and id it goes by.

Content of an attack is all of it but the id; content of a card is all of it but the id, with its attacks' contents in
place of their ids (two attack ids mean other attacks in v2). Blanks in texts do not count: engine v2 tidied those
of 136 cards. Positions below FIRST are those of :mod:`tcg_core.encode.cards`: padding, face down, unknown.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tcg_core.base.digest import sha256_json
from tcg_core.cards.errors import CardTableError
from tcg_core.encode.cards import FIRST


@dataclass(frozen=True)
class Vocabulary:
    """index[generation]: int32 [max id + 1], position of an id, -1 where there is none, 0 for id 0;
    first: for each position from FIRST up, the (generation, record) that introduced it."""

    index: dict[str, npt.NDArray[np.int32]]
    first: tuple[tuple[str, Any], ...]

    @property
    def size(self) -> int:
        """Positions, padding, face down and unknown included."""
        return FIRST + len(self.first)


def attack_contents(attacks: Sequence[Any]) -> dict[int, str]:
    """Content identity of each attack by id; raises :class:`CardTableError` for an id that occurs twice."""
    return _by_id(attacks, "attack_id", lambda attack: sha256_json(_without(attack, "attack_id")))


def card_contents(cards: Sequence[Any], attacks: Mapping[int, str]) -> dict[int, str]:
    """Content identity of each card by id; raises :class:`CardTableError` naming an attack that does not exist."""

    def identity(card: Any) -> str:
        for attack in card.attacks:
            if attack not in attacks:
                raise CardTableError(f"card {card.card_id} ({card.name}) has attack {attack}, which is not among the attacks")
        return sha256_json(_without(card, "card_id") | {"attacks": [attacks[attack] for attack in card.attacks]})

    return _by_id(cards, "card_id", identity)


def vocabulary(records: Mapping[str, Sequence[Any]], contents: Mapping[str, Mapping[int, str]], key: str) -> Vocabulary:
    """Positions in order of generation, then id, of the first appearance of each content."""
    positions: dict[str, int] = {}
    first: list[tuple[str, Any]] = []
    index = {}
    for generation in sorted(records):
        by_id = {getattr(record, key): record for record in records[generation]}
        table = np.full(max(by_id, default=0) + 1, -1, np.int32)
        table[0] = 0
        for id in sorted(by_id):
            content = contents[generation][id]
            if content not in positions:
                positions[content] = FIRST + len(first)
                first.append((generation, by_id[id]))
            table[id] = positions[content]
        index[generation] = table
    return Vocabulary(index, tuple(first))


def _by_id(records: Sequence[Any], key: str, identity: Any) -> dict[int, str]:
    found: dict[int, str] = {}
    for record in records:
        id = getattr(record, key)
        if id in found or id <= 0:
            raise CardTableError(f"{key} {id} " + ("occurs twice" if id in found else "is not positive"))
        found[id] = identity(record)
    return found


def _without(record: Any, key: str) -> dict[str, Any]:
    return {name: _tidy(value) for name, value in asdict(record).items() if name != key}


def _tidy(value: Any) -> Any:
    if isinstance(value, str):
        return " ".join(value.split())
    if isinstance(value, dict):
        return {key: _tidy(item) for key, item in value.items()}
    return [_tidy(item) for item in value] if isinstance(value, list | tuple) else value
