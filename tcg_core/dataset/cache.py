"""Row groups in memory, least recently used out first, bounded by bytes."""

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass

from tcg_core.dataset.reader import DayReader
from tcg_core.encode.columns import Columns


@dataclass
class CacheCounters:
    """hits, misses, evictions: row groups; bytes: held now; peak_bytes: most ever held; read_bytes: decoded in total."""

    hits: int = 0
    misses: int = 0
    evictions: int = 0
    bytes: int = 0
    peak_bytes: int = 0
    read_bytes: int = 0

    @property
    def hit_rate(self) -> float:
        """Share of requests served from memory, 0 before the first."""
        asked = self.hits + self.misses
        return self.hits / asked if asked else 0.0


class RowGroupCache:
    """Row groups of several days by (day position, row group). The one just asked for is never evicted by itself: a
    row group larger than the budget is held alone."""

    def __init__(self, readers: Sequence[DayReader], budget_bytes: int, streams: Sequence[str] | None = None) -> None:
        self._readers = readers
        self._budget = budget_bytes
        self._streams = streams
        self._held: OrderedDict[tuple[int, int], tuple[Columns, int]] = OrderedDict()
        self.counters = CacheCounters()

    def get(self, day: int, row_group: int) -> Columns:
        """The row group, from memory or from disk."""
        key = (day, row_group)
        if key in self._held:
            self.counters.hits += 1
            self._held.move_to_end(key)
            return self._held[key][0]
        self.counters.misses += 1
        columns = self._readers[day].read_row_group(row_group, self._streams)
        size = columns.nbytes()
        self.counters.read_bytes += size
        while self._held and self.counters.bytes + size > self._budget:
            _, (_, gone) = self._held.popitem(last=False)
            self.counters.bytes -= gone
            self.counters.evictions += 1
        self._held[key] = (columns, size)
        self.counters.bytes += size
        self.counters.peak_bytes = max(self.counters.peak_bytes, self.counters.bytes)
        return columns

    def clear(self) -> None:
        """Drops everything held; counters go on."""
        self._held.clear()
        self.counters.bytes = 0
