"""A microbatch made ready for the network, as numpy only, so that a thread may do it ahead."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from tcg_core.encode.cards import CardTables
from tcg_core.encode.collate import BatchShape, blank_looks, collate
from tcg_core.encode.columns import Array
from tcg_core.model.batch import WOULD_KO, input_names
from tcg_core.plan.plan import Microbatch, Plan
from tcg_core.train.data import Source
from tcg_core.train.shapes import Cutter, lengths_of

#: Streams beside the collated ones that losses and metrics read, with the dtype they get.
LABELS = {
    "aux_valid": np.float32,
    "aux_ko": np.float32,
    "aux_prize_delta": np.float32,
    "aux_terminal": np.float32,
    "aux_return": np.float32,
    "is_attack": np.bool_,
    "forced": np.bool_,
}


@dataclass(frozen=True)
class Group:
    """Rows of one time step in one padded shape: inputs (the collated batch), labels [B], lane position of each row among
    the step's active lanes, int32 [B], and global row numbers."""

    inputs: Mapping[str, Array]
    labels: Mapping[str, Array]
    lane: Array
    rows: Array


@dataclass(frozen=True)
class Step:
    """The t-th decision of all lanes that have one. ``active`` lanes come first in slot order; ``last``: position of each
    active lane's last substep in the concatenated rows of the groups, int32 [active]."""

    groups: tuple[Group, ...]
    active: int
    last: Array


@dataclass(frozen=True)
class Prepared:
    """A microbatch: its slots reordered so that longer chunks come first. lanes, resets, done: [slots]."""

    index: int
    lanes: Array
    resets: Array
    done: Array
    steps: tuple[Step, ...]
    n_rows: int
    n_valid: int
    padded_tokens: int
    real_tokens: int

    @property
    def slots(self) -> int:
        """Slots that memory is carried for."""
        return len(self.lanes)


def prepare(plan: Plan, batch: Microbatch, source: Source, cards: CardTables, cutter: Cutter) -> Prepared:
    """Fetches and collates the rows of a microbatch.

    Raises what collating raises (a row without a legal answer, an id outside the tables), naming the lane.
    """
    order = np.argsort(-batch.decisions, kind="stable")
    slot, step, rows, last = _layout(plan, batch, order)
    columns = source.fetch(rows)
    generation = np.array(plan.recipe.generations)[plan.lanes.generation[batch.lane[order]][slot]]
    lengths = lengths_of(columns)
    members: list[tuple[int, Array, BatchShape]] = []
    for t in range(int(step[-1]) + 1):
        here = np.flatnonzero(step == t)
        members.extend((t, here[part], shape) for part, shape in cutter.cut(lengths[here]))
    collated = {}
    for shape in dict.fromkeys(shape for _, _, shape in members):
        index = np.concatenate([part for _, part, of in members if of == shape])
        collated[shape] = collate(columns.take(index), generation[index], cards, shape)
        if plan.recipe.zero_wouldko:
            collated[shape][WOULD_KO] = blank_looks(len(index), shape.options)
    names, taken = input_names(plan.recipe.model), dict.fromkeys(collated, 0)
    groups: dict[int, list[Group]] = {}
    for t, part, shape in members:
        arrays, cut = collated[shape], slice(taken[shape], taken[shape] + len(part))
        taken[shape] = cut.stop
        labels: dict[str, Array] = {name: columns[name][part].astype(dtype) for name, dtype in LABELS.items()}
        labels |= {"target": arrays["target"][cut], "opt_group": arrays["opt_group"][cut]}
        inputs = {name: arrays[name][cut] for name in names}
        groups.setdefault(t, []).append(Group(inputs, labels, slot[part].astype(np.int32), rows[part]))
    sizes = columns.lengths("card") + columns.lengths("unit") + columns.lengths("option")
    return Prepared(
        index=batch.index,
        lanes=batch.lane[order],
        resets=batch.resets_memory[order],
        done=batch.last_of_lane[order],
        steps=tuple(_step(found, last) for _, found in sorted(groups.items())),
        n_rows=batch.n_rows,
        n_valid=batch.n_valid,
        padded_tokens=sum(len(part) * (shape.cards + shape.units + shape.options) for _, part, shape in members),
        real_tokens=int(sizes.sum()),
    )


def _layout(plan: Plan, batch: Microbatch, order: Array) -> tuple[Array, Array, Array, set[int]]:
    """Of each row, ordered by (step, slot, substep): slot, step, global number; and the global numbers of last substeps."""
    counts = [plan.decision_rows(int(chunk)) for chunk in batch.chunk[order]]
    decisions = np.array([len(count) for count in counts])
    of_decision = np.concatenate(counts).astype(np.int64)
    slot = np.repeat(np.repeat(np.arange(len(order)), decisions), of_decision)
    step = np.repeat(np.concatenate([np.arange(n) for n in decisions]), of_decision)
    sizes = batch.rows[order].astype(np.int64)
    rows = np.repeat(batch.first_row[order] - (np.cumsum(sizes) - sizes), sizes) + np.arange(sizes.sum())
    last = set(rows[np.cumsum(of_decision) - 1].tolist())
    sequence = np.lexsort((rows, slot, step))
    return slot[sequence], step[sequence], rows[sequence], last


def _step(groups: list[Group], last: set[int]) -> Step:
    lanes = np.concatenate([group.lane for group in groups])
    is_last = np.array([int(row) in last for group in groups for row in group.rows])
    positions = np.flatnonzero(is_last)
    return Step(tuple(groups), len(positions), positions[np.argsort(lanes[positions])].astype(np.int32))
