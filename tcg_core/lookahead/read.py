"""Rows of a day together with what was looked ahead of them."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet

from tcg_core.base.digest import sha256_file
from tcg_core.base.errors import IntegrityError
from tcg_core.base.manifest import read_manifest
from tcg_core.encode import would_ko
from tcg_core.encode.columns import Array, Columns
from tcg_core.encode.schema import SCHEMA as ROW_SCHEMA
from tcg_core.lookahead.join import NEEDED, join
from tcg_core.rows.arrow import DAY_KEY
from tcg_core.rows.reader import DayReader
from tcg_core.rows.would_ko import SCHEMA, WOULD_KO


class LookedDayReader(DayReader):
    """A day built with ``--would-ko``, whose rows come with the streams of :mod:`tcg_core.encode.would_ko` where they are named
    (or where no stream is). The table of looks is read by the row group of rows, never held as a whole.

    Raises, beside what :class:`DayReader` raises, :class:`IntegrityError` if the day's manifest is not that of ``content`` (None:
    any) or ``would_ko.parquet`` is missing or not as the manifest says.
    """

    def __init__(self, path: Path, content: str | None = None) -> None:
        super().__init__(path)
        manifest, table = read_manifest(self.path.parent), self.path.parent / WOULD_KO
        if content not in (None, manifest.content):
            raise IntegrityError(f"{self.path.parent}: content {manifest.content[:12]}, expected {str(content)[:12]}")
        if WOULD_KO not in manifest.files:
            day = self.metadata.get(DAY_KEY, "DATE")
            raise IntegrityError(f"day {day} was built without would-KO, {table} is missing: tcg day build {day} --would-ko")
        found = sha256_file(table) if table.is_file() else "absent"
        if found != manifest.files[WOULD_KO]:
            raise IntegrityError(f"{table}: expected SHA-256 {manifest.files[WOULD_KO][:12]}, found {found[:12]}")
        self._looks: Any = parquet.ParquetFile(table, memory_map=True)
        if self._looks.schema_arrow != SCHEMA:
            raise IntegrityError(f"{table}: its columns are not those of this code: build the day again")

    def __exit__(self, *_: object) -> None:
        super().__exit__()
        self._looks.close()

    def joined(self, rows: Columns) -> Columns:
        """Rows of this day (with ``join.NEEDED``), wherever they came from, with their looks; raises as :func:`join` does."""
        return join(rows, self._of(np.unique(rows["episode_id"])), str(self.path.parent / WOULD_KO))

    def _columns(self, read: Any, streams: Iterable[str] | None) -> Columns:
        names = (*ROW_SCHEMA.by_name, *would_ko.NAMES) if streams is None else tuple(streams)
        if not set(names) & set(would_ko.NAMES):
            return super()._columns(read, names)
        plain = [name for name in names if name not in would_ko.NAMES]
        rows = super()._columns(read, [*dict.fromkeys((*plain, *NEEDED))])
        joined = self.joined(rows)
        values = {name: array for name, array in joined.values.items() if name in names}
        groups = {would_ko.MEMORY_SCHEMA.by_name[name].group for name in values}
        return Columns(joined.rows, values, {name: ends for name, ends in joined.offsets.items() if name in groups})

    def _of(self, episodes: Array) -> dict[str, Array]:
        """Looks of ``episodes`` (sorted), by column; those of a row group that holds no such episode are not read."""
        parts = [SCHEMA.empty_table()]
        low, high = (int(episodes[0]), int(episodes[-1])) if len(episodes) else (0, -1)
        for number in range(self._looks.metadata.num_row_groups):
            statistics = self._looks.metadata.row_group(number).column(0).statistics
            if statistics is None or (statistics.min <= high and statistics.max >= low):
                parts.append(self._looks.read_row_group(number))
        table = pa.concat_tables(parts)
        mine = np.isin(table["episode_id"].to_numpy(), episodes)
        return {name: table[name].to_numpy()[mine] for name in table.column_names}
