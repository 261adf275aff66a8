"""The selected rows, from the catalog and the Parquet days: identity columns only."""

import sqlite3
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tcg_core.base.digest import canonical_json, sha256_json
from tcg_core.base.home import Home
from tcg_core.base.manifest import read_manifest
from tcg_core.catalog.connection import catalog
from tcg_core.catalog.registry import relative
from tcg_core.catalog.selection import SelectedDay, episode_contents, select_days
from tcg_core.catalog.standing import DayRating
from tcg_core.days.code import require_present_code
from tcg_core.plan.errors import PlanError
from tcg_core.plan.rows import IdentityRows, PlanDay
from tcg_core.plan.split import validation_episodes
from tcg_core.plan.unseen import unseen_facts
from tcg_core.recipe import Recipe
from tcg_core.rows.digest import fill_digests_for
from tcg_core.rows.reader import DayReader

_STREAMS = ("episode_id", "game", "side", "step_id", "new_episode", "aux_valid")


@dataclass(frozen=True)
class Selected:
    """Days of the plan, their selected rows, and the digest of which episodes those are and on which side.

    ratings: by which ratings ``top_elo`` chose the episodes of each day; empty without it. would_ko: under which settings all
    days were looked ahead, None where they were not. unseen: with ``unseen_by``, what of the days is new and what a sample.
    """

    days: tuple[PlanDay, ...]
    rows: IdentityRows
    digest: str
    ratings: tuple[DayRating, ...] = ()
    would_ko: dict[str, Any] | None = None
    unseen: dict[str, Any] = field(default_factory=dict)


def select(home: Home, recipe: Recipe) -> Selected:
    """Resolves the recipe's selection against the catalog.

    Raises what :func:`~tcg_core.catalog.selection.select_days` and :func:`~tcg_core.days.code.require_present_code`
    raise, and :class:`PlanError` for an episode the catalog does not know, a hold-out day that is not selected, or engine
    generations of which there are no rows.
    """
    days: list[PlanDay] = []
    parts: list[IdentityRows] = []
    kept: dict[str, list[list[int]]] = {}
    settings: dict[str, dict[str, Any] | None] = {}
    first_row = first_group = 0
    fill_digests_for(home, recipe.selection.unseen_by)
    with catalog(home) as connection:
        chosen = select_days(connection, recipe.selection, recipe.generations)
        require_present_code(connection, chosen)
        unseen = unseen_facts(connection, recipe, chosen)
        absent = sorted(set(recipe.split.holdout_days) - {day.day for day in chosen})
        if absent:
            raise PlanError(f"split.holdout_days: {', '.join(absent)} is not among the selected days")
        for day in chosen:
            reader = DayReader(day.path)
            rows = _day_rows(connection, day, reader, recipe, len(days), first_row, first_group)
            manifest = read_manifest(day.path.parent)
            settings[day.day] = manifest.config.get("would_ko")
            days.append(
                PlanDay(
                    day.day,
                    manifest.id,
                    relative(home, day.path),
                    day.sha256,
                    manifest.content,
                    reader.rows,
                    first_row,
                    len(reader.row_groups),
                    first_group,
                    day.rows_digest or "",
                )
            )
            parts.append(rows)
            sides = (rows.episode_id[rows.validation == side] for side in (False, True))
            kept[day.day] = [[int(episode) for episode in np.unique(ids)] for ids in sides]
            first_row += reader.rows
            first_group += len(reader.row_groups)
    looked = _require_one_would_ko(settings, recipe)
    rows = IdentityRows.concatenate(parts)
    if not len(rows):
        raise PlanError(f"no rows of engine generation {', '.join(recipe.generations)} on {', '.join(day.day for day in days)}")
    ratings = tuple(day.rating for day in chosen if day.rating is not None)
    return Selected(tuple(days), rows, sha256_json(kept), ratings, looked, unseen=unseen)


def _day_rows(
    connection: sqlite3.Connection,
    day: SelectedDay,
    reader: DayReader,
    recipe: Recipe,
    number: int,
    first_row: int,
    first_group: int,
) -> IdentityRows:
    contents = episode_contents(connection, day.day)
    generations = _generations(connection, day.day)
    kept = set(contents) if day.kept is None else set(day.kept)
    columns = reader.read(_STREAMS)
    ids, where = np.unique(columns["episode_id"], return_inverse=True)
    unknown = [int(episode) for episode in ids if int(episode) not in contents]
    if unknown:
        raise PlanError(f"day {day.day}: episode {unknown[0]} has rows but is not in the catalog")
    wanted = [int(e) for e in ids if int(e) in kept and generations[int(e)] in recipe.generations]
    validation = validation_episodes(recipe.split, day.day, {episode: contents[episode] for episode in wanted})
    known = {name: i for i, name in enumerate(recipe.generations)}
    keep = np.isin(ids, wanted)
    on_validation = np.isin(ids, sorted(validation))
    generation = np.array([known.get(generations[int(e)], 0) for e in ids], np.int8)
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
        generation=generation[where],
        validation=on_validation[where],
    )
    return rows.take(np.flatnonzero(keep[where]))


def _require_one_would_ko(settings: dict[str, dict[str, Any] | None], recipe: Recipe) -> dict[str, Any] | None:
    """Days that were looked ahead under different settings, or some only, are not one data set; a network that reads the looks
    needs them of every day, its ablation by ``zero_wouldko`` included. Returns the settings."""
    lacking = [day for day, chosen in settings.items() if chosen is None]
    if recipe.model.would_ko and lacking:
        remedy = f"tcg day build {lacking[0]} --would-ko"
        raise PlanError(f"model.would_ko is on, but day {', '.join(lacking)} was built without would-KO: {remedy}")
    found: dict[str, list[str]] = {}
    for day, chosen in settings.items():
        found.setdefault("off" if chosen is None else canonical_json(chosen), []).append(day)
    if len(found) > 1:
        told = "; ".join(f"{', '.join(days)}: {setting}" for setting, days in found.items())
        raise PlanError(f"the days mix would-KO settings: {told}")
    return next(iter(settings.values()))


def _generations(connection: sqlite3.Connection, day: str) -> dict[int, str]:
    query = "SELECT episode_id, generation FROM episodes WHERE day = ? AND status = 'rows'"
    return {int(row["episode_id"]): str(row["generation"]) for row in connection.execute(query, (day,))}
