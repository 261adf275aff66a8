"""Row groups in three tiers: hot (pinned), transient (least recently used out first) and a local disk; all in bytes.

A row group enters transient; its second hit makes it hot, as long as hot holds at most ``HOT_SHARE`` of the budget, the
oldest hot one going back to transient for it. What leaves memory goes to the disk tier, if there is one, and comes back from
there as a reload of its own kind. Above ``PRESSURE`` percent of the host's memory everything transient leaves. The row
group being served never does, and nothing leaves while the optimizer steps.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import psutil  # type: ignore[import-untyped]  # no stubs are pinned

from tcg_core.encode.columns import Columns
from tcg_core.rows.cache_spill import Spill
from tcg_core.rows.reader import DayReader

OUTSIDE_IDENTITY = "where row groups wait changes no row"

Key = tuple[int, int]
HOT_SHARE, PROMOTE_HITS, PRESSURE = 0.6, 2, 85.0


@dataclass
class CacheCounters:
    """Events since the start: hits (served from memory), ssd_hits (reloaded from disk), misses (decoded from a day),
    promotions, demotions, evictions (left memory), ssd_spills; read_bytes: decoded from days in total. And what is held now:
    bytes (peak_bytes: most ever), of them hot_bytes; resident_hot, resident_transient, ssd_resident in row groups; ssd_bytes.
    """

    hits: int = 0
    ssd_hits: int = 0
    misses: int = 0
    promotions: int = 0
    demotions: int = 0
    evictions: int = 0
    ssd_spills: int = 0
    read_bytes: int = 0
    bytes: int = 0
    peak_bytes: int = 0
    hot_bytes: int = 0
    resident_hot: int = 0
    resident_transient: int = 0
    ssd_resident: int = 0
    ssd_bytes: int = 0

    @property
    def hit_rate(self) -> float:
        """Share of requests served from memory, 0 before the first; a reload from disk is no hit."""
        return self._share(self.hits)

    @property
    def ssd_rate(self) -> float:
        """Share of requests reloaded from the disk tier."""
        return self._share(self.ssd_hits)

    def _share(self, count: int) -> float:
        asked = self.hits + self.ssd_hits + self.misses
        return count / asked if asked else 0.0


@dataclass
class _Entry:
    columns: Columns
    size: int
    hits: int = 0


def host_memory_percent() -> float:
    """Used share of the host's memory, percent."""
    return float(psutil.virtual_memory().percent)


class RowGroupCache:
    """Row groups of several days by (day position, row group), at most ``budget_bytes`` of them in memory; one that is larger
    than the budget is held alone. spill: the disk tier, none if None; memory: used host memory in percent."""

    def __init__(
        self,
        readers: Sequence[DayReader],
        budget_bytes: int,
        streams: Sequence[str] | None = None,
        spill: Spill | None = None,
        memory: Callable[[], float] = host_memory_percent,
    ) -> None:
        self._readers = readers
        self._budget = budget_bytes
        self._streams = streams
        self._spill = spill
        self._memory = memory
        self._hot: OrderedDict[Key, _Entry] = OrderedDict()
        self._transient: OrderedDict[Key, _Entry] = OrderedDict()
        self._serving = threading.Lock()
        self._stepping = 0
        self.counters = CacheCounters()

    def get(self, day: int, row_group: int) -> Columns:
        """The row group, from memory, from the disk tier or from its day."""
        key = (day, row_group)
        with self._serving:
            entry = self._found(key)
            if entry is None:
                entry = self._loaded(key)
            self._shrink(key)
            self.counters.peak_bytes = max(self.counters.peak_bytes, self.counters.bytes)
            self._count()
            return entry.columns

    @contextmanager
    def protect(self) -> Iterator[None]:
        """While this is open nothing leaves memory; what should have left does with the next request after it."""
        self._stepping += 1
        try:
            yield
        finally:
            self._stepping -= 1

    def clear(self) -> None:
        """Drops everything held, in memory and on disk; counters go on."""
        with self._serving:
            self._hot.clear()
            self._transient.clear()
            if self._spill is not None:
                self._spill.close()
            self.counters.bytes = self.counters.hot_bytes = 0
            self._count()

    def _found(self, key: Key) -> _Entry | None:
        if key in self._hot:
            self.counters.hits += 1
            self._hot.move_to_end(key)
            return self._hot[key]
        entry = self._transient.get(key)
        if entry is None:
            return None
        self.counters.hits += 1
        entry.hits += 1
        self._transient.move_to_end(key)
        if entry.hits >= PROMOTE_HITS:
            self._promote(key, entry)
        return entry

    def _loaded(self, key: Key) -> _Entry:
        columns = self._spill.read(key) if self._spill is not None else None
        if columns is not None:
            self.counters.ssd_hits += 1
        else:
            self.counters.misses += 1
            columns = self._readers[key[0]].read_row_group(key[1], self._streams)
            self.counters.read_bytes += columns.nbytes()
        entry = self._transient[key] = _Entry(columns, columns.nbytes())
        self.counters.bytes += entry.size
        return entry

    def _promote(self, key: Key, entry: _Entry) -> None:
        room = int(HOT_SHARE * self._budget)
        if entry.size > room:
            return
        while self.counters.hot_bytes + entry.size > room:
            self._demote()
        del self._transient[key]
        self._hot[key] = entry
        self.counters.hot_bytes += entry.size
        self.counters.promotions += 1

    def _demote(self) -> None:
        key, entry = self._hot.popitem(last=False)
        entry.hits = 0
        self._transient[key] = entry
        self.counters.hot_bytes -= entry.size
        self.counters.demotions += 1

    def _shrink(self, serving: Key) -> None:
        """Brings memory under the budget, hot ones only after everything transient; under pressure all transient go."""
        while not self._stepping:
            over = self.counters.bytes > self._budget
            if not over and (len(self._transient) <= (serving in self._transient) or self._memory() < PRESSURE):
                return
            victim = next((key for key in self._transient if key != serving), None)
            if victim is not None:
                self._evict(victim)
            elif any(key != serving for key in self._hot):
                self._demote()
            else:
                return

    def _evict(self, key: Key) -> None:
        entry = self._transient.pop(key)
        self.counters.bytes -= entry.size
        self.counters.evictions += 1
        if self._spill is not None and key not in self._spill and self._spill.write(key, entry.columns):
            self.counters.ssd_spills += 1

    def _count(self) -> None:
        self.counters.resident_hot, self.counters.resident_transient = len(self._hot), len(self._transient)
        if self._spill is not None:
            self.counters.ssd_resident, self.counters.ssd_bytes = len(self._spill), self._spill.bytes
