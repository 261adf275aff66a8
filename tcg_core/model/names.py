"""The one table of weight names: shape, kind and optimizer group of every learned leaf, shared by both networks.

Static card tables are buffers, not leaves: they are stored under ``tables.*`` beside the weights (``model.*``).
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from tcg_core.encode.cards import CardTables
from tcg_core.encode.schema import (
    ATTACHED_KINDS,
    CARD_FLAGS,
    CARD_ZONES,
    GLOBALS,
    OPTION_ATTRIBUTES,
    SCHEMA,
    UNIT_ATTRIBUTES,
    UNIT_ZONES,
)
from tcg_core.encode.would_ko import INPUT_ENTRIES
from tcg_core.model.architecture import Architecture
from tcg_core.model.config import ModelError
from tcg_core.model.heads import HEAD_LEAF

MODEL_PREFIX, TABLE_PREFIX = "model.", "tables."

#: Leaves only a structured network has; they decay by a weight of their own.
STRUCTURED = ("type_query", "type_bias")

Kind = Literal["padded", "embedding", "matrix", "residual", "bias", "gain", "head", "structured"]
Group = Literal["muon", "adamw"]
Arrays = Mapping[str, npt.NDArray[Any]]


@dataclass(frozen=True)
class Leaf:
    """One learned float32 array.

    kind: ``padded`` an embedding whose row 0 is the zero vector and gets no gradient, ``embedding`` a table, token or
    vector used as it is, ``matrix`` a hidden matrix [out, in], ``residual`` one that writes into the residual stream,
    ``bias``, ``gain`` of a norm, ``head`` an output or auxiliary head, ``structured`` what an option type adds to the
    option head: zero at first, so that a structured network starts as the plain one and decays towards it.
    """

    shape: tuple[int, ...]
    kind: Kind

    @property
    def size(self) -> int:
        """Number of elements."""
        return math.prod(self.shape)

    @property
    def group(self) -> Group:
        """Muon for hidden matrices; AdamW for embeddings, heads, vectors and scalars."""
        return "muon" if self.kind in ("matrix", "residual") else "adamw"


def weight_table(architecture: Architecture) -> dict[str, Leaf]:
    """Every leaf by name, in a fixed order.

    Attention has biases on query, value and output; a key bias would shift all scores of a query alike, which the
    softmax cancels, so it would be a dead parameter. The option head has none for the same reason: only the distance
    to the stop logit matters, and that has one.
    """
    config = architecture.config
    d = config.d_model
    table = {
        "card.weight": Leaf((architecture.cards, d), "padded"),
        "attack.weight": Leaf((architecture.attacks, d), "padded"),
        "card_zone.weight": Leaf((len(CARD_ZONES) + 1, d), "padded"),
        "card_flag.weight": Leaf((len(CARD_FLAGS), d), "padded"),
        "card_count": Leaf((d,), "embedding"),
        "unit_zone.weight": Leaf((len(UNIT_ZONES) + 1, d), "padded"),
        "unit_attributes.weight": Leaf((d, len(UNIT_ATTRIBUTES)), "matrix"),
        "attached_kind.weight": Leaf((len(ATTACHED_KINDS) + 1, d), "padded"),
        "attached.weight": Leaf((d, d), "matrix"),
        "select_type.weight": Leaf((_values("select_type"), d), "embedding"),
        "select_context.weight": Leaf((_values("select_context"), d), "embedding"),
        "globals.weight": Leaf((d, len(GLOBALS)), "matrix"),
        "option_type.weight": Leaf((_values("option_type") + 1, d), "padded"),
        "option_references.weight": Leaf((d, 4 * d), "matrix"),
        "option_attributes.weight": Leaf((d, len(OPTION_ATTRIBUTES)), "matrix"),
        "head_tokens": Leaf((architecture.head_tokens, d), "embedding"),
        "register_tokens": Leaf((config.registers, d), "embedding"),
        "memory_start": Leaf((config.registers, d), "embedding"),
    }
    if config.static:
        table["card_static.weight"] = Leaf((d, architecture.card_width), "matrix")
        table["attack_static.weight"] = Leaf((d, architecture.attack_width), "matrix")
    if config.would_ko:
        table["option_would_ko.weight"] = Leaf((d, len(INPUT_ENTRIES)), "matrix")
    for index in range(config.layers):
        table |= _layer(f"layers.{index}", d, config.ff)
    table |= _norm("final_norm", d)
    table |= _linear("memory_gate", d, 2 * d)
    table |= _linear("option_hidden", d, d)
    table["policy_hidden.weight"] = Leaf((d, d), "matrix")
    table["option_head.weight"] = Leaf((1, d), "head")
    if config.structured:
        types = table["option_type.weight"].shape[0]
        table |= {"type_query": Leaf((types, d), "structured"), "type_bias": Leaf((types,), "structured")}
    for name in ("stop_head", *(HEAD_LEAF[head] for head in architecture.heads)):
        table |= {f"{name}.weight": Leaf((1, d), "head"), f"{name}.bias": Leaf((1,), "bias")}
    return table


def check_weights(architecture: Architecture, weights: Arrays, source: str) -> None:
    """Raises :class:`ModelError` naming the first leaf that is missing, extra, of another shape or not float32, or not finite.

    weights: leaf name (without prefix) -> array; source: what the weights came from, for the message.
    """
    table = weight_table(architecture)
    for name, leaf in table.items():
        if name not in weights:
            raise ModelError(f"{source}: leaf {name!r} is missing")
        array = weights[name]
        if array.dtype != np.float32:
            raise ModelError(f"{source}: leaf {name!r} is {array.dtype.name}, expected float32")
        if array.shape != leaf.shape:
            raise ModelError(f"{source}: leaf {name!r} has shape {list(array.shape)}, expected {list(leaf.shape)}")
        if not np.isfinite(array).all():
            raise ModelError(f"{source}: leaf {name!r} is not finite")
    for name in weights:
        if name not in table:
            raise ModelError(f"{source}: leaf {name!r} is not of this architecture")


def join_arrays(weights: Arrays, tables: CardTables) -> dict[str, npt.NDArray[Any]]:
    """Weights and card tables as one dictionary for a file: ``model.<leaf>`` and ``tables.<table>``."""
    return {MODEL_PREFIX + k: v for k, v in weights.items()} | {TABLE_PREFIX + k: v for k, v in tables.arrays().items()}


def split_arrays(arrays: Arrays, source: str) -> tuple[dict[str, npt.NDArray[Any]], CardTables]:
    """Inverse of :func:`join_arrays`; raises :class:`ModelError` naming an array under neither prefix."""
    weights, tables = {}, {}
    for name, array in arrays.items():
        if name.startswith(MODEL_PREFIX):
            weights[name.removeprefix(MODEL_PREFIX)] = array
        elif name.startswith(TABLE_PREFIX):
            tables[name.removeprefix(TABLE_PREFIX)] = array
        else:
            raise ModelError(f"{source}: array {name!r} is under neither {MODEL_PREFIX!r} nor {TABLE_PREFIX!r}")
    return weights, CardTables.from_arrays(tables)


def group_sizes(architecture: Architecture) -> dict[Group, int]:
    """Learned elements by optimizer group."""
    sizes: dict[Group, int] = {"muon": 0, "adamw": 0}
    for leaf in weight_table(architecture).values():
        sizes[leaf.group] += leaf.size
    return sizes


def _values(stream: str) -> int:
    high = SCHEMA.by_name[stream].high
    assert high is not None
    return int(high) + 1


def _linear(name: str, out: int, into: int, kind: Kind = "matrix") -> dict[str, Leaf]:
    return {f"{name}.weight": Leaf((out, into), kind), f"{name}.bias": Leaf((out,), "bias")}


def _norm(name: str, d: int) -> dict[str, Leaf]:
    return {f"{name}.weight": Leaf((d,), "gain"), f"{name}.bias": Leaf((d,), "bias")}


def _layer(name: str, d: int, ff: int) -> dict[str, Leaf]:
    return {
        **_norm(f"{name}.attention_norm", d),
        **_linear(f"{name}.query", d, d),
        f"{name}.key.weight": Leaf((d, d), "matrix"),
        **_linear(f"{name}.value", d, d),
        **_linear(f"{name}.output", d, d, "residual"),
        **_norm(f"{name}.feed_norm", d),
        **_linear(f"{name}.feed_in", ff, d),
        **_linear(f"{name}.feed_out", d, ff, "residual"),
    }
