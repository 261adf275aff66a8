"""What a person sees of a materialization: numbers, hashes, inputs, files, the tables' columns, plots."""

import base64
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import dagster as dg

from tcg_assets.pages.files import PAGES
from tcg_core.base.built import Built
from tcg_core.base.code import code_version
from tcg_core.base.manifest import MANIFEST, Input, Manifest, read_manifest
from tcg_core.catalog.meanings import PARQUET, catalog_columns
from tcg_core.catalog.registry import plain
from tcg_core.encode.schema import SCHEMA
from tcg_core.explain.card import PageCard, card_of

#: An image sits in a row of Dagster's SQLite; larger ones are named by path only.
INLINE_BYTES = 50_000
#: Rows of a table on a page; the manifest has all.
MOST_ROWS = 100
_CATALOG = "catalog.sqlite"
#: Characters of a line that a window of 1,400 pixels shows whole.
_LINE = 52
#: Rows of the card, in order.
CARD = ("verdict", "figures", "picture")
_LAST = ("seconds", "bytes", "reused", "file", "inputs", "path", "id", "content_sha256", "code", "catalog", "reported")


def describe(asset: str, built: Built, seconds: float, *, partitioned: bool) -> dict[str, Any]:
    """All metadata of one artifact as the materialization of ``asset``, in Dagster's types."""
    page = PAGES[asset]
    manifest = manifest_of(built)
    facts = {name: fact_value(value) for name, value in plain(built.facts).items()}
    shown = card(card_of(asset, plain(built.facts), built.checks, built.path))
    readable = {name: value for name, value in facts.items() if not _plumbing(name)}
    metadata: dict[str, Any] = shown | {name: value for name, value in readable.items() if name not in shown}
    rows = _row_count(built, page.table)
    if rows is not None:
        metadata["dagster/partition_row_count" if partitioned else "dagster/row_count"] = dg.MetadataValue.int(rows)
    for name, path in (built.plots or _pictures(built.path)).items():
        metadata |= plot(f"plot_{name}", path)
    metadata |= {
        "seconds": dg.MetadataValue.float(round(seconds, 3)),
        "bytes": dg.MetadataValue.int(_bytes(built.path)),
        "reused": dg.MetadataValue.bool(built.reused),
    }
    if (built.path / page.file).is_file():
        metadata["file"] = dg.MetadataValue.path(built.path / page.file)
    metadata |= _columns(built.path, page.table, page.catalog)
    metadata |= {
        "inputs": inputs_table(manifest.inputs if manifest is not None else ()),
        "path": dg.MetadataValue.path(built.path),
        "id": dg.MetadataValue.text(built.id),
        "content_sha256": dg.MetadataValue.text(data_version(built) if manifest is None else manifest.content),
        "code": dg.MetadataValue.text(code_version(asset) if manifest is None else manifest.code),
    }
    return metadata | {name: value for name, value in facts.items() if name not in metadata}


def card(made: PageCard) -> dict[str, Any]:
    """The rows of a page that stand first. Dagster lists rows as they were told and shows Markdown of under 1,000 characters
    where it stands; longer Markdown is behind a link."""
    said = "**  \n**".join(textwrap.wrap(made.verdict, _LINE))
    rows: dict[str, Any] = {"verdict": dg.MetadataValue.md(f"**{said}**")}
    if made.figures:
        rows["figures"] = dg.MetadataValue.md("  \n".join(made.figures))
    if made.picture:
        encoded = base64.b64encode(made.picture.encode()).decode()
        rows["picture"] = dg.MetadataValue.md(f"![picture](data:image/svg+xml;base64,{encoded})")
    return rows


def ordered(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """The card first, plumbing last, the rest between them as it was told."""
    last = {name: value for name, value in metadata.items() if _plumbing(name)}
    first = {name: metadata[name] for name in CARD if name in metadata}
    return first | {name: value for name, value in metadata.items() if name not in first and name not in last} | last


def _plumbing(name: str) -> bool:
    return name in _LAST or name.endswith(("sha256", "digest", "_path")) or "inner_content" in name


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
        # Four digits are read; the manifest has all.
        return dg.MetadataValue.float(float(f"{value:.4g}") if abs(value) < 1000 else round(value, 1))
    if isinstance(value, dict | list):
        return dg.MetadataValue.json(value)
    return dg.MetadataValue.text(str(value))


def inputs_table(inputs: Sequence[Input]) -> Any:
    """The inputs of an artifact with their hashes."""
    return table(("kind", "id", "SHA-256"), [(item.kind, item.id, item.sha256[:16]) for item in inputs])


def table(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> Any:
    """A table on a page, its first :data:`MOST_ROWS` rows; "none" instead of an empty one."""
    if not rows:
        return dg.MetadataValue.text("none")
    lines = [f"| {' | '.join(columns)} |", f"| {' | '.join('---' for _ in columns)} |"]
    lines += [f"| {' | '.join(_cell(value) for value in row)} |" for row in rows[:MOST_ROWS]]
    more = f"\n\nand {len(rows) - MOST_ROWS} more" if len(rows) > MOST_ROWS else ""
    return dg.MetadataValue.md("\n".join(lines) + more)


def plot(name: str, path: Path) -> dict[str, Any]:
    """A picture: where it is, and itself unless it is large."""
    shown: dict[str, Any] = {f"{name}_path": dg.MetadataValue.path(path)}
    data = path.read_bytes()
    if len(data) <= INLINE_BYTES:
        shown[name] = dg.MetadataValue.md(f"![{name}](data:image/png;base64,{base64.b64encode(data).decode()})")
    return shown


def _cell(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value).replace("|", "\\|").replace("\n", " ")


def _bytes(path: Path) -> int:
    files = path.rglob("*") if path.is_dir() else (path,)
    return sum(file.stat().st_size for file in files if file.is_file())


def _pictures(directory: Path) -> dict[str, Path]:
    """Pictures beside an artifact whose stage names none, as a promoted day's."""
    return {path.stem: path for path in sorted(directory.glob("*.png"))} if directory.is_dir() else {}


def _row_count(built: Built, name: str | None) -> int | None:
    """Rows as the stage counts them, else those of the table."""
    rows = built.facts.get("rows")
    if isinstance(rows, int) and not isinstance(rows, bool):
        return rows
    if name is None:
        return None
    import pyarrow.parquet as parquet

    return int(parquet.read_metadata(built.path / name).num_rows)


def _columns(path: Path, name: str | None, tables: Sequence[str]) -> dict[str, Any]:
    """Columns of the Parquet table, and of the catalog's tables, whose file is named too. Under Dagster's own key they would be
    a section of the page above the card."""
    shown: dict[str, Any] = {}
    if name is not None:
        shown["columns"] = _parquet_columns(path / name)
    if tables:
        columns = [
            dg.TableColumn(f"{held}.{column}", type, description=meaning)
            for held in tables
            for column, type, meaning in catalog_columns(held)
        ]
        shown["catalog_columns"] = dg.MetadataValue.table_schema(dg.TableSchema(columns=columns))
        homes = [parent for parent in path.parents if (parent / _CATALOG).is_file()]
        if homes:
            shown["catalog"] = dg.MetadataValue.path(homes[0] / _CATALOG)
    return shown


def _parquet_columns(path: Path) -> Any:
    import pyarrow.parquet as parquet

    meanings: Mapping[str, str] = PARQUET.get(path.name) or {stream.name: stream.meaning for stream in SCHEMA.streams}
    return dg.MetadataValue.table_schema(
        dg.TableSchema(
            columns=[
                dg.TableColumn(field.name, str(field.type), description=meanings.get(field.name))
                for field in parquet.read_schema(path)
            ]
        )
    )
