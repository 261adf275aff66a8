"""Static card and attack tables as data, and the canonical vocabulary that joins both engine generations.

Ids differ in meaning between generations, so embeddings are indexed by *content identity*: position 0 is padding, 1 a card
that lies face down, 2 a card or attack that the tables do not have (a new print), 3 and up are the distinct contents seen in
any generation. The tables are stored and hashed in checkpoints and artifacts.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from tcg_core.encode.errors import EncodeError

PADDING, FACE_DOWN, UNKNOWN_PRINT = 0, 1, 2
#: The first position of a content.
FIRST = 3


@dataclass(frozen=True)
class CardTables:
    """card_index[g], attack_index[g]: int32 [max id + 1], vocabulary position of an id of generation g, -1 where there
    is no such id; card_static: float32 [cards, F]; attack_static: float32 [attacks, A]; rows below FIRST are zero."""

    card_index: Mapping[str, npt.NDArray[np.int32]]
    attack_index: Mapping[str, npt.NDArray[np.int32]]
    card_static: npt.NDArray[np.float32]
    attack_static: npt.NDArray[np.float32]

    def cards(self, generation: str, ids: npt.NDArray[Any]) -> npt.NDArray[np.int32]:
        """Vocabulary positions of card ids (any shape): 0 -> PADDING, -1 -> FACE_DOWN, an id that the tables do not have ->
        UNKNOWN_PRINT. Raises :class:`EncodeError` for an id below -1 and for a generation without tables."""
        return _look_up(self.card_index, "card", generation, ids)

    def attacks(self, generation: str, ids: npt.NDArray[Any]) -> npt.NDArray[np.int32]:
        """Vocabulary positions of attack ids (any shape), likewise."""
        return _look_up(self.attack_index, "attack", generation, ids)

    def unknown(self, generation: str, cards: Sequence[int], attacks: Sequence[int] = ()) -> list[str]:
        """The ids that get the token of an unknown card, each once and in order: ``card 1500``, ``attack 1700``."""
        found = []
        for what, ids, table in (("card", cards, self.cards), ("attack", attacks, self.attacks)):
            distinct = np.unique(np.asarray(ids, dtype=np.int64))
            found += [f"{what} {id}" for id in distinct[table(generation, distinct) == UNKNOWN_PRINT].tolist()]
        return found

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """The tables as named arrays, for safetensors; :meth:`from_arrays` reads them back."""
        named: dict[str, npt.NDArray[Any]] = {"card_static": self.card_static, "attack_static": self.attack_static}
        for generation in sorted(self.card_index):
            named[f"card_index.{generation}"] = self.card_index[generation]
            named[f"attack_index.{generation}"] = self.attack_index[generation]
        return named

    @classmethod
    def from_arrays(cls, named: Mapping[str, npt.NDArray[Any]]) -> "CardTables":
        """Strict inverse of :meth:`arrays`; raises :class:`EncodeError` naming what is missing, has another dtype, or was
        made before there was a position for unknown cards."""
        for name, dtype in (("card_static", np.float32), ("attack_static", np.float32)):
            if name not in named:
                raise EncodeError(f"card tables: {name} is missing")
            if named[name].dtype != dtype:
                raise EncodeError(f"card tables: {name} is {named[name].dtype}, expected float32")
        index: dict[str, dict[str, npt.NDArray[np.int32]]] = {"card_index": {}, "attack_index": {}}
        for name, array in named.items():
            head, _, generation = name.partition(".")
            if head in index:
                if array.dtype != np.int32:
                    raise EncodeError(f"card tables: {name} is {array.dtype}, expected int32")
                if ((array > PADDING) & (array < FIRST)).any():
                    raise EncodeError(
                        f"card tables: {name} has contents at positions below {FIRST}: these tables were made before there was "
                        "a position for unknown cards; make them again with `tcg cards build`"
                    )
                index[head][generation] = array
        if not index["card_index"] or set(index["card_index"]) != set(index["attack_index"]):
            of_cards, of_attacks = sorted(index["card_index"]), sorted(index["attack_index"])
            raise EncodeError(f"card tables: generations {of_cards} of cards, {of_attacks} of attacks")
        return cls(index["card_index"], index["attack_index"], named["card_static"], named["attack_static"])

    @cached_property
    def digest(self) -> str:
        """Hex SHA-256 over names, dtypes, shapes and bytes of all tables."""
        total = hashlib.sha256()
        for name, array in sorted(self.arrays().items()):
            total.update(f"{name}|{array.dtype.str}|{array.shape}|".encode())
            total.update(np.ascontiguousarray(array).tobytes())
        return total.hexdigest()


def _look_up(
    index: Mapping[str, npt.NDArray[np.int32]], what: str, generation: str, ids: npt.NDArray[Any]
) -> npt.NDArray[np.int32]:
    if generation not in index:
        raise EncodeError(f"card tables have no engine generation {generation!r}; they hold {', '.join(sorted(index))}")
    table = index[generation]
    ids = np.asarray(ids, dtype=np.int64)
    if (ids < -1).any():
        raise EncodeError(f"{what} id {int(ids.min())} is no id, expected -1 or more")
    inside = ids < len(table)
    positions = table[np.where(inside & (ids > 0), ids, 0)]
    positions = np.where(inside & (positions >= 0), positions, UNKNOWN_PRINT)
    return np.where(ids == -1, FACE_DOWN, positions).astype(np.int32)
