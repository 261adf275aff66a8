"""The selected rows, from the catalog and the Parquet days: identity columns only."""

import sqlite3
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tcg_core.atomic import sha256_json
from tcg_core.catalog.connection import catalog
from tcg_core.catalog.registry import relative
from tcg_core.catalog.selection import SelectedDay, select_days
from tcg_core.dataset.reader import DayReader
from tcg_core.home import Home
from tcg_core.plan.errors import PlanError
from tcg_core.plan.rows import IdentityRows, PlanDay
from tcg_core.plan.split import validation_episodes
from tcg_core.provenance import read_manifest
from tcg_core.recipe import Recipe

_STREAMS = ("episode_id", "game", "side", "step_id", "new_episode", "aux_valid")


@dataclass(frozen=True)
class Selected:
    """Days of the plan, their selected rows, and the digest of which episodes those are and on which side."""

    days: tuple[PlanDay, ...]
    rows: IdentityRows
    digest: str


@dataclass(frozen=True)
class _Episode:
    content: str
    generation: str


def select(home: Home, recipe: Recipe) -> Selected:
    """Resolves the recipe's selection against the catalog.

    Raises what :func:`~tcg_core.catalog.selection.select_days` raises, and :class:`PlanError` for an episode the catalog
    does not know, a hold-out day that is not selected, or engine generations of which there are no rows.
    """
    days: list[PlanDay] = []
    parts: list[IdentityRows] = []
    kept: dict[str, list[int]] = {}
    first_row = first_group = 0
    with catalog(home) as connection:
        chosen = select_days(connection, recipe.selection)
        absent = sorted(set(recipe.split.holdout_days) - {day.day for day in chosen})
        if absent:
            raise PlanError(f"split.holdout_days: {', '.join(absent)} is not among the selected days")
        for day in chosen:
            reader = DayReader(Path(day.path))
            rows = _day_rows(connection, day, reader, recipe, len(days), first_row, first_group)
            manifest = read_manifest(Path(day.path).parent)
            days.append(
                PlanDay(
                    day.day, manifest.id, relative(home, Path(day.path)), day.sha256, manifest.content,
                    reader.rows, first_row, len(reader.row_groups), first_group,
                )
            )
            parts.append(rows)
            kept[day.day] = [int(episode) for episode in np.unique(rows.episode_id)]
            first_row += reader.rows
            first_group += len(reader.row_groups)
    rows = IdentityRows.concatenate(parts)
    if not len(rows):
        raise PlanError(f"no rows of engine generation {', '.join(recipe.generations)} on {', '.join(day.day for day in days)}")
    return Selected(tuple(days), rows, sha256_json(kept))


def _day_rows(
    connection: sqlite3.Connection, day: SelectedDay, reader: DayReader, recipe: Recipe, number: int, first_row: int, first_group: int
) -> IdentityRows:
    found = connection.execute("SELECT episode_id, content_hash, generation FROM episodes WHERE day = ? AND status = 'rows'", (day.day,))
    episodes = {int(row[0]): _Episode(str(row[1]), str(row[2])) for row in found}
    wanted = {episode: episodes[episode] for episode in day.episodes if episodes[episode].generation in recipe.generations}
    columns = reader.read(_STREAMS)
    ids, where = np.unique(columns["episode_id"], return_inverse=True)
    unknown = [int(episode) for episode in ids if int(episode) not in episodes]
    if unknown:
        raise PlanError(f"day {day.day}: episode {unknown[0]} has rows but is not in the catalog")
    known = [wanted.get(int(episode)) for episode in ids]
    validation = validation_episodes(recipe.split, day.day, {int(e): k.content for e, k in zip(ids, known, strict=True) if k})
    of_episode = {
        "keep": np.array([k is not None for k in known]),
        "validation": np.array([int(episode) in validation for episode in ids]),
        "generation": np.array([recipe.generations.index(k.generation) if k else 0 for k in known], np.int8),
    }
    starts = np.array([first for first, _ in reader.row_groups], np.int64)
    row = np.arange(columns.rows, dtype=np.int64)
    rows = IdentityRows(
        row=row + first_row,
        group=(np.searchsorted(starts, row, side="right") - 1 + first_group).astype(np.int32),
        day=np.full(columns.rows, number, np.int16),
        episode_id=columns["episode_id"],
        game=columns["game"],
        side=columns["side"],
        step_id=columns["step_id"],
        new_episode=columns["new_episode"],
        aux_valid=columns["aux_valid"],
        generation=of_episode["generation"][where],
        validation=of_episode["validation"][where],
    )
    return rows.take(np.flatnonzero(of_episode["keep"][where]))
