"""The weights file, and an artifact's loading: what departs is refused by the name of file and array."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file, save_file

from tcg_core.encode.schema import SCHEMA
from tcg_core.model import torch_net
from tcg_core.model.architecture import MASK_VALUE
from tcg_core.model.config import ModelError
from tcg_core.model.init import initial_weights
from tcg_core.model.names import join_arrays
from tcg_core.model.tensors import TensorFileError, read_safetensors, read_with_metadata, safetensors_bytes
from tcg_core.model.torch_load import CONTRACT, WEIGHTS, load_artifact
from tests.model.synthetic import architecture, batch, tables

MANY = {
    "f": np.arange(6, dtype=np.float32).reshape(2, 3),
    "transposed": np.arange(6, dtype=np.float64).reshape(2, 3).T,
    "step": np.array(7, np.uint64),
    "empty": np.zeros((0, 3), np.int32),
    "flags": np.array([True, False]),
    "half": np.ones(3, np.float16),
    "long": np.array([-1, 2**40], np.int64),
    "byte": np.array([255], np.uint8),
}


def test_arrays_come_back_bit_for_bit_and_the_public_library_agrees(tmp_path: Path) -> None:
    path = tmp_path / "a.safetensors"
    path.write_bytes(safetensors_bytes(MANY, {"note": "é"}))
    ours, metadata = read_with_metadata(path)
    theirs = load_file(path)
    assert metadata == {"note": "é"}
    assert set(ours) == set(theirs) == set(MANY)
    for name, array in MANY.items():
        for found in (ours[name], theirs[name]):
            assert found.dtype == array.dtype
            assert found.shape == array.shape
            assert found.tobytes() == array.tobytes()
    save_file({name: np.ascontiguousarray(array) for name, array in MANY.items()}, tmp_path / "b.safetensors")
    assert {name: array.tobytes() for name, array in read_safetensors(tmp_path / "b.safetensors").items()} == {
        name: array.tobytes() for name, array in MANY.items()
    }
    assert safetensors_bytes(MANY) == safetensors_bytes(dict(reversed(MANY.items())))
    ours["f"][0, 0] = 9  # own memory


def raw(header: Any, data: bytes = b"") -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + data


ONE = {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}
BAD = {
    "empty file": (b"", "not a whole safetensors file"),
    "short header": (raw({"a": ONE})[:12], "not a whole safetensors file"),
    "huge header": ((2**40).to_bytes(8, "little") + b"{}", "not a whole safetensors file"),
    "no JSON": (raw(b"{,}"), "header is not JSON"),
    "a list": (raw([1]), "not a JSON object"),
    "truncated": (raw({"a": ONE}, b"\0" * 3), "arrays end at byte 4"),
    "trailing": (raw({"a": ONE}, b"\0" * 5), "arrays end at byte 4"),
    "hole": (raw({"a": {**ONE, "data_offsets": [4, 8]}}, b"\0" * 8), "'a' begins at byte 4, expected 0"),
    "overlap": (raw({"a": ONE, "b": ONE}, b"\0" * 4), "'b' begins at byte 0, expected 4"),
    "negative": (raw({"a": {**ONE, "data_offsets": [-4, 0]}}, b""), "not whole numbers"),
    "dtype": (raw({"a": {**ONE, "dtype": "BF16"}}, b"\0" * 4), "dtype 'BF16'"),
    "size": (raw({"a": {**ONE, "shape": [2]}}, b"\0" * 4), "does not fill"),
    "keys": (raw({"a": {"dtype": "F32"}}), "no dtype, shape and data_offsets"),
    "twice": (raw(b'{"a":1,"a":2}'), "'a' is there twice"),
    "metadata": (raw({"__metadata__": {"a": 1}}), "not text to text"),
}


@pytest.mark.parametrize("name", BAD)
def test_broken_file_is_refused(name: str, tmp_path: Path) -> None:
    data, message = BAD[name]
    path = tmp_path / "bad.safetensors"
    path.write_bytes(data)
    with pytest.raises(TensorFileError, match=message) as caught:
        read_safetensors(path)
    assert str(path) in str(caught.value)


def test_unknown_dtype_and_missing_file_are_refused(tmp_path: Path) -> None:
    with pytest.raises(TensorFileError, match="'c' of complex64"):
        safetensors_bytes({"c": np.zeros(1, np.complex64)})
    with pytest.raises(TensorFileError, match="nowhere"):
        read_safetensors(tmp_path / "nowhere")


Change = Callable[[dict[str, Any], dict[str, Any]], object]


def write_artifact(directory: Path, change: Change = lambda arrays, contract: None) -> Path:
    """A whole artifact of a fresh network, after ``change``."""
    arch, card_tables = architecture(), tables()
    arrays = join_arrays(initial_weights(arch, 1), card_tables)
    contract = {
        "contract_version": 1, "kind": "torch_policy", "dtype": "float32", "arch_config": arch.to_dict(), "schema": SCHEMA.digest,
        "tables": card_tables.digest, "generations": ["v1"], "mask_value": MASK_VALUE, "tolerance": 1e-4, "origin": {},
    }  # fmt: skip
    change(arrays, contract)
    directory.mkdir()
    (directory / WEIGHTS).write_bytes(safetensors_bytes(arrays))
    (directory / CONTRACT).write_text(json.dumps(contract))
    return directory


def test_artifact_loads_in_evaluation_and_answers_as_the_network_it_came_from(tmp_path: Path) -> None:
    net, card_tables, contract = load_artifact(write_artifact(tmp_path / "a"))
    assert not net.training
    assert card_tables.digest == tables().digest
    assert contract["generations"] == ["v1"]
    whole = torch_net.build(architecture(), 1)
    whole.set_tables(tables())
    data, memory = torch_net.as_torch(batch(4, 6, 3, 4, 5)), torch.zeros(4, 3, 16)
    assert (net(data, memory).logits - whole(data, memory).logits).abs().max() <= 1e-6


ARTIFACT_DEFECTS: dict[str, tuple[Change, str]] = {
    "missing leaf": (lambda a, c: a.pop("model.card.weight"), "leaf 'card.weight' is missing"),
    "extra leaf": (lambda a, c: a.update({"model.bonus": np.zeros(1, np.float32)}), "leaf 'bonus' is not of this architecture"),
    "wrong shape": (lambda a, c: a.update({"model.card_count": np.zeros(3, np.float32)}), r"leaf 'card_count' has shape \[3\]"),
    "half precision": (
        lambda a, c: a.update({"model.final_norm.weight": a["model.final_norm.weight"].astype(np.float16)}),
        "leaf 'final_norm.weight' is float16, expected float32",
    ),
    "foreign array": (lambda a, c: a.update({"optimizer.m": np.zeros(1, np.float32)}), "'optimizer.m' is under neither"),
    "missing table": (lambda a, c: a.pop("tables.attack_static"), "attack_static is missing"),
    "table dtype": (lambda a, c: a.update({"tables.card_index.v1": np.zeros(3, np.int64)}), "card_index.v1 is int64"),
    "edited table": (lambda a, c: a["tables.card_static"].__setitem__((3, 0), 9), "card tables digest"),
    "other schema": (lambda a, c: c.update({"schema": "0"}), "schema is '0'"),
    "other version": (lambda a, c: c.update({"contract_version": 2}), "contract_version is 2"),
    "missing key": (lambda a, c: c.pop("tolerance"), "key 'tolerance' is missing"),
    "unknown key": (lambda a, c: c.update({"x": 1}), "key 'x' is unknown"),
    "other layers": (lambda a, c: c["arch_config"]["model"].update({"layers": 3}), "leaf 'layers.2.attention_norm.weight' is"),
}


@pytest.mark.parametrize("name", ARTIFACT_DEFECTS)
def test_artifact_with_a_defect_is_refused_by_name(name: str, tmp_path: Path) -> None:
    change, message = ARTIFACT_DEFECTS[name]
    with pytest.raises(ModelError, match=message):
        load_artifact(write_artifact(tmp_path / "a", change))


def test_play_side_imports_nothing_beyond_the_sandbox() -> None:
    program = (
        "import sys; from tcg_core.model.torch_load import load_artifact\n"
        "ours = sorted(n for n in sys.modules if n.startswith('tcg_core.') and n.count('.') > 1)\n"
        "assert all(n.split('.')[1] in ('encode', 'model') for n in ours), ours\n"
        "third = {n.split('.')[0] for n in sys.modules} & {'mlx', 'safetensors', 'pyarrow', 'msgspec', 'dagster', 'duckdb'}\n"
        "assert not third, third; print(ours)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "tcg_core.model.bootstrap" not in done.stdout
