"""Reads the rows of a day back: whole, by row group, all streams or some."""

from collections.abc import Iterable, Iterator
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import pyarrow as pa
import pyarrow.parquet as parquet

from tcg_core.base.errors import IntegrityError
from tcg_core.encode.columns import Columns
from tcg_core.encode.schema import SCHEMA
from tcg_core.rows.arrow import DIGEST_KEY, GENERATIONS_KEY, arrow_schema, from_table, text_metadata
from tcg_core.rows.errors import SchemaMismatch

ROWS = "rows.parquet"


class DayReader:
    """One day file. ``path``: the file, or the directory that holds ``rows.parquet``.

    Raises :class:`IntegrityError` naming the file if it cannot be read, :class:`SchemaMismatch` if it was written under
    another schema.
    """

    def __init__(self, path: Path) -> None:
        self.path = path / ROWS if path.is_dir() else path
        try:
            self._file: Any = parquet.ParquetFile(self.path, memory_map=True, page_checksum_verification=True)
        except (OSError, ValueError, pa.ArrowException) as error:
            raise IntegrityError(f"{self.path} cannot be read as Parquet: {error}") from None
        self.metadata = text_metadata(self._file.metadata.metadata)
        if self.schema_digest != SCHEMA.digest:
            raise SchemaMismatch(
                f"{self.path} has schema {self.schema_digest[:12]}, this code {SCHEMA.digest[:12]}: build the day again"
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    @property
    def rows(self) -> int:
        """Rows of the file."""
        return int(self._file.metadata.num_rows)

    @cached_property
    def row_groups(self) -> list[tuple[int, int]]:
        """(first row, rows) of each row group."""
        result, first = [], 0
        for number in range(self._file.metadata.num_row_groups):
            rows = self._file.metadata.row_group(number).num_rows
            result.append((first, rows))
            first += rows
        return result

    @property
    def schema_digest(self) -> str:
        """Digest of the schema the file was written under."""
        return self.metadata.get(DIGEST_KEY, "absent")

    @property
    def generations(self) -> tuple[str, ...]:
        """Engine generations of the rows; a row group holds one only."""
        return tuple(filter(None, self.metadata.get(GENERATIONS_KEY, "").split("+")))

    @property
    def generation(self) -> str:
        """The one engine generation of the day; raises :class:`SchemaMismatch` if it holds several or no rows."""
        if len(self.generations) != 1:
            raise SchemaMismatch(f"{self.path} holds rows of generations {self.generations or 'none'}, expected one")
        return self.generations[0]

    @property
    def arrow_schema(self) -> Any:
        """The Arrow schema that the file restores, without metadata."""
        return self._file.schema_arrow.remove_metadata()

    def compressions(self) -> set[str]:
        """Codecs of all column chunks."""
        metadata = self._file.metadata
        groups = (metadata.row_group(number) for number in range(metadata.num_row_groups))
        return {str(group.column(number).compression) for group in groups for number in range(group.num_columns)}

    def read_row_group(self, number: int, streams: Iterable[str] | None = None) -> Columns:
        """One row group, of all streams or of the named ones."""
        return self._columns(lambda names: self._file.read_row_group(number, columns=names), streams)

    def read(self, streams: Iterable[str] | None = None) -> Columns:
        """The whole day; name the streams unless the day is small."""
        return self._columns(lambda names: self._file.read(columns=names), streams)

    def batches(self, streams: Iterable[str] | None = None) -> Iterator[Columns]:
        """Row groups in order."""
        names = None if streams is None else list(streams)
        return (self.read_row_group(number, names) for number in range(len(self.row_groups)))

    def _columns(self, read: Any, streams: Iterable[str] | None) -> Columns:
        names = None if streams is None else arrow_schema(SCHEMA, streams).names
        try:
            return from_table(read(names))
        except (OSError, ValueError, pa.ArrowException) as error:
            raise IntegrityError(f"{self.path} cannot be read: {error}") from None
        except SchemaMismatch as error:
            raise SchemaMismatch(f"{self.path}: {error}") from None
