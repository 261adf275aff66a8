"""The padded batch as both networks read it: names, dtypes and axes of ``encode.collate``, and what is refused of one."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from tcg_core.encode.schema import GLOBALS, OPTION_ATTRIBUTES, UNIT_ATTRIBUTES
from tcg_core.encode.would_ko import INPUT_ENTRIES
from tcg_core.model.config import ModelConfig, ModelError

#: Inputs of the networks: name -> (dtype, axes). B rows, C cards, U units, A attached, O options, S = O + 1 (last: STOP).
INPUTS: dict[str, tuple[str, tuple[str | int, ...]]] = {
    "globals": ("float32", ("B", len(GLOBALS))),
    "select_type": ("int32", ("B",)),
    "select_context": ("int32", ("B",)),
    "card_zone": ("int32", ("B", "C")),
    "card_index": ("int32", ("B", "C")),
    "card_count": ("float32", ("B", "C")),
    "card_flag": ("int32", ("B", "C")),
    "unit_zone": ("int32", ("B", "U")),
    "unit_index": ("int32", ("B", "U")),
    "unit_attributes": ("float32", ("B", "U", len(UNIT_ATTRIBUTES))),
    "attached_unit": ("int32", ("B", "A")),
    "attached_kind": ("int32", ("B", "A")),
    "attached_index": ("int32", ("B", "A")),
    "option_type": ("int32", ("B", "O")),
    "option_source": ("int32", ("B", "O")),
    "option_target": ("int32", ("B", "O")),
    "option_card": ("int32", ("B", "O")),
    "option_target_card": ("int32", ("B", "O")),
    "option_attack": ("int32", ("B", "O")),
    "option_attributes": ("float32", ("B", "O", len(OPTION_ATTRIBUTES))),
    "legal": ("bool", ("B", "S")),
}
#: The input of networks built with ``would_ko`` only.
WOULD_KO = "option_would_ko"
WOULD_KO_INPUTS: dict[str, tuple[str, tuple[str | int, ...]]] = {WOULD_KO: ("float32", ("B", "O", len(INPUT_ENTRIES)))}


def input_names(config: ModelConfig) -> tuple[str, ...]:
    """Names of the inputs that a network of this configuration reads."""
    return (*INPUTS, *(WOULD_KO_INPUTS if config.would_ko else ()))


class Output(NamedTuple):
    """What a network says of B rows.

    logits: [B, O + 1], STOP last, illegal entries exactly ``MASK_VALUE``; aux: head -> [B], logits of ``ko`` and
    ``terminal``, prizes of ``prize``, return of ``value``; memory: [B, registers, d_model] for the next decision.
    """

    logits: Any
    aux: dict[str, Any]
    memory: Any


def check_batch(batch: Mapping[str, np.ndarray[Any, Any]]) -> None:
    """Raises :class:`ModelError` naming an input that is missing, of another dtype or shape, or a row with no legal answer.

    An input that only some networks read may be absent; those that do miss it themselves (:func:`looks_of`)."""
    sizes: dict[str, int] = {}
    extra = {name: form for name, form in WOULD_KO_INPUTS.items() if name in batch}
    for name, (dtype, axes) in (INPUTS | extra).items():
        if name not in batch:
            raise ModelError(f"batch: input {name!r} is missing")
        array = batch[name]
        if array.dtype.name != dtype:
            raise ModelError(f"batch: input {name!r} is {array.dtype.name}, expected {dtype}")
        named = zip(axes, array.shape, strict=False)
        expected = [axis if isinstance(axis, int) else sizes.setdefault(axis, length) for axis, length in named]
        if list(array.shape) != expected or len(axes) != array.ndim:
            raise ModelError(f"batch: input {name!r} has shape {list(array.shape)}, expected {list(axes)} with {sizes}")
    if sizes["S"] != sizes["O"] + 1:
        raise ModelError(f"batch: legal has {sizes['S']} answers for {sizes['O']} options, expected {sizes['O'] + 1}")
    check_legal(batch["legal"])


def check_legal(legal: np.ndarray[Any, Any]) -> None:
    """Raises :class:`ModelError` naming the first row of ``legal`` (bool [B, O + 1]) without a legal answer."""
    lacking = np.flatnonzero(~legal.any(axis=1))
    if lacking.size:
        raise ModelError(f"batch: row {int(lacking[0])} has no legal answer among {legal.shape[1]}")


def looks_of(batch: Mapping[str, Any]) -> Any:
    """``option_would_ko`` [B, O, L] of a batch; raises :class:`ModelError` where there is none: zeros would not mean the same."""
    if WOULD_KO not in batch:
        raise ModelError(f"batch: input {WOULD_KO!r} is missing, which a network with model.would_ko reads")
    return batch[WOULD_KO]
