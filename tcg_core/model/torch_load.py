"""Loads a converted artifact for play, strictly: every leaf, table and contract value is checked by name.

Part of the packed submission: imports the standard library, numpy, torch, ``encode`` and plain modules of ``model``.
"""

import json
from pathlib import Path
from typing import Any

from tcg_core.encode.cards import CardTables
from tcg_core.encode.errors import EncodeError
from tcg_core.encode.schema import SCHEMA
from tcg_core.model.architecture import MASK_VALUE, Architecture
from tcg_core.model.config import ModelError
from tcg_core.model.names import split_arrays
from tcg_core.model.tensors import read_safetensors
from tcg_core.model.torch_net import TorchNet, restore_net

WEIGHTS, CONTRACT, REFERENCE = "weights.safetensors", "contract.json", "reference.safetensors"
CONTRACT_VERSION = 1
#: Keys of ``contract.json``. generations: engine generations the policy was trained for; tolerance: largest accepted
#: difference of replayed reference values, declared before any was measured; origin: run, step and which checkpoint.
CONTRACT_KEYS = (
    "contract_version", "kind", "dtype", "arch_config", "schema", "tables", "generations", "mask_value", "tolerance", "origin",
)  # fmt: skip


def load_artifact(directory: Path) -> tuple[TorchNet, CardTables, dict[str, Any]]:
    """(network in evaluation, card tables, contract) of an artifact directory.

    Raises :class:`ModelError` naming the file and what is wrong: a contract of another schema, version or table digest,
    a leaf that is missing, extra, of another shape or not float32, an id table that is not int32.
    """
    contract = read_contract(directory / CONTRACT)
    path = directory / WEIGHTS
    weights, tables = read_weights(path)
    if tables.digest != contract["tables"]:
        raise ModelError(f"{path}: card tables digest {tables.digest[:12]}, contract says {str(contract['tables'])[:12]}")
    architecture = Architecture.from_dict(contract["arch_config"])
    net = restore_net(architecture, weights, str(path))
    net.set_tables(tables)
    return net.freeze(), tables, contract


def read_weights(path: Path) -> tuple[dict[str, Any], CardTables]:
    """(leaves by name, card tables) of a weights file; raises :class:`ModelError` naming the file and the array."""
    try:
        return split_arrays(read_safetensors(path), str(path))
    except EncodeError as error:
        raise ModelError(f"{path}: {error}") from None


def read_contract(path: Path) -> dict[str, Any]:
    """The contract, checked against this code; raises :class:`ModelError` naming file and key."""
    try:
        contract = json.loads(path.read_text())
    except (OSError, ValueError) as error:
        raise ModelError(f"{path} is not a contract: {error}") from None
    for key in sorted(set(contract) ^ set(CONTRACT_KEYS)):
        raise ModelError(f"{path}: key {key!r} is {'unknown' if key in contract else 'missing'}")
    expected = {
        "contract_version": CONTRACT_VERSION, "kind": "torch_policy", "dtype": "float32",
        "schema": SCHEMA.digest, "mask_value": MASK_VALUE,
    }  # fmt: skip
    for key, value in expected.items():
        if contract[key] != value:
            raise ModelError(f"{path}: {key} is {contract[key]!r}, this code plays {value!r}")
    return dict(contract)
