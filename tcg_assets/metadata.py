"""What a person sees of a materialization: numbers, hashes, inputs, the table's columns, plots."""

import base64
from pathlib import Path
from typing import Any

import dagster as dg

from tcg_core.built import Built
from tcg_core.catalog.registry import plain
from tcg_core.encode.schema import SCHEMA
from tcg_core.provenance import MANIFEST, Manifest, read_manifest

#: An image sits in a row of Dagster's SQLite; larger ones are named by path only.
INLINE_BYTES = 50_000


def describe(built: Built, seconds: float, *, partitioned: bool, table: str | None) -> dict[str, Any]:
    """All metadata of one artifact, in Dagster's types."""
    metadata: dict[str, Any] = {
        "id": dg.MetadataValue.text(built.id),
        "path": dg.MetadataValue.path(built.path),
        "reused": dg.MetadataValue.bool(built.reused),
        "seconds": dg.MetadataValue.float(round(seconds, 3)),
        "bytes": dg.MetadataValue.int(_bytes(built.path)),
    }
    manifest = manifest_of(built)
    if manifest is not None:
        metadata["content_sha256"] = dg.MetadataValue.text(manifest.content)
        metadata["code"] = dg.MetadataValue.text(manifest.code)
        metadata["inputs"] = dg.MetadataValue.md(_inputs_table(manifest))
    metadata |= {name: fact_value(value) for name, value in plain(built.facts).items() if name not in metadata}
    rows = built.facts.get("rows")
    if isinstance(rows, int) and not isinstance(rows, bool):
        metadata["dagster/partition_row_count" if partitioned else "dagster/row_count"] = dg.MetadataValue.int(rows)
    if table is not None:
        metadata["dagster/column_schema"] = _columns(built.path / table)
    for name, path in built.plots.items():
        metadata |= _plot(f"plot_{name}", path)
    return metadata


def data_version(built: Built) -> str:
    """The content hash of the artifact; its id where it has no directory of its own."""
    manifest = manifest_of(built)
    return built.id if manifest is None else manifest.content


def manifest_of(built: Built) -> Manifest | None:
    """The manifest beside the artifact, if it is a directory that has one."""
    return read_manifest(built.path) if (built.path / MANIFEST).is_file() else None


def fact_value(value: Any) -> Any:
    """One plain value in Dagster's types."""
    if value is None:
        return dg.MetadataValue.null()
    if isinstance(value, bool):
        return dg.MetadataValue.bool(value)
    if isinstance(value, int):
        return dg.MetadataValue.int(value)
    if isinstance(value, float):
        return dg.MetadataValue.float(value)
    if isinstance(value, dict | list):
        return dg.MetadataValue.json(value)
    return dg.MetadataValue.text(str(value))


def _bytes(path: Path) -> int:
    files = path.rglob("*") if path.is_dir() else (path,)
    return sum(file.stat().st_size for file in files if file.is_file())


def _inputs_table(manifest: Manifest) -> str:
    lines = ["| kind | id | SHA-256 |", "| --- | --- | --- |"]
    return "\n".join(lines + [f"| {item.kind} | {item.id} | {item.sha256[:16]} |" for item in manifest.inputs])


def _columns(path: Path) -> Any:
    import pyarrow.parquet as parquet

    meanings = {stream.name: stream.meaning for stream in SCHEMA.streams}
    return dg.MetadataValue.table_schema(
        dg.TableSchema(
            columns=[
                dg.TableColumn(field.name, str(field.type), description=meanings.get(field.name))
                for field in parquet.read_schema(path)
            ]
        )
    )


def _plot(name: str, path: Path) -> dict[str, Any]:
    shown: dict[str, Any] = {f"{name}_path": dg.MetadataValue.path(path)}
    data = path.read_bytes()
    if len(data) <= INLINE_BYTES:
        shown[name] = dg.MetadataValue.md(f"![{name}](data:image/png;base64,{base64.b64encode(data).decode()})")
    return shown
