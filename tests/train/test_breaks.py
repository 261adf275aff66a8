"""What the learning tests are worth: labels of another decision, a mask that is off by one and memory that is not the lane's own
are each put in on purpose, in training and validation alike, and must lose."""

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tcg_core.base.checks import Check
from tcg_core.encode.columns import Columns
from tcg_core.train import loop, prepare, step, validate
from tcg_core.train.board import Board
from tcg_core.train.checks import MARGIN, learned
from tcg_core.train.data import Source
from tcg_core.train.unroll import gather_memory
from tests.train.test_recurrence import accuracy
from tests.train.toy import LEARNING, ranks_of, toy_home, toy_session

pytestmark = pytest.mark.slow


class Misaligned(Source):
    """Each row has the label of the row after it, as if actions were paired with the wrong observations; where that would be
    illegal, the first legal answer, so that no mask gives it away."""

    def fetch(self, rows: Any) -> Columns:
        found = super().fetch(rows)
        last = self.days[-1].first_row + self.days[-1].rows - 1
        y = super().fetch(np.minimum(rows + 1, last))["y"].copy()
        starts, lengths = found.offsets["option"][:-1], found.lengths("option")
        picked = found["option_attributes"][:, 0]
        for position, length in enumerate(lengths.tolist()):
            legal = np.flatnonzero(picked[starts[position] : starts[position] + length] == 0)
            if y[position] not in legal:
                y[position] = legal[0] if len(legal) else length
        return Columns(found.rows, dict(found.values) | {"y": y}, found.offsets)


def off_by_one(collate: Callable[..., dict[str, Any]]) -> Callable[..., dict[str, Any]]:
    """Collating, but each answer's legality is that of the answer before it."""

    def broken(*arguments: Any, **named: Any) -> dict[str, Any]:
        made = collate(*arguments, **named)
        return made | {"legal": np.roll(made["legal"], 1, axis=1)}

    return broken


def trained(tmp_path: Path, wrap: type[Source] | None = None) -> Check:
    """`learned` of a run on recorded games."""
    session = toy_session(toy_home(tmp_path / "home"), dataclasses.replace(LEARNING, epochs=4))
    if wrap is not None:
        session.train, session.validation = (
            wrap(source.days, source.readers, source.cache) for source in (session.train, session.validation)
        )
        session.ranks = ranks_of(session)
    board = Board(tmp_path / "runs", 0, 0)
    loop.run_epochs(session, board, lambda event: None, 10_000)
    board.close()
    return learned(session.progress)


def test_recorded_games_are_learned_by_more_than_a_break_can_reach(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    right = trained(tmp_path / "right")
    misaligned = trained(tmp_path / "misaligned", Misaligned)
    monkeypatch.setattr(prepare, "collate", off_by_one(prepare.collate))  # type: ignore[attr-defined]
    mask = trained(tmp_path / "mask")
    assert right.passed, right.message
    assert not misaligned.passed, misaligned.message
    assert not mask.passed, mask.message
    gains = [check.facts["acc"] - check.facts["baseline"] for check in (right, misaligned)]
    noise = (0.25 / right.facts["rows"]) ** 0.5
    assert gains[0] - gains[1] > MARGIN * noise, (right.message, misaligned.message)


def forgotten(prepared: Any, memories: Any, shape: tuple[int, int]) -> Any:
    """Nothing is carried over a chunk's border."""
    return gather_memory(prepared, {lane: np.zeros_like(memory) for lane, memory in memories.items()}, shape)


def swapped(prepared: Any, memories: Any, shape: tuple[int, int]) -> Any:
    """Each lane gets the memory of another."""
    lanes = list(memories)
    return gather_memory(prepared, dict(zip(lanes, [memories[lane] for lane in lanes[1:] + lanes[:1]], strict=True)), shape)


@pytest.mark.parametrize("broken", [forgotten, swapped])
def test_broken_memory_cannot_be_made_up_for(broken: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The right one exceeds 0.95 (test_recurrence); here the decisions of later chunks are a coin."""
    for module in (step, validate):
        monkeypatch.setattr(module, "gather_memory", broken)
    assert max(found := accuracy(tmp_path, "tbptt")) < 0.85, found
