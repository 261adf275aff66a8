"""Which validated days a training run reads, and which of their episodes: one function for command line, assets, notebook.

Order of the filters: state, generation, days, top_elo, episodes that an earlier selected day holds already,
max_rows_per_day, unseen_by with replay, max_rows. Caps keep whole episodes in order of hash(seed, episode id), so a larger
cap is a superset.
"""

import logging
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from tcg_core.base.errors import UnknownId
from tcg_core.base.home import parse_day
from tcg_core.catalog.cap_order import Head
from tcg_core.catalog.caps import EpisodeRows
from tcg_core.catalog.connection import home_of
from tcg_core.catalog.errors import SelectionEmpty
from tcg_core.catalog.files import require_file, verified
from tcg_core.catalog.kept import KeptEpisodes
from tcg_core.catalog.seen import seen_by
from tcg_core.catalog.standing import DayRating, replay_chain, top_agents
from tcg_core.catalog.unseen import Candidate, take_unseen
from tcg_core.recipe import SPLIT_SEED, Selection

LOG = logging.getLogger("tcg")
ROWS_FILE = "rows.parquet"


@dataclass(frozen=True)
class SelectedDay:
    """One validated day. ``path`` is its rows.parquet, ``sha256`` that file's; rows and episodes count what is kept;
    ``rows_digest`` is the hash of the logical rows, None where nobody has read them since it is recorded.

    ``kept``: episode ids to read, ascending; None for all of the file. ``repeated``: episodes left to an earlier day.
    ``rating``: by which ratings ``top_elo`` chose; None without ``top_elo``. ``replayed``: with ``unseen_by``, a sample of
    a day that the run has seen.
    """

    day: str
    path: Path
    sha256: str
    rows: int
    episodes: int
    generation: str
    row_groups: int
    dataset_id: str
    schema_digest: str
    rows_digest: str | None
    kept: tuple[int, ...] | None = None
    repeated: int = 0
    rating: DayRating | None = None
    replayed: bool = False


def select_days(
    connection: sqlite3.Connection,
    selection: Selection,
    generations: Sequence[str] = (),
    seed: int = SPLIT_SEED,
    full: bool = False,
) -> list[SelectedDay]:
    """The selected days by date. ``generations``: only episodes of these engine generations (none: any).

    Every file must exist with the size and time it was verified with (else it is hashed again); ``full`` hashes each at
    least once in this process. Raises :class:`SelectionEmpty` naming the filter that left nothing, :class:`UnknownId`
    naming a day asked for that is not validated, :class:`DatasetChanged` naming a file, :class:`RatingsStale` for ``top_elo``
    with ratings that do not follow from the validated days, and what :func:`~tcg_core.catalog.seen.seen_by` raises.
    """
    days = _validated(connection)
    if not days:
        raise SelectionEmpty("selection: there is no validated day; take and build one first")
    if selection.days:
        days = _named(connection, days, selection.days)
    if generations:
        days = [day for day in days if set(day.generation.split("+")) & set(generations)]
        _need(days, f"generations {', '.join(generations)}")
    if selection.last_n_days:
        days = days[-selection.last_n_days :]
    kept = KeptEpisodes(connection, generations, seed)
    for day in days:
        if generations and not set(day.generation.split("+")) <= set(generations):
            kept.put(day.day, kept.episodes(day.day))
    if selection.top_elo:
        chain = dict(replay_chain(connection))
        days = [_of_the_best(connection, day, kept, selection.top_elo, chain) for day in days]
        _need_rows(days, kept, f"top_elo {selection.top_elo}")
    days = _without_repeats(connection, days, kept)
    if selection.max_rows_per_day:
        for day in days:
            kept.cap(day.day, selection.max_rows_per_day)
        _need_rows(days, kept, f"max_rows_per_day {selection.max_rows_per_day}")
    if selection.unseen_by:
        days = _unseen(connection, selection, days, kept, seed)
    elif selection.max_rows:
        _share(days, kept, selection.max_rows)
        _need_rows(days, kept, f"max_rows {selection.max_rows}")
    heads = kept.heads()
    result = [_narrow(day, heads[day.day]) if day.day in heads else day for day in days]
    result = [day for day in result if day.rows]
    _need(result, "empty days")
    _require_files(connection, result, full)
    return result


def episode_contents(connection: sqlite3.Connection, day: str) -> dict[int, str]:
    """Content hash of each episode of the day that has rows, by episode id: what the validation split is decided by."""
    query = "SELECT episode_id, content_hash FROM episodes WHERE day = ? AND status = 'rows' ORDER BY episode_id"
    return {row["episode_id"]: row["content_hash"] for row in connection.execute(query, (day,))}


def _validated(connection: sqlite3.Connection) -> list[SelectedDay]:
    root = home_of(connection).root
    query = "SELECT * FROM datasets WHERE state = 'validated' ORDER BY day"
    return [
        SelectedDay(
            r["day"],
            root / f"{r['path']}/{ROWS_FILE}",
            r["sha256"],
            r["rows"],
            r["episodes"],
            r["generations"],
            r["row_groups"],
            r["dataset_id"],
            r["schema_digest"],
            r["rows_digest"],
        )
        for r in connection.execute(query)
    ]


def _named(connection: sqlite3.Connection, days: list[SelectedDay], names: Iterable[str]) -> list[SelectedDay]:
    by_name = {day.day: day for day in days}
    for name in names:
        if parse_day(name) not in by_name:
            query = "SELECT state FROM datasets WHERE day = ? ORDER BY changed_at"
            states = [r["state"] for r in connection.execute(query, (name,))]
            raise UnknownId(f"day {name} is not validated: " + (f"it is {states[-1]}" if states else "it was never built"))
    return [by_name[name] for name in sorted(set(names))]


def _need(days: Sequence[SelectedDay], what: str) -> None:
    if not days:
        raise SelectionEmpty(f"selection: {what} leaves no rows")


def _need_rows(days: Sequence[SelectedDay], kept: KeptEpisodes, what: str) -> None:
    if not any(kept.rows([day.day])[day.day] for day in days):
        _need([], what)


def _of_the_best(
    connection: sqlite3.Connection, day: SelectedDay, kept: KeptEpisodes, count: int, chain: Mapping[str, str]
) -> SelectedDay:
    """Keeps games of two of the best. A day before which nobody had played has no ratings, so nothing of it is kept."""
    top = top_agents(connection, day.day, count, chain)
    if top is None:
        LOG.info("top_elo %d keeps nothing of %s: nobody was rated at its start", count, day.day)
        kept.put(day.day, [])
        return day
    kept.put(day.day, _of_agents(connection, day.day, kept.episodes(day.day), top.names))
    return replace(day, rating=top.rating)


def _of_agents(connection: sqlite3.Connection, day: str, episodes: list[EpisodeRows], names: frozenset[str]) -> list[EpisodeRows]:
    query = "SELECT p.episode_id, a.name FROM participants p JOIN agents a USING (agent_id) WHERE p.day = ?"
    outside = {r["episode_id"] for r in connection.execute(query, (day,)) if r["name"] not in names}
    return [episode for episode in episodes if episode.episode_id not in outside]


def _without_repeats(connection: sqlite3.Connection, days: list[SelectedDay], kept: KeptEpisodes) -> list[SelectedDay]:
    shared: dict[str, set[int]] = {}
    # EXISTS: of a join the planner made a scan of all episodes, 0.6 s for 1,000 days of 5,000.
    query = (
        "SELECT s.day, s.episode_id FROM shared_episodes s WHERE EXISTS (SELECT 1 FROM episodes e"
        " WHERE e.day = s.day AND e.episode_id = s.episode_id AND e.status = 'rows')"
    )
    for row in connection.execute(query):
        shared.setdefault(row["day"], set()).add(row["episode_id"])
    seen: set[int] = set()
    result = []
    for day in days:
        again = shared.get(day.day, set()) & seen
        seen |= shared.get(day.day, set())
        if again:
            kept.put(day.day, [e for e in kept.episodes(day.day) if e.episode_id not in again])
        result.append(replace(day, repeated=len(again)) if again else day)
    return result


def _unseen(
    connection: sqlite3.Connection,
    selection: Selection,
    days: list[SelectedDay],
    kept: KeptEpisodes,
    seed: int,
) -> list[SelectedDay]:
    seen = seen_by(home_of(connection), selection.unseen_by)
    touched = kept.rows([day.day for day in days if day.day in kept])
    candidates = [
        Candidate(day.day, touched.get(day.day, day.rows), seen.has(day.sha256, day.rows_digest), partial(kept.episodes, day.day))
        for day in days
    ]
    taken = take_unseen(candidates, selection, seed, len(seen.runs))
    for name, episodes in taken.kept.items():
        if episodes is not None:
            kept.put(name, episodes)
    return [replace(day, replayed=seen.has(day.sha256, day.rows_digest)) for day in days if day.day in taken.kept]


def _share(days: list[SelectedDay], kept: KeptEpisodes, rows: int) -> None:
    sizes = kept.rows([day.day for day in days])
    total = sum(sizes.values())
    if total > rows:
        for day, size in sizes.items():
            kept.cap(day, rows * size // total)


def _narrow(day: SelectedDay, head: Head) -> SelectedDay:
    if len(head.ids) == day.episodes:
        return day
    return replace(day, kept=head.ids, episodes=len(head.ids), rows=head.rows)


def _require_files(connection: sqlite3.Connection, days: Sequence[SelectedDay], full: bool) -> None:
    start = len(f"{home_of(connection).root}/")
    query = "SELECT day, bytes FROM datasets WHERE state = 'validated'"
    sizes = {r["day"]: r["bytes"] for r in connection.execute(query)}
    known = verified(connection)
    for day in days:
        relative = day.path.as_posix()[start:]
        require_file(connection, day.path, relative, day.sha256, sizes[day.day], f"day {day.day}", full, known)
