"""Writes the rows of a day: zstd Parquet in row groups of whole episodes, about ROW_GROUP_ROWS rows each."""

from pathlib import Path
from types import TracebackType
from typing import Any

import pyarrow.parquet as parquet

from tcg_core.base.atomic import naming
from tcg_core.encode.columns import Columns
from tcg_core.encode.digest import RowsDigest
from tcg_core.encode.schema import SCHEMA
from tcg_core.rows.arrow import ARROW_SCHEMA, file_metadata, to_table

ROW_GROUP_ROWS = 4000
COMPRESSION, LEVEL = "zstd", 3


class DayWriter:
    """Takes episodes in canonical order; a row group is closed at the first episode end at or past ``row_group_rows``,
    and where the engine generation changes, so that every row group is of one generation.

    Whoever opens it gives a temporary path (:mod:`tcg_core.base.atomic`) and renames it.
    Raises :class:`NotWritten` on a full disk.
    """

    def __init__(self, path: Path, day: str, row_group_rows: int = ROW_GROUP_ROWS) -> None:
        self._path = path
        self._day = day
        self._limit = row_group_rows
        self._waiting: list[Columns] = []
        self._waiting_rows = 0
        self._generation: str | None = None
        self.rows = 0
        self.row_groups = 0
        self.decoded_bytes = 0
        self.generations: set[str] = set()
        self._digest = RowsDigest()
        self._file: Any = parquet.ParquetWriter(
            path,
            ARROW_SCHEMA,
            compression=COMPRESSION,
            compression_level=LEVEL,
            version="2.6",
            write_statistics=[stream.name for stream in SCHEMA.of_role("identity")],
            use_dictionary=True,
            store_schema=True,
            write_page_checksum=True,
        )

    def __enter__(self) -> "DayWriter":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if kind is None:
            self.close()
        else:
            with naming(self._path):
                self._file.close()

    @property
    def rows_digest(self) -> str:
        """Hash of the logical rows that were written (:mod:`tcg_core.encode.digest`)."""
        return self._digest.hexdigest()

    def add(self, episode: Columns) -> None:
        """Adds all rows of one episode (of one generation)."""
        if not episode.rows:
            return
        generation = str(episode["generation"][0])
        if self._generation not in (None, generation):
            self._flush()
        self._generation = generation
        self.generations.add(generation)
        self._waiting.append(episode)
        self._waiting_rows += episode.rows
        if self._waiting_rows >= self._limit:
            self._flush()

    def close(self) -> None:
        """Writes what waits and the footer."""
        self._flush()
        with naming(self._path):
            self._file.add_key_value_metadata(file_metadata(self._day, self.generations))
            self._file.close()

    def _flush(self) -> None:
        if not self._waiting:
            return
        columns = Columns.concatenate(self._waiting)
        with naming(self._path):
            self._file.write_table(to_table(columns), row_group_size=columns.rows)
        self._digest.add(columns)
        self.rows += columns.rows
        self.row_groups += 1
        self.decoded_bytes += columns.nbytes()
        self._waiting, self._waiting_rows = [], 0
