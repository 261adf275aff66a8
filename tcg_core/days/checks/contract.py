"""dtype_contract: the file has exactly the schema's columns and types, and says which schema, encoder and day it is of."""

from pathlib import Path

from tcg_core.base.checks import Check
from tcg_core.days.checks.report import verdict
from tcg_core.rows.arrow import ARROW_SCHEMA, file_metadata
from tcg_core.rows.reader import DayReader
from tcg_core.rows.writer import COMPRESSION


def dtype_contract(rows: Path, day: str) -> Check:
    """Exact equality of the Arrow schema, of the file's own metadata and of the compression."""
    with DayReader(rows) as reader:
        found = reader.arrow_schema
        problems = [f"column {name} is missing" for name in ARROW_SCHEMA.names if name not in found.names]
        problems += [f"column {name} is not of the schema" for name in found.names if name not in ARROW_SCHEMA.names]
        problems += [
            f"column {field.name} is {found.field(field.name)}, expected {field}"
            for field in ARROW_SCHEMA
            if field.name in found.names and found.field(field.name) != field
        ]
        if not problems and found.names != ARROW_SCHEMA.names:
            problems.append("columns are in another order")
        for key, value in file_metadata(day, reader.generations).items():
            if reader.metadata.get(key) != value:
                problems.append(f"metadata {key} is {reader.metadata.get(key)!r}, expected {value!r}")
        if reader.rows and (codecs := reader.compressions()) != {COMPRESSION.upper()}:
            problems.append(f"compression is {', '.join(sorted(codecs))}, expected {COMPRESSION.upper()}")
        return verdict("dtype_contract", problems, f"{len(found.names)} columns as declared, schema {reader.schema_digest[:12]}")
