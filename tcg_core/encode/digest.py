"""The one hash of logical rows: streams, types and values, whatever file they came from and however it was cut.

Compression, row groups, encodings and metadata of a file are outside it, so that a rewritten file has the hash of the rows
that it holds. Each stream is hashed by itself while rows arrive; the parts are joined at the end.
"""

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
_TEXT = "str"


class AnyColumns(Protocol):
    """Rows by column, as :class:`~tcg_core.encode.columns.Columns` holds them."""

    @property
    def rows(self) -> int: ...
    @property
    def values(self) -> Mapping[str, Array]: ...
    @property
    def offsets(self) -> Mapping[str, Array]: ...


class RowsDigest:
    """The hash of all rows added so far, in order. Every part must hold the same streams."""

    def __init__(self) -> None:
        self._rows = 0
        self._values: dict[str, Any] = {}
        self._lengths: dict[str, Any] = {}
        self._described: dict[str, str] = {}
        self._words: dict[str, bytes] = {}

    def add(self, part: AnyColumns) -> None:
        """Adds the rows of ``part``; raises ValueError naming a stream that another part had with another type or not at all."""
        described = {name: _description(array) for name, array in part.values.items()}
        if self._values and described != self._described:
            name = min(set(described.items()) ^ set(self._described.items()))[0]
            raise ValueError(f"stream {name}: {described.get(name, 'absent')}, before it {self._described.get(name, 'absent')}")
        self._described = described
        self._rows += part.rows
        for name, array in part.values.items():
            self._values.setdefault(name, hashlib.sha256()).update(self._bytes(array))
        for group, bounds in part.offsets.items():
            lengths = np.diff(bounds).astype("<i8")
            self._lengths.setdefault(group, hashlib.sha256()).update(lengths.data)

    def hexdigest(self) -> str:
        """Hex SHA-256 over number of rows, and of each stream its name, type and values."""
        total = hashlib.sha256(f"rows|{self._rows}\n".encode())
        for name, values in sorted(self._values.items()):
            total.update(f"{name}|{self._described[name]}|{values.hexdigest()}\n".encode())
        for group, lengths in sorted(self._lengths.items()):
            total.update(f"{group}|{lengths.hexdigest()}\n".encode())
        return total.hexdigest()

    def _bytes(self, array: Array) -> Any:
        """The values as one buffer: numbers little-endian in order, each text as 16 bytes of its own SHA-256."""
        if array.dtype != object:
            return np.ascontiguousarray(array.astype(array.dtype.newbyteorder("<"), copy=False)).data
        for word in set(array.tolist()) - self._words.keys():
            self._words[word] = hashlib.sha256(word.encode()).digest()[:16]
        return b"".join(map(self._words.__getitem__, array.tolist()))


def rows_digest(parts: Iterable[AnyColumns]) -> str:
    """Hex SHA-256 of the rows of all parts, in order; the cut between the parts does not enter."""
    total = RowsDigest()
    for part in parts:
        total.add(part)
    return total.hexdigest()


def _description(array: Array) -> str:
    """Type and width of a stream, as text."""
    kind = _TEXT if array.dtype == object else array.dtype.newbyteorder("<").str
    return f"{kind}|{array.shape[1] if array.ndim == 2 else 1}"
