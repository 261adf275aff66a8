"""Arrow schema of a day file, derived from SCHEMA: explicit, so that a column that is empty all day keeps its type.

Ragged streams are lists of small integers; one with ``width`` values an item is a flat list of items x width.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from tcg_core.encode.columns import Columns
from tcg_core.encode.schema import ENCODER_VERSION, SCHEMA, SCHEMA_VERSION, Schema, Stream
from tcg_core.rows.errors import SchemaMismatch

DIGEST_KEY, GENERATIONS_KEY, DAY_KEY = "tcg.schema_digest", "tcg.generations", "tcg.day"


def arrow_type(stream: Stream) -> Any:
    """The Arrow type of a stream."""
    if stream.dtype == "str":
        return pa.dictionary(pa.int32(), pa.utf8())
    value = pa.bool_() if stream.dtype == "bool" else pa.from_numpy_dtype(np.dtype(stream.dtype))
    if stream.kind == "scalar":
        return value
    element = pa.field("element", value, nullable=False)
    return pa.list_(element, stream.width) if stream.kind == "fixed" else pa.list_(element)


def arrow_schema(schema: Schema = SCHEMA, streams: Iterable[str] | None = None) -> Any:
    """The Arrow schema of all streams (or of the named ones, in the schema's order), without metadata."""
    names = None if streams is None else set(streams)
    if names and (unknown := sorted(names - set(schema.by_name))):
        raise SchemaMismatch(f"there is no stream {unknown[0]}; streams: {', '.join(schema.by_name)}")
    chosen = [stream for stream in schema.streams if names is None or stream.name in names]
    return pa.schema([pa.field(stream.name, arrow_type(stream), nullable=False) for stream in chosen])


ARROW_SCHEMA = arrow_schema()


def file_metadata(day: str, generations: Iterable[str]) -> dict[str, str]:
    """What a day file says of itself in its key-value metadata."""
    return {
        DIGEST_KEY: SCHEMA.digest,
        "tcg.schema_version": str(SCHEMA_VERSION),
        "tcg.encoder_version": ENCODER_VERSION,
        GENERATIONS_KEY: "+".join(sorted(generations)),
        DAY_KEY: day,
    }


def text_metadata(metadata: Mapping[bytes, bytes] | None) -> dict[str, str]:
    """Our part of a file's metadata, as text."""
    return {key.decode(): value.decode() for key, value in (metadata or {}).items() if key.startswith(b"tcg.")}


def to_table(columns: Columns, schema: Schema = SCHEMA) -> Any:
    """An Arrow table of all streams that ``columns`` holds, in the schema's order."""
    names = [stream.name for stream in schema.streams if stream.name in columns.values]
    arrays = [_to_array(schema.by_name[name], columns) for name in names]
    return pa.Table.from_arrays(arrays, schema=arrow_schema(schema, names))


def from_table(table: Any, schema: Schema = SCHEMA) -> Columns:
    """Columns of all streams of an Arrow table; numbers are views of Arrow's memory where the table is one chunk.

    Raises :class:`SchemaMismatch` naming a column of another type, with nulls, or whose lengths are not its group's.
    """
    values: dict[str, Any] = {}
    offsets: dict[str, Any] = {}
    for name in table.column_names:
        if name not in schema.by_name:
            raise SchemaMismatch(f"column {name} is no stream of the schema")
        stream, column = schema.by_name[name], table.column(name)
        if column.type != arrow_type(stream):
            raise SchemaMismatch(f"column {name} is {column.type}, expected {arrow_type(stream)}")
        if column.null_count:
            raise SchemaMismatch(f"column {name} holds {column.null_count} nulls")
        array = (
            column.chunk(0)
            if column.num_chunks == 1
            else pa.concat_arrays(column.chunks)
            if column.num_chunks
            else pa.array([], column.type)
        )
        if stream.kind != "ragged":
            values[name] = _flat(stream, array)
            continue
        bounds, values[name] = _ragged(stream, array)
        group = stream.group or name
        if group in offsets and not np.array_equal(offsets[group], bounds):
            raise SchemaMismatch(f"column {name}: list lengths differ from those of its group {group}")
        offsets.setdefault(group, bounds)
    return Columns(table.num_rows, values, offsets)


def _to_array(stream: Stream, columns: Columns) -> Any:
    values = columns.values[stream.name]
    if stream.dtype == "str":
        return pa.array(values, pa.utf8()).dictionary_encode()
    flat = pa.array(np.ascontiguousarray(values).reshape(-1))
    if stream.kind == "scalar":
        return flat
    if stream.kind == "fixed":
        return pa.FixedSizeListArray.from_arrays(flat, type=arrow_type(stream))
    bounds = columns.offsets[stream.group or stream.name] * stream.width
    if bounds[-1] >= 2**31:
        raise SchemaMismatch(
            f"stream {stream.name}: {bounds[-1]} values do not fit one Arrow list array; write smaller row groups"
        )
    return pa.ListArray.from_arrays(pa.array(bounds.astype(np.int32)), flat, type=arrow_type(stream))


def _flat(stream: Stream, array: Any) -> Any:
    if stream.dtype == "str":
        words = np.array([*array.dictionary.to_pylist(), None], dtype=object)[:-1]
        return words[array.indices.to_numpy(zero_copy_only=False)]
    if stream.kind == "fixed":
        return array.flatten().to_numpy(zero_copy_only=False).reshape(len(array), stream.width)
    return array.to_numpy(zero_copy_only=False)


def _ragged(stream: Stream, array: Any) -> tuple[Any, Any]:
    bounds = array.offsets.to_numpy().astype(np.int64)
    flat = array.flatten().to_numpy(zero_copy_only=False)
    bounds = bounds - bounds[0] if len(bounds) else np.zeros(1, np.int64)
    if stream.width == 1:
        return bounds, flat
    if (bounds % stream.width).any():
        raise SchemaMismatch(f"column {stream.name}: a list is no multiple of {stream.width} values long")
    return bounds // stream.width, flat.reshape(-1, stream.width)
