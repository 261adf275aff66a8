"""What a person wants to know of a plan, and its picture."""

from pathlib import Path
from typing import Any

import numpy as np

from tcg_core.plan.assemble import Assembled
from tcg_core.plan.pack import Order
from tcg_core.plan.plan import Side
from tcg_core.recipe import Recipe


def summarize(made: Assembled, recipe: Recipe) -> dict[str, Any]:
    """Counts of both sides; fill: rows / (microbatches * budget); idle slots: share of (lane, time step) cells of a
    microbatch without a decision because another lane's chunk is longer."""
    validation = made.lanes.validation.astype(bool)
    work = recipe.work
    facts: dict[str, Any] = {
        "mode": work.mode,
        "days": len(np.unique(made.lanes.day)),
        "episodes": len(np.unique(made.lanes.episode_id)),
    }
    for side, mask, budget in (("train", ~validation, work.batch_size), ("validation", validation, work.val_batch_size)):
        name: Side = "train" if side == "train" else "validation"
        orders = made.orders[name]
        counts = [len(order) for order in orders]
        rows = int(made.lanes.rows[mask].sum())
        facts |= {
            f"{side}_rows": rows,
            f"{side}_decisions": int(made.lanes.decisions[mask].sum()),
            f"{side}_lanes": int(mask.sum()),
            f"{side}_microbatches": counts,
            f"{side}_fill_pct": round(100 * rows * len(counts) / (sum(counts) * budget), 1),
            f"{side}_idle_slots_pct": round(100 * float(np.mean([_idle(made, order) for order in orders])), 1),
            f"{side}_open_row_groups": max(int(order.open_groups.max()) for order in orders),
        }
    facts["updates"] = [-(-len(order) // work.accum_steps) for order in made.orders["train"]]
    facts["horizon"] = int(sum(facts["updates"]))
    return facts


def _idle(made: Assembled, order: Order) -> float:
    decisions = made.chunks.decisions[order.chunks]
    longest = np.maximum.reduceat(decisions, order.bounds[:-1])
    return 1 - float(decisions.sum()) / float((longest * np.diff(order.bounds)).sum())


def plot(path: Path, made: Assembled, recipe: Recipe) -> None:
    """Rows of each microbatch of the first epoch, and how many of them are openings (first chunk of a lane)."""
    from matplotlib.figure import Figure

    order = made.orders["train"][0]
    rows = np.add.reduceat(made.chunks.rows[order.chunks], order.bounds[:-1])
    opening = np.add.reduceat(
        np.where(made.chunks.index[order.chunks] == 0, made.chunks.rows[order.chunks], 0), order.bounds[:-1]
    )
    figure = Figure(figsize=(6, 2.6), layout="constrained")
    axes = figure.subplots()
    axes.fill_between(np.arange(len(rows)), rows, step="mid", color="#9dc3e6", label="rows")
    axes.fill_between(np.arange(len(rows)), opening, step="mid", color="#1f4e79", label="of first chunks")
    axes.axhline(recipe.work.batch_size, color="black", linewidth=0.8, linestyle="--", label="batch_size")
    axes.set(xlabel="microbatch of epoch 0", ylabel="rows", ylim=(0, recipe.work.batch_size * 1.15))
    axes.legend(loc="lower right", fontsize=7, ncols=3)
    figure.savefig(path, dpi=80)
