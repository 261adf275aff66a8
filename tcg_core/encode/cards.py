"""Static card and attack tables as data, and the canonical vocabulary that joins both engine generations.

Ids differ in meaning between generations, so embeddings are indexed by *content identity*: position 0 is padding,
1 is "unknown", 2 and up are the distinct contents seen in any generation. The tables are stored and hashed in
checkpoints and artifacts; an id outside them is refused by name.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from tcg_core.encode.errors import EncodeError

PADDING, UNKNOWN = 0, 1


@dataclass(frozen=True)
class CardTables:
    """card_index[g], attack_index[g]: int32 [max id + 1], vocabulary position of an id of generation g, -1 where there
    is no such id; card_static: float32 [cards, F]; attack_static: float32 [attacks, A]; rows 0 and 1 are zero."""

    card_index: Mapping[str, npt.NDArray[np.int32]]
    attack_index: Mapping[str, npt.NDArray[np.int32]]
    card_static: npt.NDArray[np.float32]
    attack_static: npt.NDArray[np.float32]

    def cards(self, generation: str, ids: npt.NDArray[Any]) -> npt.NDArray[np.int32]:
        """Vocabulary positions of card ids (any shape): 0 -> padding, -1 -> unknown; another id must exist."""
        return _look_up(self.card_index, "card", generation, ids)

    def attacks(self, generation: str, ids: npt.NDArray[Any]) -> npt.NDArray[np.int32]:
        """Vocabulary positions of attack ids (any shape), likewise."""
        return _look_up(self.attack_index, "attack", generation, ids)

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """The tables as named arrays, for safetensors; :meth:`from_arrays` reads them back."""
        named: dict[str, npt.NDArray[Any]] = {"card_static": self.card_static, "attack_static": self.attack_static}
        for generation in sorted(self.card_index):
            named[f"card_index.{generation}"] = self.card_index[generation]
            named[f"attack_index.{generation}"] = self.attack_index[generation]
        return named

    @classmethod
    def from_arrays(cls, named: Mapping[str, npt.NDArray[Any]]) -> "CardTables":
        """Strict inverse of :meth:`arrays`; raises :class:`EncodeError` naming what is missing or has another dtype."""
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
    inside = (ids >= -1) & (ids < len(table))
    positions = np.where(ids == -1, UNKNOWN, table[np.where(inside & (ids > 0), ids, 0)])
    bad = ~inside | (positions < 0)
    if bad.any():
        raise EncodeError(f"{what} id {int(ids[bad].flat[0])} is not in the tables of engine generation {generation}")
    return positions.astype(np.int32)
