"""References and their replay: what is stored comes back, memory is proven, and each kind of difference is seen."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tcg_core.convert.checks import fp32, parity, reloaded, strict_names
from tcg_core.convert.decisions import lane_steps
from tcg_core.convert.errors import ConvertError
from tcg_core.convert.players import mlx_player, torch_player
from tcg_core.convert.reference import Answer, Reference, ReferenceStep, read_reference, softmax, write_reference
from tcg_core.convert.replay import NetworkPlayer, Said, compare, replay
from tcg_core.encode.cards import FIRST, CardTables
from tcg_core.model import torch_net
from tcg_core.model.batch import INPUTS
from tcg_core.model.init import initial_weights
from tcg_core.model.names import join_arrays
from tcg_core.model.tensors import read_with_metadata, safetensors_bytes
from tests.days.synthetic import episode
from tests.model.synthetic import architecture, batch, tables


def reference(steps: int = 4) -> Reference:
    """Two lanes; at each step the first decides in two picks, the second in one."""
    made = []
    for number in range(steps):
        data = {name: array for name, array in batch(3, 6, 3, 4, 5, seed=number).items() if name in INPUTS}
        made.append(ReferenceStep(data, np.array([0, 0, 1], np.int32), np.array([False, True, True])))
    return Reference(("first", "second"), tuple(made))


def torch_side(seed: int = 1) -> NetworkPlayer:
    net = torch_net.build(architecture(), seed)
    net.set_tables(tables())
    return torch_player(net.freeze())


def mlx_side(seed: int = 1) -> NetworkPlayer:
    return mlx_player(architecture(), initial_weights(architecture(), seed), tables(), "test")


def test_frameworks_agree_in_replay() -> None:
    difference = compare(reference(), replay(mlx_side(), reference()), replay(torch_side(), reference()))
    assert difference.within(1e-5)
    assert difference.rows == 12
    assert set(difference.aux) == {"ko", "prize", "terminal", "value"}
    assert parity(difference, 1e-4, 2, 8, 4).passed


def test_other_weights_do_not_agree() -> None:
    assert not compare(reference(), replay(mlx_side(), reference()), replay(torch_side(2), reference())).within(1e-2)


def test_all_picks_of_a_decision_read_one_memory_and_the_last_writes_it() -> None:
    seen: list[Any] = []

    def step(data: Mapping[str, Any], memory: Any) -> Said:
        seen.append(memory[:, 0, 0].tolist())
        rows = len(memory)
        written = memory + np.arange(1, rows + 1, dtype=np.float32)[:, None, None]
        return Said(np.where(data["legal"], 0, -1e9).astype(np.float32), {}, written)

    replay(NetworkPlayer("none", np.zeros((1, 1), np.float32), step), reference(3))
    assert seen == [[0, 0, 0], [2, 2, 3], [4, 4, 6]]


@pytest.mark.parametrize("break_it", ["reset", "first pick"])
def test_broken_memory_is_seen(break_it: str) -> None:
    player, data = torch_side(), reference()
    expected = replay(player, data)
    if break_it == "reset":
        start = player.initial_memory[None]
        broken = replay(replace(player, step=lambda b, m: player.step(b, np.repeat(start, len(m), 0))), data)
    else:
        flipped = tuple(replace(step, commits=np.array([True, False, True])) for step in data.steps)
        broken = replay(player, Reference(data.lanes, flipped))
    assert not compare(data, expected, broken).within(1e-4)
    assert compare(data, expected, replay(player, data)).largest == 0


def altered(answers: tuple[Answer, ...], change: Callable[[Answer], Answer]) -> tuple[Answer, ...]:
    return (*answers[:-1], change(answers[-1]))


CHANGES: dict[str, Callable[[Answer], Answer]] = {
    "logits": lambda a: replace(a, logits=np.where(a.logits > -1e8, a.logits + np.float32(2e-4), a.logits)),
    "probabilities": lambda a: replace(a, probabilities=a.probabilities + np.float32(2e-4)),
    "choice": lambda a: replace(a, choice=a.choice + 1),
    "memory": lambda a: replace(a, memory=a.memory + np.float32(2e-4)),
    "aux": lambda a: replace(a, aux=a.aux | {"ko": a.aux["ko"] + np.float32(2e-4)}),
    "lost head": lambda a: replace(a, aux={"ko": a.aux["ko"]}),
    "mask": lambda a: replace(a, logits=np.where(a.logits < -1e8, np.float32(-1e9 + 64), a.logits)),
    "nan": lambda a: replace(a, memory=np.full_like(a.memory, np.nan)),
    "shape": lambda a: replace(a, memory=a.memory[:, :1]),
}


@pytest.mark.parametrize("name", CHANGES)
def test_each_difference_fails_parity(name: str) -> None:
    expected = replay(torch_side(), reference())
    difference = compare(reference(), expected, altered(expected, CHANGES[name]))
    assert not difference.within(1e-4)
    assert not parity(difference, 1e-4, 2, 8, 4).passed
    assert compare(reference(), expected, expected).within(0.0)


def test_reference_comes_back_whole(tmp_path: Path) -> None:
    data, path = reference(), tmp_path / "reference.safetensors"
    answers = replay(torch_side(), data)
    write_reference(path, data, answers)
    found, said = read_reference(path)
    assert found.lanes == data.lanes
    assert (found.decisions, found.rows) == (8, 12)
    for left, right in zip(data.steps, found.steps, strict=True):
        for name in INPUTS:
            assert (left.batch[name] == right.batch[name]).all()
            assert left.batch[name].dtype == right.batch[name].dtype
        assert (left.lane == right.lane).all()
        assert (left.commits == right.commits).all()
    assert compare(data, answers, said).largest == 0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda a: a.pop("002.in.globals"), "step 2 lacks in.globals"),
        (lambda a: a.pop("001.commits"), "step 1 lacks commits"),
        (lambda a: a.update({"bonus": np.zeros(1)}), "'bonus' is not of a reference"),
        (lambda a: [a.pop(name) for name in list(a) if name.startswith("001.")], "no lanes or no whole sequence"),
    ],
)
def test_damaged_reference_is_refused(change: Callable[[dict[str, Any]], Any], message: str, tmp_path: Path) -> None:
    path = tmp_path / "reference.safetensors"
    write_reference(path, reference(), replay(torch_side(), reference()))
    arrays, metadata = read_with_metadata(path)
    change(arrays)
    path.write_bytes(safetensors_bytes(arrays, metadata))
    with pytest.raises(ConvertError, match=message):
        read_reference(path)


def test_probabilities_are_those_of_the_legal_answers() -> None:
    found = softmax(np.array([[1.0, -1e9, 3.0], [0.0, 0.0, -1e9]], np.float32))
    assert found.dtype == np.float32
    assert np.allclose(found, [[0.11920292, 0, 0.88079708], [0.5, 0.5, 0]], atol=1e-7)


def test_steps_follow_the_decisions_of_the_lanes() -> None:
    ids = np.arange(FIRST, 1003)
    index = np.concatenate([[0], ids]).astype(np.int32)
    static = np.zeros((1003, 2), np.float32)
    card_tables = CardTables({"v1": index}, {"v1": index}, static, static)
    rows = [episode(seed, 100 + seed, decisions=6 + seed) for seed in range(2)]
    lanes = {number: part.take(np.flatnonzero(part["side"] == 1)) for number, part in enumerate(rows)}
    steps = lane_steps(lanes, "v1", card_tables, 100)
    assert len(steps) == 7  # the longer lane's decisions
    assert sum(step.rows for step in steps) == sum(columns.rows for columns in lanes.values())
    assert [step.commits.sum() for step in steps] == [2] * 6 + [1]
    assert steps[-1].lane.tolist() == [1] * steps[-1].rows
    assert any(step.rows > step.commits.sum() for step in steps)  # a decision of several picks is among them
    for step in steps:
        assert step.commits[-1]
        assert (np.diff(step.lane) >= 0).all()
        assert (step.commits[:-1] == (step.lane[1:] != step.lane[:-1])).all()
    assert len(lane_steps(lanes, "v1", card_tables, 3)) == 3


def test_file_checks_name_what_is_wrong() -> None:
    arch = architecture()
    good = join_arrays(initial_weights(arch, 1), tables())
    assert strict_names(arch, good).passed
    assert fp32(good).passed
    less = {name: array for name, array in good.items() if name != "model.card_count"}
    more = {**good, "model.card_count": good["model.card_count"][:-1], "model.bonus": np.zeros(1, np.float32)}
    assert "missing: card_count" in strict_names(arch, less).message
    assert strict_names(arch, more).message == "extra: bonus; wrong shape: card_count"
    half = {**good, "model.card_count": good["model.card_count"].astype(np.float16)}
    assert fp32(half).message == "model.card_count is float16"
    assert not fp32({**good, "tables.card_static": good["tables.card_static"] + np.float32(np.inf)}).passed


def test_reload_that_imported_the_training_framework_or_replayed_nothing_fails() -> None:
    report = {
        "passed": True, "framework": "torch", "difference": 0.0, "probabilities": 0.0, "tolerance": 1e-4, "decisions": 5,
        "choices_differing": 0, "other_framework": False, "process": 7,
    }  # fmt: skip
    assert reloaded("reload", report).passed
    assert "process" not in reloaded("reload", report).facts
    assert not reloaded("reload", report | {"other_framework": True}).passed
    assert not reloaded("reload", report | {"decisions": 0}).passed
    assert not reloaded("reload", report | {"passed": False}).passed
