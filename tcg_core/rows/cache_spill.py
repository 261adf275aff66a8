"""The cache's third tier: row groups on a local disk, in a directory of this process alone, gone when it ends.

Arrow files, uncompressed: read back five times faster than the Parquet row group is decoded (`bench/read.py` measures the
latter). Each is checked by CRC when it is read; one that is not as it was written counts as not there.
"""

import logging
import shutil
import zlib
from collections import OrderedDict
from collections.abc import Hashable
from pathlib import Path

import pyarrow as pa

from tcg_core.base.atomic import replacing
from tcg_core.encode.columns import Columns
from tcg_core.encode.would_ko import MEMORY_SCHEMA
from tcg_core.rows.arrow import from_table, to_table

OUTSIDE_IDENTITY = "where row groups wait changes no row"

LOG = logging.getLogger("tcg")


class Spill:
    """Row groups by key in ``directory``, at most ``budget_bytes``, least recently used out first. What an earlier process
    left there is removed."""

    def __init__(self, directory: Path, budget_bytes: int) -> None:
        shutil.rmtree(directory, ignore_errors=True)
        self.directory = directory
        self._budget = budget_bytes
        self._held: OrderedDict[Hashable, tuple[Path, int, int]] = OrderedDict()
        self.bytes = 0

    def __len__(self) -> int:
        return len(self._held)

    def __contains__(self, key: Hashable) -> bool:
        return key in self._held

    def write(self, key: Hashable, columns: Columns) -> bool:
        """Keeps a row group; False if it could not be (too large, or the disk refused: that is logged, never raised)."""
        sink = pa.BufferOutputStream()
        table = to_table(columns, MEMORY_SCHEMA)
        with pa.ipc.new_file(sink, table.schema) as writer:
            writer.write_table(table)
        data = sink.getvalue()
        if data.size > self._budget:
            return False
        path = self.directory / f"{'_'.join(map(str, key)) if isinstance(key, tuple) else key}.arrow"
        try:
            with replacing(path) as temporary:
                temporary.write_bytes(data)
        except OSError as error:
            LOG.warning("the cache cannot spill to %s: %s", self.directory, error)
            return False
        self._held[key] = path, data.size, zlib.crc32(data)
        self.bytes += data.size
        while self.bytes > self._budget:
            self.drop(next(iter(self._held)))
        return True

    def read(self, key: Hashable) -> Columns | None:
        """The row group of ``key``, None if it is not here or not as it was written."""
        if key not in self._held:
            return None
        path, size, crc = self._held[key]
        try:
            data = path.read_bytes()
        except OSError as error:
            LOG.warning("the cache cannot read %s: %s", path, error)
            self.drop(key)
            return None
        if len(data) != size or zlib.crc32(data) != crc:
            LOG.warning("%s is not as it was written: the row group is read from its day again", path)
            self.drop(key)
            return None
        self._held.move_to_end(key)
        return from_table(pa.ipc.open_file(pa.BufferReader(data)).read_all(), MEMORY_SCHEMA)

    def drop(self, key: Hashable) -> None:
        """Forgets a row group and removes its file."""
        path, size, _ = self._held.pop(key)
        self.bytes -= size
        path.unlink(missing_ok=True)

    def close(self) -> None:
        """Removes everything."""
        self._held.clear()
        self.bytes = 0
        shutil.rmtree(self.directory, ignore_errors=True)
