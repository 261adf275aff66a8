"""Rows of a plan, fetched by global row number through the row-group cache."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tcg_core.base.errors import IntegrityError
from tcg_core.base.home import Home
from tcg_core.cards.features import KIND as CARDS
from tcg_core.cards.features import load_cards
from tcg_core.catalog import registry
from tcg_core.encode import would_ko
from tcg_core.encode.cards import CardTables
from tcg_core.encode.columns import Array, Columns
from tcg_core.encode.schema import SCHEMA
from tcg_core.lookahead.read import LookedDayReader
from tcg_core.plan.plan import Plan
from tcg_core.plan.rows import PlanDay
from tcg_core.rows.cache import RowGroupCache
from tcg_core.rows.cache_spill import Spill
from tcg_core.rows.reader import DayReader

#: What training reads of a row; of its identity only what errors need to name the lane, no text.
STREAMS = (
    *("episode_id", "game", "side", "step_id", "is_attack", "forced"),
    *(stream.name for stream in SCHEMA.of_role("label", "aux", "feature")),
)


@dataclass(frozen=True)
class Source:
    """Row groups of the plan's days behind one cache."""

    days: tuple[PlanDay, ...]
    readers: tuple[DayReader, ...]
    cache: RowGroupCache

    def fetch(self, rows: Array) -> Columns:
        """The rows at global numbers ``rows`` (int64 [n]), in that order, with :data:`STREAMS`."""
        order = np.argsort(rows, kind="stable")
        wanted = rows[order]
        starts = np.array([day.first_row for day in self.days])
        day_of = np.searchsorted(starts, wanted, side="right") - 1
        parts: list[Columns] = []
        for day in np.unique(day_of):
            local = wanted[day_of == day] - starts[day]
            firsts = np.array([first for first, _ in self.readers[day].row_groups])
            group_of = np.searchsorted(firsts, local, side="right") - 1
            for group in np.unique(group_of):
                parts.append(self.cache.get(int(day), int(group)).take(local[group_of == group] - firsts[group]))
        found = Columns.concatenate(parts)
        back = np.empty(len(rows), np.int64)
        back[order] = np.arange(len(rows))
        return found.take(back)


def open_cards(home: Home, plan: Plan) -> CardTables:
    """The card tables that the plan was made for; raises :class:`UnknownId` if there are none, :class:`IntegrityError` if their
    files are not those that were published."""
    return load_cards(registry.find(home, CARDS, plan.cards_id))


def open_days(home: Home, days: Sequence[PlanDay]) -> tuple[DayReader, ...]:
    """Readers of the plan's days; raises :class:`IntegrityError` naming a day whose file is missing or has other rows."""
    readers = []
    for day in days:
        path = home.root / day.path
        if not path.is_file():
            raise IntegrityError(f"day {day.day} of the plan: {path} is missing")
        reader = DayReader(path)
        if reader.rows != day.rows:
            raise IntegrityError(f"day {day.day} of the plan: {path} has {reader.rows} rows, the plan expects {day.rows}")
        readers.append(reader)
    return tuple(readers)


def open_source(plan: Plan, readers: tuple[DayReader, ...], budget_bytes: int, spill: Spill | None = None) -> Source:
    """A source with a cache of its own; ``spill`` is its disk tier. Where the recipe's network reads would-KO inputs, rows come
    with them; raises :class:`IntegrityError` naming a table of looks that is not the plan's."""
    streams = STREAMS
    if plan.recipe.reads_would_ko:
        days = zip(readers, plan.days, strict=True)
        readers = tuple(LookedDayReader(reader.path, day.content) for reader, day in days)
        streams = (*STREAMS, *would_ko.NAMES)
    return Source(plan.days, readers, RowGroupCache(readers, budget_bytes, streams=streams, spill=spill))
