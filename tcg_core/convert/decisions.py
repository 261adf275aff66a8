"""Reference decisions of a work plan: real validation rows, read from the Parquet days the plan names."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from tcg_core.base.home import Home
from tcg_core.convert.errors import ConvertError
from tcg_core.convert.reference import Reference, ReferenceStep
from tcg_core.encode.cards import CardTables
from tcg_core.encode.collate import blank_looks, collate
from tcg_core.encode.columns import Columns
from tcg_core.lookahead.read import LookedDayReader
from tcg_core.model.batch import INPUTS, WOULD_KO
from tcg_core.plan.plan import Plan
from tcg_core.rows.reader import DayReader

Array = npt.NDArray[Any]


def plan_reference(home: Home, plan: Plan, tables: CardTables, lanes: int, decisions: int) -> Reference:
    """The first ``decisions`` decisions of up to ``lanes`` validation lanes, spread evenly over the plan's.

    Deterministic. A network that reads would-KO inputs is given those of the plan's days, its ablation zeros.

    Raises :class:`ConvertError` if the plan has no validation lane; errors of reader and collate as they are.
    """
    validation = np.flatnonzero(plan.lanes.validation)
    if not len(validation):
        raise ConvertError(f"work plan {plan.id} has no validation lane to take reference decisions from")
    chosen = validation[np.unique(np.linspace(0, len(validation) - 1, lanes).astype(int))]
    columns = _lane_rows(home, plan, chosen)
    generations = [plan.recipe.generations[plan.lanes.generation[lane]] for lane in chosen]
    steps = []
    for generation in dict.fromkeys(generations):
        members = [position for position, other in enumerate(generations) if other == generation]
        chosen_rows = {position: columns[position] for position in members}
        steps += lane_steps(chosen_rows, generation, tables, decisions, plan.recipe.zero_wouldko)
    return Reference(tuple(_name(plan, lane) for lane in chosen), tuple(steps))


def lane_steps(
    lanes: Mapping[int, Columns], generation: str, tables: CardTables, decisions: int, zero_wouldko: bool = False
) -> list[ReferenceStep]:
    """Steps over lanes of one generation. lanes: lane number -> all its rows in order, from the lane's start; would-KO inputs
    are among a step's where the rows have their streams, or are zeros with ``zero_wouldko``."""
    decision = {lane: _decision_of_row(columns) for lane, columns in lanes.items()}
    steps = []
    for number in range(decisions):
        rows = {lane: np.flatnonzero(of_row == number) for lane, of_row in decision.items()}
        parts = [lanes[lane].take(index) for lane, index in rows.items() if len(index)]
        if not parts:
            break
        lane_of_row = np.concatenate([np.full(len(index), lane, np.int32) for lane, index in rows.items()])
        commits = np.append(lane_of_row[1:] != lane_of_row[:-1], True)
        batch = collate(Columns.concatenate(parts), generation, tables)
        if zero_wouldko:
            batch[WOULD_KO] = blank_looks(*batch["option_type"].shape)
        names = (*INPUTS, WOULD_KO) if WOULD_KO in batch else INPUTS
        steps.append(ReferenceStep({name: batch[name] for name in names}, lane_of_row, commits))
    return steps


def _decision_of_row(columns: Columns) -> Array:
    return np.cumsum(np.diff(columns["step_id"], prepend=columns["step_id"][:1]) != 0)


def _lane_rows(home: Home, plan: Plan, chosen: Array) -> list[Columns]:
    """All rows of each chosen lane, in order; a lane lies in one row group."""
    readers: dict[int, DayReader] = {}
    groups: dict[tuple[int, int], Columns] = {}
    found = []
    for lane in chosen:
        day = plan.days[plan.lanes.day[lane]]
        number = int(plan.lanes.day[lane])
        if number not in readers:
            path = home.root / day.path
            readers[number] = LookedDayReader(path, day.content) if plan.recipe.reads_would_ko else DayReader(path)
        group = int(plan.lanes.group[lane]) - day.first_group
        if (number, group) not in groups:
            groups[number, group] = readers[number].read_row_group(group)
        first = int(plan.lanes.first_row[lane]) - day.first_row - readers[number].row_groups[group][0]
        found.append(groups[number, group].take(np.arange(first, first + int(plan.lanes.rows[lane]))))
    return found


def _name(plan: Plan, lane: int) -> str:
    return f"{plan.days[plan.lanes.day[lane]].day} {plan.lanes.name(lane)}"
