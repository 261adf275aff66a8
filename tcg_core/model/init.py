"""Initial weights as a pure function of (architecture, seed): every leaf draws from its own key, no ambient generator."""

import hashlib
import math
from typing import Any

import numpy as np
import numpy.typing as npt

from tcg_core.encode.cards import UNKNOWN_PRINT
from tcg_core.model.architecture import Architecture
from tcg_core.model.names import Leaf, weight_table

#: Standard deviation of embeddings and tokens: large enough that a token keeps its identity beside the first residual writes.
EMBEDDING_STD = 0.2
#: Tables by card or attack. No training row need hold an unknown card, and what is not trained would stay noise: without an
#: identity of its own, such a token is its zone, its count and its state.
_BY_ID = ("card.weight", "attack.weight")


def initial_weights(architecture: Architecture, seed: int) -> dict[str, npt.NDArray[np.float32]]:
    """Leaf name -> float32 array. Equal in every process and for both networks; another seed differs in every random leaf."""
    residual_scale = 1 / math.sqrt(2 * architecture.config.layers)
    return {name: _draw(leaf, seed, name, residual_scale) for name, leaf in weight_table(architecture).items()}


def _draw(leaf: Leaf, seed: int, name: str, residual_scale: float) -> npt.NDArray[np.float32]:
    if leaf.kind in ("bias", "structured"):
        return np.zeros(leaf.shape, np.float32)
    if leaf.kind == "gain":
        return np.ones(leaf.shape, np.float32)
    key = int.from_bytes(hashlib.sha256(f"init|{seed}|{name}".encode()).digest()[:16], "little")
    generator = np.random.Generator(np.random.Philox(key=key))
    array: npt.NDArray[Any]
    if leaf.kind in ("padded", "embedding"):
        array = generator.normal(0.0, EMBEDDING_STD, leaf.shape)
        if leaf.kind == "padded":
            array[0] = 0.0
        if name in _BY_ID:
            array[UNKNOWN_PRINT] = 0.0
        return array.astype(np.float32)
    bound = 1 / math.sqrt(leaf.shape[1])
    array = generator.uniform(-bound, bound, leaf.shape)
    return (array * (residual_scale if leaf.kind == "residual" else 1.0)).astype(np.float32)
