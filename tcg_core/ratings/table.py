"""The ratings as a table on disk: one row an agent, day and source; what the checks read back and a person opens."""

import sqlite3
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as parquet
from matplotlib.figure import Figure

TABLE, PLOT = "ratings.parquet", "ratings.png"
_SHOWN = 10
_SCHEMA = pa.schema(
    [
        pa.field("day", pa.string(), nullable=False),
        pa.field("source", pa.string(), nullable=False),
        pa.field("as_of", pa.string()),
        pa.field("agent", pa.string(), nullable=False),
        pa.field("elo", pa.float64(), nullable=False),
        *(pa.field(name, pa.int32(), nullable=False) for name in ("games", "wins", "losses", "draws")),
    ]
)
_QUERY = (
    "SELECT e.day, e.source, r.as_of, a.name AS agent, e.elo, e.games, e.wins, e.losses, e.draws FROM agent_elo_daily e"
    " JOIN agents a USING (agent_id) JOIN rating_days r ON r.day = e.day AND r.source = e.source"
    " ORDER BY e.day, e.source, e.elo DESC, a.name"
)


def write_ratings(connection: sqlite3.Connection, directory: Path) -> None:
    """Writes the table, by day, source and falling rating, and its picture."""
    rows = connection.execute(_QUERY).fetchall()
    columns = list(zip(*(tuple(row) for row in rows), strict=True)) or [()] * len(_SCHEMA)
    arrays = [pa.array(column, field.type) for column, field in zip(columns, _SCHEMA, strict=True)]
    parquet.write_table(pa.Table.from_arrays(arrays, schema=_SCHEMA), directory / TABLE, compression="zstd")
    _draw(directory / PLOT, rows)


def read_ratings(directory: Path) -> list[dict[str, Any]]:
    """The rows of the table."""
    rows: list[dict[str, Any]] = parquet.read_table(directory / TABLE).to_pylist()
    return rows


def _draw(path: Path, rows: Sequence[Any]) -> None:
    last = {source: max(row["day"] for row in rows if row["source"] == source) for source in {row["source"] for row in rows}}
    figure = Figure(figsize=(7, 2.8), dpi=80, layout="constrained")
    axes = figure.subplots(1, max(len(last), 1), squeeze=False)[0]
    for axis, (source, day) in zip(axes, sorted(last.items()), strict=False):
        mine = [row for row in rows if row["source"] == source]
        for name in [row["agent"] for row in mine if row["day"] == day][:_SHOWN]:
            curve = [(date.fromisoformat(row["day"]), row["elo"]) for row in mine if row["agent"] == name]
            axis.plot(*zip(*curve, strict=True), marker=".", label=name[:20])
        axis.set(title=f"{source}: the best {_SHOWN} of {day}", ylabel="rating at the day's start")
        axis.tick_params(axis="x", rotation=60)
        axis.legend(fontsize=6)
    figure.savefig(path, metadata={"Software": None})
