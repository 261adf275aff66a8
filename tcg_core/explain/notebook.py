"""What is in the data home, as pandas frames, one line each: for notebooks and reports, never on the training path.

>>> from tcg_core.explain import notebook
>>> notebook.days()[["day", "state", "rows"]]                 # every day of the catalog
>>> notebook.rows("2026-08-01").groupby("side").outcome.mean()  # rows of a validated day
>>> notebook.plan().groupby("microbatch")["rows"].sum()       # what each microbatch holds
>>> notebook.checkpoint()[["epoch", "train_loss", "validation.acc"]]
>>> notebook.games().groupby("opponent").outcome.value_counts()

Each takes ``home`` (the data home, ``$TCG_DATA`` if None); ids default to the latest whose checks passed.
"""

import json
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from tcg_core.base.errors import UnknownId
from tcg_core.base.home import Home, parse_day
from tcg_core.catalog import registry
from tcg_core.catalog.connection import catalog
from tcg_core.catalog.datasets import datasets_of
from tcg_core.days.states import listed_days
from tcg_core.encode.columns import Columns
from tcg_core.encode.schema import SCHEMA
from tcg_core.plan.load import load_plan
from tcg_core.plan.plan import Side
from tcg_core.rows.reader import DayReader
from tcg_core.train.runs.pointers import LATEST, require

Where = Home | Path | str | None


def days(home: Where = None) -> pd.DataFrame:
    """One row per day of the catalog: state, episodes, rows, bytes, generation, dataset, archive, reason, and why it is stale."""
    return pd.DataFrame(listed_days(_home(home)))


def rows(day: str, streams: Iterable[str] | None = None, home: Where = None) -> pd.DataFrame:
    """One row a pick of the validated dataset of ``day``, in canonical order.

    streams: names of the schema; every stream with one value a row if None. A ragged stream becomes lists, a fixed one
    arrays. Raises :class:`UnknownId` for a day without a validated dataset or a stream that is not in the schema.
    """
    found = _home(home)
    with catalog(found) as connection:
        datasets = datasets_of(connection, parse_day(day), "validated")
    if not datasets:
        raise UnknownId(f"day {day} has no validated dataset in {found.root}")
    names = [stream.name for stream in SCHEMA.streams if stream.kind == "scalar"] if streams is None else list(streams)
    for name in names:
        if name not in SCHEMA.by_name:
            raise UnknownId(f"stream {name!r} is not in the schema")
    with DayReader(found.root / datasets[0].path) as reader:
        columns = reader.read(names)
    return pd.DataFrame({name: _values(columns, name) for name in names})


def plan(plan_id: str = "", epoch: int = 0, side: Side = "train", home: Where = None) -> pd.DataFrame:
    """One row a slot of each microbatch of an epoch: microbatch, slot, day, episode_id, game, side, chunk (number in its
    lane), rows, decisions, resets_memory, last_of_lane."""
    found = _home(home)
    stored = load_plan(found, plan_id or registry.latest_passed(found, "work_plan"))
    if not 0 <= epoch < stored.recipe.epochs:
        raise UnknownId(f"plan {stored.id} has epochs 0 to {stored.recipe.epochs - 1}, not {epoch}")
    parts = []
    for batch in stored.microbatches(epoch, side):
        lanes, lane = stored.lanes, batch.lane
        parts.append(
            {
                "microbatch": np.full(len(lane), batch.index),
                "slot": np.arange(len(lane)),
                "day": [stored.days[number].day for number in lanes.day[lane]],
                "episode_id": lanes.episode_id[lane],
                "game": lanes.game[lane],
                "side": lanes.side[lane],
                "chunk": stored.chunks.index[batch.chunk],
                "rows": batch.rows,
                "decisions": batch.decisions,
                "resets_memory": batch.resets_memory,
                "last_of_lane": batch.last_of_lane,
            }
        )
    return pd.concat(map(pd.DataFrame, parts), ignore_index=True)


def checkpoint(run: str = "", home: Where = None) -> pd.DataFrame:
    """One row a finished epoch of a training run, finished or not: its losses, seconds and validation metrics by dotted name
    (``validation.acc``, ``validation.unforced.acc``). Empty before the first validation."""
    found = _home(home)
    step = require(found.checkpoints / (run or registry.latest_passed(found, "checkpoint")), LATEST)
    history = json.loads((step / "state.json").read_text())["progress"]["history"]
    return pd.json_normalize(history)


def games(tournament: str = "", home: Where = None) -> pd.DataFrame:
    """One row a game of a tournament: seats, decks, seeds, outcome and reason, decisions, seconds, fallbacks."""
    found = _home(home)
    path = registry.find(found, "tournament", tournament or registry.latest_passed(found, "tournament"))
    return pd.read_parquet(path / "games.parquet")


def _home(home: Where) -> Home:
    return home if isinstance(home, Home) else Home.resolve(home)


def _values(columns: Columns, name: str) -> Any:
    stream, array = SCHEMA.by_name[name], columns[name]
    if stream.kind == "scalar":
        return array
    if stream.group is None:
        return list(array)
    bounds = columns.offsets[stream.group]
    return [array[start:end].tolist() for start, end in pairwise(bounds)]
