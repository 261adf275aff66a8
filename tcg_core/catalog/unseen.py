"""Days that a run has not seen, with a seeded sample of those it has: the data of a fine-tune.

Under ``max_rows`` the ratio of new to old rows is kept: unseen days get ``max_rows / (1 + replay)`` rows. They are taken
whole, newest first; days that do not fit stay unseen for the next run. Only the newest day is cut, if it alone is too large.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from tcg_core.catalog.caps import EpisodeRows, capped
from tcg_core.catalog.errors import SelectionEmpty
from tcg_core.recipe import Selection


@dataclass(frozen=True)
class Candidate:
    """A validated day: its rows, whether the run has seen its file, and a query for its episodes, made where needed."""

    day: str
    rows: int
    seen: bool
    episodes: Callable[[], list[EpisodeRows]]


@dataclass(frozen=True)
class Taken:
    """What is taken of each day: its episodes, or None for all of them. A day that is not a key is left out."""

    kept: Mapping[str, list[EpisodeRows] | None]


@dataclass(frozen=True)
class _Held(EpisodeRows):
    day: str


def take_unseen(candidates: Sequence[Candidate], selection: Selection, seed: int, runs: int) -> Taken:
    """What ``selection`` takes of ``candidates``, which are sorted by date; ``runs``: how many runs were searched, for the
    message.

    The sample is drawn from the episodes of all seen days together. It depends on ``unseen_by``, so that each champion
    rehearses different games. Raises :class:`SelectionEmpty` if no day with rows is unseen.
    """
    new = [day for day in candidates if not day.seen and day.rows]
    old = [day for day in candidates if day.seen and day.rows]
    if not new:
        before = f" or by the {runs - 1} it went on from" if runs > 1 else ""
        raise SelectionEmpty(
            f"selection: no validated day is unseen by run {selection.unseen_by}: it was trained on all {len(candidates)}{before}"
        )
    old_rows = sum(day.rows for day in old)
    kept: dict[str, list[EpisodeRows] | None] = {}
    rows = sum(day.rows for day in new)
    if selection.max_rows and rows + min(int(rows * selection.replay), old_rows) > selection.max_rows:
        rows = _cut(kept, new, max(int(selection.max_rows / (1 + selection.replay)), selection.max_rows - old_rows), seed)
    else:
        kept.update({day.day: None for day in new})
    wanted = int(rows * selection.replay)
    if wanted >= old_rows:
        return Taken(kept | ({day.day: None for day in old} if wanted else {}))
    pool = [_Held(episode.episode_id, episode.rows, day.day) for day in old for episode in day.episodes()] if wanted else []
    for episode in capped(pool, wanted, f"{seed}:{selection.unseen_by}"):
        found = kept.setdefault(episode.day, [])
        if found is not None:
            found.append(episode)
    return Taken(kept)


def _cut(kept: dict[str, list[EpisodeRows] | None], new: Sequence[Candidate], rows: int, seed: int) -> int:
    """Takes new days within ``rows``; returns the rows taken. Raises :class:`SelectionEmpty` if not one episode fits."""
    taken = 0
    for day in reversed(new):
        if taken + day.rows > rows:
            if not taken:
                chosen = capped(day.episodes(), rows, seed)
                if not chosen:
                    raise SelectionEmpty(
                        f"selection: max_rows leaves {rows} rows of the unseen days, less than one episode of {day.day}"
                    )
                kept[day.day] = list(chosen)
                return sum(episode.rows for episode in chosen)
            break
        kept[day.day] = None
        taken += day.rows
    return taken
