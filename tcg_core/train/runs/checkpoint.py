"""Checkpoints: safetensors and JSON, published whole; loading one executes no code and needs no other file.

``checkpoints/RUN/step_N/`` holds weights.safetensors (``model.<leaf>``, ``tables.<table>``), optimizer.safetensors,
memories.safetensors (lane memories, when written inside an epoch), state.json and manifest.json.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file

from tcg_core.base.atomic import naming, write_json
from tcg_core.base.errors import IntegrityError
from tcg_core.base.manifest import Input, Manifest, verify_files
from tcg_core.base.stage import Stage, make
from tcg_core.encode.cards import CardTables
from tcg_core.encode.columns import Array
from tcg_core.model.architecture import Architecture
from tcg_core.model.names import check_weights, join_arrays, split_arrays

KIND = "checkpoint_step"
WEIGHTS, OPTIMIZER, MEMORIES, STATE = "weights.safetensors", "optimizer.safetensors", "memories.safetensors", "state.json"
_LANES, _MEMORY = "lanes", "memory"


@dataclass(frozen=True)
class Payload:
    """All arrays of a checkpoint and its state. memories: lane -> float32 [registers, d_model]."""

    weights: dict[str, Array]
    tables: CardTables
    optimizer: dict[str, Array]
    memories: dict[int, Array]
    state: dict[str, Any]


def step_name(update: int, validated: bool = True) -> str:
    """Directory of the checkpoint written after an update; one of an epoch whose rows are done but not validated has another
    name than the one that follows it without an update between."""
    return f"step_{update:08d}" + ("" if validated else "_open")


def write_step(directory: Path, payload: Payload, inputs: tuple[Input, ...]) -> Manifest:
    """Publishes one checkpoint directory and returns its manifest; an intact one is left as it is.

    Raises :class:`NotWritten` naming the file for which there was no room.
    """

    def write(temporary: Path) -> dict[str, Any]:
        def save(name: str, arrays: dict[str, Array]) -> None:
            with naming(directory / name, SafetensorError):
                save_file(_contiguous(arrays), temporary / name)

        save(WEIGHTS, join_arrays(payload.weights, payload.tables))
        save(OPTIMIZER, payload.optimizer)
        if payload.memories:
            lanes = sorted(payload.memories)
            stacked = {_LANES: np.array(lanes, np.int64), _MEMORY: np.stack([payload.memories[lane] for lane in lanes])}
            save(MEMORIES, stacked)
        write_json(temporary / STATE, payload.state)
        return {}

    identity = f"{payload.state['run']}/{directory.name}"
    config = {"plan": payload.state["plan"], "arch_config": payload.state["arch_config"]}
    return make(Stage.named("mlx_checkpoint", KIND, identity, directory, inputs, config), write).manifest


def read_step(directory: Path) -> Payload:
    """Reads a whole checkpoint back, every file verified against its manifest.

    Raises :class:`IntegrityError` naming a file that is not as written, :class:`ModelError` naming a leaf.
    """
    verify_files(directory)
    _, weights, tables, state = load_weights(directory)
    memories: dict[int, Array] = {}
    if (directory / MEMORIES).is_file():
        stacked = load_file(directory / MEMORIES)
        memories = {int(lane): stacked[_MEMORY][i] for i, lane in enumerate(stacked[_LANES])}
    return Payload(weights, tables, load_file(directory / OPTIMIZER), memories, state)


def load_weights(directory: Path) -> tuple[Architecture, dict[str, Array], CardTables, dict[str, Any]]:
    """Architecture, leaves (without prefix), card tables and state of ``step_N``; strict.

    Raises :class:`IntegrityError` naming a file that is missing or whose tables are not those of the state,
    :class:`ModelError` naming a leaf that is missing, extra, of another shape, not float32 or not finite.
    """
    for name in (WEIGHTS, STATE):
        if not (directory / name).is_file():
            raise IntegrityError(f"{directory / name} is missing: not a checkpoint")
    state: dict[str, Any] = json.loads((directory / STATE).read_text())
    architecture = Architecture.from_dict(state["arch_config"])
    weights, tables = split_arrays(load_file(directory / WEIGHTS), str(directory / WEIGHTS))
    if tables.digest != state["cards_digest"]:
        raise IntegrityError(
            f"{directory / WEIGHTS}: card tables {tables.digest[:12]}, state.json expects {state['cards_digest'][:12]}"
        )
    architecture.check_tables(tables)
    check_weights(architecture, weights, str(directory / WEIGHTS))
    return architecture, weights, tables, state


def _contiguous(arrays: dict[str, Array]) -> dict[str, Array]:
    return {name: np.ascontiguousarray(array) for name, array in arrays.items()}
