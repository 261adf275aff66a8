"""What the filters of a selection have left of each day: all of it, the head of it under a cap, or a list of episodes."""

import sqlite3
from collections.abc import Iterable, Mapping, Sequence

from tcg_core.catalog.cap_order import Head, head_episodes, heads, rows_of, rows_within
from tcg_core.catalog.caps import EpisodeRows, capped
from tcg_core.recipe import SPLIT_SEED


class KeptEpisodes:
    """Days start whole. Episodes are read only of days that a filter looks into; a cap alone is noted, and its head read once
    at the end (:meth:`heads`).

    generations: only episodes of these engine generations (none: any); seed: of the caps' order. The stored order is that
    of :data:`~tcg_core.recipe.SPLIT_SEED`: under another seed a cap reads and hashes every episode of its day.
    """

    def __init__(self, connection: sqlite3.Connection, generations: Sequence[str], seed: int) -> None:
        self._connection = connection
        self._generations = generations
        self._seed = seed
        self._lists: dict[str, list[EpisodeRows]] = {}
        self._caps: dict[str, int] = {}

    def __contains__(self, day: str) -> bool:
        """Whether a filter has been at the day."""
        return day in self._lists or day in self._caps

    def episodes(self, day: str) -> list[EpisodeRows]:
        """What is left of the day, by id."""
        if day in self._lists:
            return self._lists[day]
        if day in self._caps:
            return head_episodes(self._connection, day, self._caps[day])
        query = "SELECT episode_id, rows, generation FROM episodes WHERE day = ? AND status = 'rows' ORDER BY episode_id"
        wanted = self._generations
        return [
            EpisodeRows(id, rows) for id, rows, made in self._connection.execute(query, (day,)) if not wanted or made in wanted
        ]

    def put(self, day: str, episodes: Iterable[EpisodeRows]) -> None:
        """Only these are left of the day."""
        self._caps.pop(day, None)
        self._lists[day] = list(episodes)

    def cap(self, day: str, rows: int) -> None:
        """Only the first episodes in the caps' order are left, that together have at most ``rows`` rows."""
        if day in self._lists or self._seed != SPLIT_SEED:
            self.put(day, capped(self.episodes(day), rows, self._seed))
        else:
            self._caps[day] = min(rows, self._caps.get(day, rows))

    def rows(self, days: Sequence[str]) -> dict[str, int]:
        """Rows left of each day, in the order of ``days``."""
        limits = {day: self._caps[day] for day in days if day in self._caps}
        found = rows_within(self._connection, limits) if limits else {}
        found |= {day: sum(episode.rows for episode in self._lists[day]) for day in days if day in self._lists}
        whole = [day for day in days if day not in found]
        found |= rows_of(self._connection, whole) if whole else {}
        return {day: found[day] for day in days}

    def heads(self) -> Mapping[str, Head]:
        """Ids and rows left of each day that a filter has been at."""
        found = heads(self._connection, self._caps) if self._caps else {}
        for day, episodes in self._lists.items():
            found[day] = Head(tuple(sorted(e.episode_id for e in episodes)), sum(e.rows for e in episodes))
        return found
