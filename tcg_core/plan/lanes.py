"""Lanes and decisions: the order that memory follows.

A lane is (episode_id, game, side); a decision is a run of equal ``step_id`` in it (seed `tbptt_training_contract`).
"""

from dataclasses import dataclass

import numpy as np

from tcg_core.plan.errors import PlanError
from tcg_core.plan.rows import Array, IdentityRows


@dataclass(frozen=True)
class Lanes:
    """Lanes in canonical order. All arrays [lanes]; first_row is global, decisions and rows are counts, generation is an
    index into the recipe's generations."""

    episode_id: Array
    game: Array
    side: Array
    day: Array
    group: Array
    generation: Array
    validation: Array
    first_row: Array
    rows: Array
    decisions: Array

    def __len__(self) -> int:
        return len(self.episode_id)

    def name(self, lane: int) -> str:
        """A lane as errors call it."""
        return f"episode {self.episode_id[lane]} game {self.game[lane]} side {self.side[lane]}"


@dataclass(frozen=True)
class Decisions:
    """Decisions in canonical order: lane [decisions] and rows [decisions]; bounds int64 [lanes + 1]."""

    lane: Array
    rows: Array
    valid: Array
    bounds: Array


def find_lanes(rows: IdentityRows) -> tuple[Lanes, Decisions]:
    """Groups rows into lanes and decisions.

    Raises :class:`PlanError` naming the lane when it is split over the file, spans row groups, does not start with
    ``new_episode`` (or has it elsewhere), or holds a ``step_id`` that returns or goes back.
    """
    count = len(rows)
    change = np.ones(count, bool)
    change[1:] = False
    for column in (rows.day, rows.episode_id, rows.game, rows.side):
        change[1:] |= column[1:] != column[:-1]
    starts = np.flatnonzero(change)
    sizes = np.diff(np.append(starts, count))
    lane_of_row = np.cumsum(change) - 1

    step_change = change.copy()
    step_change[1:] |= rows.step_id[1:] != rows.step_id[:-1]
    decision_starts = np.flatnonzero(step_change)
    decision_lane = lane_of_row[decision_starts]
    bounds = np.searchsorted(decision_lane, np.arange(len(starts) + 1))
    decisions = Decisions(
        lane=decision_lane,
        rows=np.diff(np.append(decision_starts, count)),
        valid=np.add.reduceat(rows.aux_valid.astype(np.int64), decision_starts) if count else np.zeros(0, np.int64),
        bounds=bounds,
    )
    lanes = Lanes(
        **{
            name: getattr(rows, name)[starts]
            for name in ("episode_id", "game", "side", "day", "group", "generation", "validation")
        },
        first_row=rows.row[starts],
        rows=sizes,
        decisions=np.diff(bounds),
    )
    _refuse_repeated(lanes)
    _refuse_scattered(lanes, rows, starts, sizes)
    _refuse_disorder(lanes, rows.step_id[decision_starts], decisions)
    _refuse_wrong_flag(lanes, rows.new_episode, change, lane_of_row)
    return lanes, decisions


def _refuse_repeated(lanes: Lanes) -> None:
    keys = np.stack([lanes.episode_id.astype(np.int64), lanes.game.astype(np.int64) * 2 + lanes.side], axis=1)
    unique, first, times = np.unique(keys, axis=0, return_index=True, return_counts=True)
    if len(unique) < len(lanes):
        again = int(np.argmax(times > 1))
        raise PlanError(
            f"lane {lanes.name(int(first[again]))}: its rows are in {times[again]} separate places, expected one run of rows"
        )


def _refuse_scattered(lanes: Lanes, rows: IdentityRows, starts: Array, sizes: Array) -> None:
    last = starts + sizes - 1
    bad = (rows.row[last] - rows.row[starts] != sizes - 1) | (rows.group[last] != rows.group[starts])
    if bad.any():
        lane = int(np.argmax(bad))
        raise PlanError(f"lane {lanes.name(lane)}: its rows are not one run inside one row group; row groups hold whole episodes")


def _refuse_disorder(lanes: Lanes, steps: Array, decisions: Decisions) -> None:
    back = (np.diff(steps) <= 0) & (decisions.lane[1:] == decisions.lane[:-1])
    if not back.any():
        return
    at = int(np.argmax(back)) + 1
    lane = int(decisions.lane[at])
    seen = steps[decisions.bounds[lane] : at]
    word = "returns after a gap" if steps[at] in seen else f"comes after {steps[at - 1]}"
    raise PlanError(f"lane {lanes.name(lane)}: step_id {steps[at]} {word}; step_id must increase over the decisions of a lane")


def _refuse_wrong_flag(lanes: Lanes, new_episode: Array, change: Array, lane_of_row: Array) -> None:
    wrong = new_episode.astype(bool) != change
    if wrong.any():
        row = int(np.argmax(wrong))
        expected = "set on its first row" if change[row] else "clear after its first row"
        raise PlanError(f"lane {lanes.name(int(lane_of_row[row]))}: new_episode must be {expected}")
