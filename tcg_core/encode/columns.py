"""Rows in memory, by column: the one form between encoder, Parquet, batch builder and play."""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tcg_core.encode.digest import rows_digest
from tcg_core.encode.errors import EncodeError
from tcg_core.encode.schema import SCHEMA, Schema, Stream
from tcg_core.encode.would_ko import MEMORY_SCHEMA

Array = npt.NDArray[Any]


def numpy_dtype(stream: Stream) -> np.dtype[Any]:
    """The numpy dtype of a stream; text is object."""
    return np.dtype(object) if stream.dtype == "str" else np.dtype(stream.dtype)


@dataclass(frozen=True)
class Columns:
    """``rows`` rows of the streams in ``values``.

    values[name]: scalar [rows], fixed [rows, width], ragged [items] or [items, width];
    offsets[group]: int64 [rows + 1], items of row r are offsets[r] : offsets[r + 1].
    """

    rows: int
    values: Mapping[str, Array]
    offsets: Mapping[str, Array]

    def __getitem__(self, name: str) -> Array:
        return self.values[name]

    def lengths(self, group: str) -> Array:
        """Items per row of a ragged group, int64 [rows]."""
        return np.diff(self.offsets[group])

    def take(self, index: Array) -> "Columns":
        """The rows at ``index`` (int [n]), in that order."""
        index = np.asarray(index, dtype=np.int64)
        gathers, offsets = {}, {}
        for group, bounds in self.offsets.items():
            lengths = np.diff(bounds)[index]
            ends = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
            offsets[group] = ends
            gathers[group] = np.arange(ends[-1]) - np.repeat(ends[:-1] - bounds[:-1][index], lengths)
        values = {}
        for name, array in self.values.items():
            owner = MEMORY_SCHEMA.by_name[name].group
            values[name] = array[gathers[owner]] if owner else array[index]
        return Columns(len(index), values, offsets)

    def digest(self) -> str:
        """Hex SHA-256 of the logical rows (:mod:`tcg_core.encode.digest`)."""
        return rows_digest((self,))

    def nbytes(self) -> int:
        """Bytes held, text counted as one 4-byte dictionary index."""
        held = sum(4 * array.size if array.dtype == object else array.nbytes for array in self.values.values())
        return held + sum(array.nbytes for array in self.offsets.values())

    @staticmethod
    def concatenate(parts: Sequence["Columns"]) -> "Columns":
        """Rows of all parts in order; all must hold the same streams."""
        if not parts:
            raise EncodeError("no parts to concatenate")
        values = {name: np.concatenate([part.values[name] for part in parts]) for name in parts[0].values}
        offsets = {}
        for group in parts[0].offsets:
            lengths = np.concatenate([part.lengths(group) for part in parts])
            offsets[group] = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
        return Columns(sum(part.rows for part in parts), values, offsets)

    @staticmethod
    def from_rows(rows: Sequence[Mapping[str, Any]], schema: Schema = SCHEMA) -> "Columns":
        """Builds columns from row dictionaries (ragged streams as sequences); every stream present in the first row
        must be present in all. Raises :class:`EncodeError` naming a stream whose length differs within its group."""
        names = [stream for stream in schema.streams if rows and stream.name in rows[0]]
        values: dict[str, Array] = {}
        offsets: dict[str, Array] = {}
        for stream in names:
            try:
                parts = [row[stream.name] for row in rows]
                if stream.kind != "ragged":
                    shape = (len(rows),) if stream.kind == "scalar" else (len(rows), stream.width)
                    values[stream.name] = np.array(parts, dtype=numpy_dtype(stream)).reshape(shape)
                    continue
                ends = np.zeros(len(rows) + 1, np.int64)
                np.cumsum([len(part) for part in parts], out=ends[1:])
                group = stream.group or stream.name
                if group in offsets and not np.array_equal(offsets[group], ends):
                    raise EncodeError(f"stream {stream.name}: lengths differ from those of its group {group}")
                offsets[group] = ends
                values[stream.name] = _flat(parts, stream, int(ends[-1]))
            except KeyError:
                raise EncodeError(f"stream {stream.name} is missing in some rows") from None
            except (OverflowError, TypeError) as error:
                raise EncodeError(f"stream {stream.name}: {error}") from error
        return Columns(len(rows), values, offsets)


def _flat(parts: Sequence[Any], stream: Stream, items: int) -> Array:
    """All items of a ragged stream, one after the other: [items] or [items, width]."""
    flat = itertools.chain.from_iterable(parts)
    if stream.width == 1:
        return np.fromiter(flat, numpy_dtype(stream), items)
    values = np.fromiter(itertools.chain.from_iterable(flat), numpy_dtype(stream), items * stream.width)
    return values.reshape(items, stream.width)
