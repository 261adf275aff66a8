"""A day's rows written anew: the same values in another file, as another build."""

import shutil
from collections.abc import Callable
from dataclasses import replace

import pyarrow.parquet as parquet

from tcg_core.base.digest import sha256_file
from tcg_core.base.home import Home
from tcg_core.base.manifest import hash_files, read_manifest, write_manifest
from tcg_core.catalog.connection import catalog, transaction
from tcg_core.catalog.datasets import DatasetRow, datasets_of, stage, validate
from tcg_core.catalog.kinds import as_staged
from tcg_core.catalog.records import DatasetRecord
from tcg_core.catalog.registry import register_in
from tcg_core.encode.columns import Columns
from tcg_core.rows.arrow import file_metadata, from_table, to_table
from tcg_core.rows.reader import ROWS


def validated(home: Home, day: str) -> DatasetRow:
    with catalog(home) as connection:
        return datasets_of(connection, day, "validated")[0]


def rewrite(
    home: Home, day: str, code: str = "", change: Callable[[Columns], None] = lambda columns: None, id: str = "f" * 16
) -> DatasetRow:
    """Copies the day's directory, writes its rows uncompressed (``change`` may edit them first) and validates it as build ``id``
    of ``code``; nothing says which rows it holds, as in a build from before that was recorded."""
    old = validated(home, day)
    source, target = home.root / old.path, home.days / day / id[:12]
    shutil.copytree(source, target)
    columns = from_table(parquet.read_table(target / ROWS).combine_chunks())
    columns = Columns(columns.rows, {name: array.copy() for name, array in columns.values.items()}, columns.offsets)
    change(columns)
    changed = to_table(columns).replace_schema_metadata(file_metadata(day, old.generations))
    parquet.write_table(changed, target / ROWS, compression="none", row_group_size=columns.rows)
    manifest = read_manifest(source)
    facts = {name: value for name, value in manifest.facts.items() if name != "rows_digest"} | {"row_groups": 1}
    manifest = replace(manifest, id=id, code=code or manifest.code, facts=facts, files=hash_files(target))
    write_manifest(target, manifest)
    values = {name: getattr(old, name) for name in DatasetRecord.__dataclass_fields__}
    values |= {"dataset_id": id, "path": str(target.relative_to(home.root)), "sha256": sha256_file(target / ROWS)}
    values |= {"bytes": (target / ROWS).stat().st_size, "row_groups": 1, "code": manifest.code, "rows_digest": None}
    with catalog(home) as connection, transaction(connection):
        stage(connection, DatasetRecord(**values))
        validate(connection, day, id, values["path"])
        register_in(connection, home, as_staged(manifest), target)
        register_in(connection, home, manifest, target)
    return validated(home, day)


def forget_digests(home: Home, day: str) -> None:
    """As in a home that was built before the hash of rows was recorded."""
    with catalog(home) as connection:
        connection.execute("UPDATE datasets SET rows_digest = NULL WHERE day = ?", (day,))
