"""What a plan must hold, re-derived from the plan alone (and the selected rows it was made for)."""

import numpy as np

from tcg_core.base.checks import Check
from tcg_core.plan.plan import Plan, Side
from tcg_core.plan.rows import Array, IdentityRows


def check_plan(plan: Plan, rows: IdentityRows) -> tuple[Check, ...]:
    """The five checks of a plan, each a pure function."""
    return each_row_once(plan, rows), decisions_whole(plan, rows), budgets(plan), lane_order(plan), split_disjoint(plan, rows)


def each_row_once(plan: Plan, rows: IdentityRows) -> Check:
    """Every epoch's microbatches hold each selected row of their side exactly once, and no other."""
    wrong = []
    for side, epoch, ids in _epochs(plan):
        planned = _rows_of(plan, ids)
        wanted = rows.row[rows.validation.astype(bool) == (side == "validation")]
        if not np.array_equal(np.sort(planned), np.sort(wanted)):
            missing = len(np.setdiff1d(wanted, planned))
            foreign = len(np.setdiff1d(planned, wanted))
            wrong.append(
                f"{side} epoch {epoch}: {missing} rows missing, {len(planned) - len(np.unique(planned))} repeated, "
                f"{foreign} not selected"
            )
    return Check(
        "each_row_once",
        not wrong,
        wrong[0] if wrong else f"{len(rows)} selected rows, each once an epoch",
        facts={"rows": len(rows), "epochs": len(plan.orders["train"])},
    )


def decisions_whole(plan: Plan, rows: IdentityRows) -> Check:
    """No decision (lane, step_id) has rows in two chunks. In stateless mode rows stand alone and nothing is to be kept whole."""
    if plan.stateless:
        return Check("decisions_whole", True, "stateless baseline: rows stand alone")
    order = np.argsort(plan.chunks.first_row, kind="stable")
    at = np.searchsorted(plan.chunks.first_row[order], rows.row, side="right") - 1
    chunk = order[np.maximum(at, 0)]
    same = np.ones(max(len(rows) - 1, 0), bool)
    for column in (rows.episode_id, rows.game, rows.side, rows.step_id):
        same &= column[1:] == column[:-1]
    cut = np.flatnonzero(same & (chunk[1:] != chunk[:-1]))
    if len(cut):
        r = int(cut[0])
        return Check(
            "decisions_whole",
            False,
            f"{len(cut)} decisions are cut; first: episode {rows.episode_id[r]} game {rows.game[r]} side {rows.side[r]} "
            f"step_id {rows.step_id[r]}",
        )
    return Check("decisions_whole", True, f"{int(plan.chunks.decisions.sum())} decisions, none cut")


def budgets(plan: Plan) -> Check:
    """Decisions of a chunk <= tbptt_chunk, rows of a microbatch <= batch_size (val_batch_size)."""
    work = plan.recipe.work
    longest = int(plan.chunks.decisions.max())
    largest = {
        side: max(int(_batch_rows(plan, side, epoch).max()) for epoch in range(len(plan.orders[side])))
        for side in ("train", "validation")
    }
    passed = longest <= work.tbptt_chunk and largest["train"] <= work.batch_size and largest["validation"] <= work.val_batch_size
    message = (
        f"longest chunk {longest} of {work.tbptt_chunk} decisions; largest microbatch {largest['train']} of "
        f"{work.batch_size} rows, validation {largest['validation']} of {work.val_batch_size}"
    )
    return Check("budgets", passed, message, facts={"longest_chunk": longest} | {f"largest_{k}": v for k, v in largest.items()})


def lane_order(plan: Plan) -> Check:
    """A lane's chunks come in their order, in strictly later microbatches, and a microbatch holds a lane at most once."""
    for side, epoch, ids in _epochs(plan):
        if plan.stateless:
            break
        bounds = plan.orders[side][epoch].bounds
        batch = np.repeat(np.arange(len(bounds) - 1), np.diff(bounds))
        order = np.lexsort((batch, plan.chunks.lane[ids]))
        lane, number, when = plan.chunks.lane[ids][order], plan.chunks.index[ids][order], batch[order]
        bad = (lane[1:] == lane[:-1]) & ((number[1:] != number[:-1] + 1) | (when[1:] <= when[:-1]))
        first = np.concatenate([[True], lane[1:] != lane[:-1]])
        bad_start = first & (number != 0)
        if bad.any() or bad_start.any():
            at = int(np.argmax(bad)) + 1 if bad.any() else int(np.argmax(bad_start))
            return Check(
                "lane_order",
                False,
                f"{side} epoch {epoch}: lane {plan.lanes.name(int(lane[at]))} is out of order at chunk {number[at]}",
            )
    return Check("lane_order", True, f"{len(plan.lanes)} lanes in order")


def split_disjoint(plan: Plan, rows: IdentityRows) -> Check:
    """No episode has lanes on both sides."""
    side = rows.validation.astype(bool)
    both = np.intersect1d(rows.episode_id[side], rows.episode_id[~side])
    train, validation = (len(np.unique(rows.episode_id[mask])) for mask in (~side, side))
    lanes_agree = np.isin(plan.lanes.episode_id[plan.lanes.validation.astype(bool)], rows.episode_id[~side]).sum() == 0
    passed = not len(both) and bool(lanes_agree)
    message = (
        f"{train} training and {validation} validation episodes"
        if passed
        else f"{len(both)} episodes on both sides, first {both[:1].tolist()}"
    )
    return Check("split_disjoint", passed, message, facts={"train_episodes": train, "validation_episodes": validation})


def _epochs(plan: Plan) -> list[tuple[Side, int, Array]]:
    sides: tuple[Side, ...] = ("train", "validation")
    return [(side, epoch, order.chunks) for side in sides for epoch, order in enumerate(plan.orders[side])]


def _rows_of(plan: Plan, ids: Array) -> Array:
    counts = plan.chunks.rows[ids].astype(np.int64)
    ends = np.cumsum(counts)
    found: Array = np.arange(ends[-1]) + np.repeat(plan.chunks.first_row[ids] - (ends - counts), counts)
    return found


def _batch_rows(plan: Plan, side: Side, epoch: int) -> Array:
    order = plan.orders[side][epoch]
    found: Array = np.add.reduceat(plan.chunks.rows[order.chunks], order.bounds[:-1])
    return found
