"""The plan on disk: Parquet tables whose rows say exactly what is executed."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tcg_core.plan.chunks import Chunks
from tcg_core.plan.lanes import Lanes
from tcg_core.plan.pack import Order
from tcg_core.plan.plan import Side

LANES, CHUNKS, SLOTS, BATCHES = "lanes.parquet", "chunks.parquet", "slots.parquet", "microbatches.parquet"
_SIDES: tuple[Side, ...] = ("train", "validation")
_CHUNK_COLUMNS = ("lane", "index", "first_row", "rows", "decisions", "valid")


def write_tables(directory: Path, lanes: Lanes, chunks: Chunks, orders: dict[Side, tuple[Order, ...]]) -> None:
    """Writes lanes, chunks (with the rows of each decision), slots (side, epoch, microbatch, chunk, in order) and
    microbatches (n_rows, n_valid, slots, open row groups)."""
    _write(directory / LANES, {name: getattr(lanes, name) for name in Lanes.__dataclass_fields__})
    decision_rows = pa.ListArray.from_arrays(
        chunks.decision_bounds.astype(np.int32), pa.array(chunks.decision_rows.astype(np.int16))
    )
    _write(directory / CHUNKS, {name: getattr(chunks, name) for name in _CHUNK_COLUMNS} | {"decision_rows": decision_rows})
    slots: dict[str, list[Any]] = {name: [] for name in ("validation", "epoch", "microbatch", "chunk")}
    batches: dict[str, list[Any]] = {
        name: [] for name in ("validation", "epoch", "microbatch", "n_rows", "n_valid", "slots", "open_row_groups")
    }
    for side in _SIDES:
        for epoch, order in enumerate(orders[side]):
            sizes, number = np.diff(order.bounds), np.arange(len(order), dtype=np.int32)
            here = {"validation": side == "validation", "epoch": epoch}
            _append(slots, here | {"microbatch": np.repeat(number, sizes), "chunk": order.chunks}, len(order.chunks))
            n_rows, n_valid = (np.add.reduceat(column[order.chunks], order.bounds[:-1]) for column in (chunks.rows, chunks.valid))
            facts = {"n_rows": n_rows, "n_valid": n_valid, "slots": sizes.astype(np.int32), "open_row_groups": order.open_groups}
            _append(batches, here | {"microbatch": number} | facts, len(order))
    _write(directory / SLOTS, {name: np.concatenate(parts) for name, parts in slots.items()})
    _write(directory / BATCHES, {name: np.concatenate(parts) for name, parts in batches.items()})


def read_tables(directory: Path, epochs: int) -> tuple[Lanes, Chunks, dict[Side, tuple[Order, ...]]]:
    """Reads back what :func:`write_tables` wrote."""
    lanes = _read(directory / LANES)
    table = pq.read_table(directory / CHUNKS)
    lists = table.column("decision_rows").combine_chunks()
    chunks = Chunks(
        **{name: table.column(name).to_numpy() for name in _CHUNK_COLUMNS},
        decision_rows=lists.flatten().to_numpy().astype(np.int32),
        decision_bounds=lists.offsets.to_numpy().astype(np.int64),
    )
    slots, batches = _read(directory / SLOTS), _read(directory / BATCHES)
    orders: dict[Side, tuple[Order, ...]] = {}
    for side in _SIDES:
        found = []
        for epoch in range(epochs if side == "train" else 1):
            of_slots = (slots["validation"] == (side == "validation")) & (slots["epoch"] == epoch)
            of_batches = (batches["validation"] == (side == "validation")) & (batches["epoch"] == epoch)
            bounds = np.concatenate([np.zeros(1, np.int64), np.cumsum(batches["slots"][of_batches], dtype=np.int64)])
            found.append(Order(slots["chunk"][of_slots], bounds, batches["open_row_groups"][of_batches]))
        orders[side] = tuple(found)
    return Lanes(**lanes), chunks, orders


def _append(table: dict[str, list[Any]], values: dict[str, Any], length: int) -> None:
    for name, value in values.items():
        dtype = {"validation": np.bool_, "epoch": np.int32}.get(name)
        table[name].append(np.full(length, value, dtype) if dtype else value)


def _write(path: Path, columns: dict[str, Any]) -> None:
    pq.write_table(pa.table(columns), path, compression="zstd")


def _read(path: Path) -> dict[str, Any]:
    table = pq.read_table(path)
    return {name: table.column(name).to_numpy() for name in table.column_names}
