"""From identity rows to lanes, chunks and orders: the pure core of the plan, which reads and writes no file."""

from dataclasses import dataclass

import numpy as np

from tcg_core.plan.chunks import Chunks, cut_chunks, single_rows
from tcg_core.plan.errors import PlanError
from tcg_core.plan.lanes import Decisions, Lanes, find_lanes
from tcg_core.plan.pack import LanesToPack as Packing
from tcg_core.plan.pack import Order, pack, shuffle_rows
from tcg_core.plan.plan import Side
from tcg_core.plan.rows import IdentityRows
from tcg_core.recipe import Recipe

#: Purposes of random keys: each use of the seed has its own stream.
_TRAIN_ORDER, _VALIDATION_ORDER = 1, 2


@dataclass(frozen=True)
class Assembled:
    """Lanes, decisions, chunks and the orders of each side."""

    lanes: Lanes
    decisions: Decisions
    chunks: Chunks
    orders: dict[Side, tuple[Order, ...]]


def assemble(rows: IdentityRows, recipe: Recipe, first_epoch: int = 0) -> Assembled:
    """Plans the whole run. ``first_epoch``: number of its first epoch, counted over the runs it resumes too; each epoch has an
    order of its own.

    Raises :class:`PlanError` for rows or budgets from which no plan can be made, an empty side among them."""
    work = recipe.work
    for name in ("tbptt_chunk", "batch_size", "val_batch_size", "accum_steps", "open_row_groups"):
        if getattr(work, name) < 1:
            raise PlanError(f"work.{name} is {getattr(work, name)}, expected at least 1")
    for name in ("epochs", "latest_every_updates", "checkpoint_every_epochs"):
        if getattr(recipe, name) < 1:
            raise PlanError(f"{name} is {getattr(recipe, name)}, expected at least 1")
    if recipe.schedule.total_steps < 0:
        raise PlanError(f"schedule.total_steps is {recipe.schedule.total_steps}, expected 0 (this run's updates) or more")
    if not 0 < recipe.optimizer.lr < float("inf") or not 0 <= recipe.schedule.lr_min_ratio <= 1:
        raise PlanError(
            f"optimizer.lr is {recipe.optimizer.lr} and schedule.lr_min_ratio {recipe.schedule.lr_min_ratio}, "
            "expected a positive rate and a ratio of 0 to 1"
        )
    lanes, decisions = find_lanes(rows)
    validation = lanes.validation.astype(bool)
    for name, empty in (("training", validation.all()), ("validation", not validation.any())):
        if empty:
            raise PlanError(
                f"the {name} side is empty: {len(np.unique(lanes.episode_id))} episodes under split.val_frac "
                f"{recipe.split.val_frac}, holdout_days {list(recipe.split.holdout_days)}; add days or change the split"
            )
    if work.mode == "stateless":
        chunks = single_rows(lanes, rows.aux_valid)
    else:
        budget = np.where(validation, work.val_batch_size, work.batch_size)
        chunks = cut_chunks(lanes, decisions, work.tbptt_chunk, budget, np.where(validation, "val_batch_size", "batch_size"))
    orders: dict[Side, tuple[Order, ...]] = {
        "train": tuple(
            _order(lanes, chunks, ~validation, work.batch_size, recipe, np.random.default_rng([recipe.seed, _TRAIN_ORDER, epoch]))
            for epoch in range(first_epoch, first_epoch + recipe.epochs)
        ),
        "validation": (
            _order(
                lanes, chunks, validation, work.val_batch_size, recipe, np.random.default_rng([recipe.seed, _VALIDATION_ORDER])
            ),
        ),
    }
    return Assembled(lanes, decisions, chunks, orders)


def _order(lanes: Lanes, chunks: Chunks, side: np.ndarray, budget: int, recipe: Recipe, generator: np.random.Generator) -> Order:
    # The window is open_row_groups' worth of rows: a side with a tenth of the rows of its groups opens ten times as many.
    touched = np.isin(lanes.group, lanes.group[side])
    window = int(recipe.work.open_row_groups * lanes.rows[touched].sum() / lanes.rows[side].sum())
    if recipe.work.mode == "stateless":
        mine = np.flatnonzero(side[chunks.lane])
        order = shuffle_rows(lanes.group[chunks.lane[mine]], budget, window, generator)
        return Order(mine[order.chunks].astype(np.int32), order.bounds, order.open_groups)
    counts = np.bincount(chunks.lane, minlength=len(lanes))
    first = np.cumsum(counts) - counts
    return pack(Packing(first[side], counts[side], lanes.group[side], chunks.rows), budget, window, generator)
