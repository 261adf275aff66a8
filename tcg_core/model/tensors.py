"""Named arrays as safetensors, read and written with numpy alone: the play sandbox has no safetensors package.

Format: 8 bytes little-endian header length, a JSON header (name -> dtype, shape, data_offsets; ``__metadata__`` text to
text), then the arrays, contiguous and in offset order. Loading executes nothing.
"""

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tcg_core.model.config import ModelError

_DTYPES = {
    "BOOL": "?", "U8": "u1", "I8": "i1", "U16": "<u2", "I16": "<i2", "U32": "<u4", "I32": "<i4",
    "U64": "<u8", "I64": "<i8", "F16": "<f2", "F32": "<f4", "F64": "<f8",
}  # fmt: skip
_CODES = {np.dtype(text): code for code, text in _DTYPES.items()}
_METADATA = "__metadata__"
#: The header of ours is some kilobytes; a longer one is not a weights file.
MAX_HEADER = 16 * 2**20


class TensorFileError(ModelError):
    """The bytes are not a safetensors file as specified; the message names file and array."""


def safetensors_bytes(arrays: Mapping[str, npt.NDArray[Any]], metadata: Mapping[str, str] | None = None) -> bytes:
    """The file of ``arrays``; a pure function of its arguments (names sorted). Raises :class:`TensorFileError` for a dtype."""
    header: dict[str, Any] = {_METADATA: dict(sorted(metadata.items()))} if metadata else {}
    parts, end = [], 0
    for name in sorted(arrays):
        array = np.asarray(arrays[name])
        little = array.dtype.newbyteorder("<")
        if name == _METADATA or little not in _CODES:
            raise TensorFileError(f"array {name!r} of {array.dtype} cannot be stored")
        data = array.astype(little, copy=False).tobytes()
        header[name] = {"dtype": _CODES[little], "shape": list(array.shape), "data_offsets": [end, end + len(data)]}
        parts.append(data)
        end += len(data)
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)
    return b"".join([len(text).to_bytes(8, "little"), text, *parts])


def read_safetensors(path: Path) -> dict[str, npt.NDArray[Any]]:
    """Name -> array (own, writable memory). Raises :class:`TensorFileError` naming file and array of any departure."""
    return read_with_metadata(path)[0]


def read_with_metadata(path: Path) -> tuple[dict[str, npt.NDArray[Any]], dict[str, str]]:
    """As :func:`read_safetensors`, and the text metadata of the file."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise TensorFileError(f"{path}: {error.strerror or error}") from None
    header, body = _header(path, data)
    metadata = header.pop(_METADATA, {})
    if not isinstance(metadata, dict) or not all(isinstance(text, str) for text in metadata.values()):
        raise TensorFileError(f"{path}: {_METADATA} is not text to text")
    spans = {name: _span(path, name, entry) for name, entry in header.items()}
    position = 0
    for name, (begin, end, _, _) in sorted(spans.items(), key=lambda item: item[1][:2]):
        if begin != position:
            raise TensorFileError(f"{path}: array {name!r} begins at byte {begin}, expected {position}")
        position = end
    if position != len(body):
        raise TensorFileError(f"{path}: arrays end at byte {position}, the file's data at {len(body)}")
    arrays = {name: np.frombuffer(body[b:e], dtype).reshape(shape).copy() for name, (b, e, dtype, shape) in spans.items()}
    return arrays, metadata


def _header(path: Path, data: bytes) -> tuple[dict[str, Any], memoryview]:
    length = int.from_bytes(data[:8], "little")
    if len(data) < 8 or length > min(MAX_HEADER, len(data) - 8):
        raise TensorFileError(f"{path}: {len(data)} bytes with a header of {length}: not a whole safetensors file")
    try:
        header = json.loads(data[8 : 8 + length], object_pairs_hook=lambda pairs: _unique(path, pairs))
    except (UnicodeDecodeError, json.JSONDecodeError) as error:
        raise TensorFileError(f"{path}: header is not JSON: {error}") from None
    if not isinstance(header, dict):
        raise TensorFileError(f"{path}: header is not a JSON object")
    return header, memoryview(data)[8 + length :]


def _unique(path: Path, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        names = [name for name, _ in pairs]
        raise TensorFileError(f"{path}: {next(n for n in names if names.count(n) > 1)!r} is there twice")
    return found


def _span(path: Path, name: str, entry: Any) -> tuple[int, int, np.dtype[Any], tuple[int, ...]]:
    if not isinstance(entry, dict) or set(entry) != {"dtype", "shape", "data_offsets"}:
        raise TensorFileError(f"{path}: array {name!r} has no dtype, shape and data_offsets")
    code, shape, offsets = entry["dtype"], entry["shape"], entry["data_offsets"]
    if not isinstance(code, str) or code not in _DTYPES:
        raise TensorFileError(f"{path}: array {name!r} has dtype {code!r}, expected one of {', '.join(_DTYPES)}")
    if not all(isinstance(items, list) and all(type(n) is int and n >= 0 for n in items) for items in (shape, offsets)):
        raise TensorFileError(f"{path}: array {name!r} has a shape or offsets that are not whole numbers")
    dtype = np.dtype(_DTYPES[code])
    if len(offsets) != 2 or offsets[1] - offsets[0] != dtype.itemsize * math.prod(shape):
        raise TensorFileError(f"{path}: array {name!r} of {code} {shape} does not fill bytes {offsets}")
    return offsets[0], offsets[1], dtype, tuple(shape)
