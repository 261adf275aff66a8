"""The temporal forward pass against a slow reading of its contract, row by row."""

import dataclasses
from typing import Any

import numpy as np
import pytest

from tcg_core.encode.collate import collate
from tcg_core.model.bootstrap import mlx
from tcg_core.model.mlx_net import as_mx
from tcg_core.plan.plan import Microbatch, Plan
from tcg_core.train.loss import Normalizer, cross_entropy
from tcg_core.train.prepare import Prepared, prepare
from tcg_core.train.session import Session
from tcg_core.train.shapes import gpu_cost
from tcg_core.train.step import flat
from tcg_core.train.unroll import Loaded, Unrolled, gather_memory, keep_memory
from tests.train.toy import RECIPE, TINY, toy_home, toy_session

mx = mlx().core


def prepared(session: Session, batch: Microbatch) -> Prepared:
    return prepare(session.plan, batch, session.train, session.cards, session.cost)


def by_rows(session: Session, batch: Microbatch, memories: dict[int, Any]) -> tuple[dict[int, float], dict[int, Any]]:
    """Cross-entropy of each global row and memory of each lane after the microbatch, one network call a row."""
    net, found, after = session.stepper.net, {}, {}
    for slot in range(len(batch.chunk)):
        lane = int(batch.lane[slot])
        memory = net.initial_memory() if batch.resets_memory[slot] else mx.array(memories[lane])
        row = int(batch.first_row[slot])
        for substeps in session.plan.decision_rows(int(batch.chunk[slot])):
            for _ in range(int(substeps)):
                columns = session.train.fetch(np.array([row]))
                arrays = collate(columns, "v1", session.cards)
                output = net(as_mx({name: arrays[name] for name in arrays if name not in ("target", "opt_group")}), memory[None])
                found[row] = float(np.array(cross_entropy(output.logits, mx.array(arrays["target"])))[0])
                row += 1
            memory = output.memory[0]
        after[lane] = np.array(memory)
    return found, after


def unrolled(session: Session, batch: Microbatch, memories: dict[int, Any]) -> tuple[dict[int, float], dict[int, Any]]:
    """The same by the code under test."""
    made = prepared(session, batch)
    run = Unrolled(
        session.stepper.net, Loaded(made), gather_memory(made, memories, session.stepper.net.architecture.memory_shape)
    )
    found = {}
    for group, labels, output in run:
        values = np.array(cross_entropy(output.logits, labels["target"]))
        found |= dict(zip(group.rows.tolist(), values.tolist(), strict=True))
    memory = np.array(run.memory)
    return found, {int(lane): memory[slot] for slot, lane in enumerate(made.lanes)}


def test_equals_one_call_a_row_over_two_microbatches(session: Session) -> None:
    memories: dict[int, Any] = {}
    assert max(len(session.plan.decision_rows(int(c))) for c in session.plan.microbatch(0, 0).chunk) > 1
    several = carried = 0
    for index in range(4):
        batch = session.plan.microbatch(0, index)
        expected, after = by_rows(session, batch, memories)
        found, memory = unrolled(session, batch, memories)
        assert set(found) == set(expected)
        assert max(abs(found[row] - expected[row]) for row in expected) < 2e-5
        assert max(np.abs(memory[lane] - after[lane]).max() for lane in after) < 2e-5
        several += sum(int((session.plan.decision_rows(int(chunk)) > 1).sum()) for chunk in batch.chunk)
        carried += int((~batch.resets_memory).sum())
        keep_memory(prepared(session, batch), np.stack([memory[int(lane)] for lane in prepared(session, batch).lanes]), memories)
    assert several > 0
    assert carried > 0


def test_one_call_a_step_gives_the_same(session: Session) -> None:
    batch = session.plan.microbatch(0, 0)
    fine, _ = unrolled(session, batch, {})
    coarse, _ = unrolled(dataclasses.replace(session, cost=gpu_cost(session.cost.fixed_tokens)), batch, {})
    assert max(abs(fine[row] - coarse[row]) for row in fine) < 2e-5


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> tuple[Session, Session]:
    """Two sessions of equal weights: every lane in one chunk, and lanes cut every 5 decisions."""
    home = toy_home(tmp_path_factory.mktemp("pair") / "home")
    whole = dataclasses.replace(RECIPE, work=dataclasses.replace(RECIPE.work, tbptt_chunk=10_000, batch_size=100_000))
    cut = dataclasses.replace(RECIPE, work=dataclasses.replace(RECIPE.work, tbptt_chunk=5, batch_size=100_000))
    return toy_session(home, whole), toy_session(home, cut)


def first_lanes(plan: Plan, lanes: int) -> list[Microbatch]:
    """The chunks of the first training lanes as microbatches in chunk order."""
    chosen = np.flatnonzero(~plan.lanes.validation.astype(bool))[:lanes]
    batches = []
    for index in range(int(plan.lane_chunks[chosen].max())):
        ids = np.flatnonzero(np.isin(plan.chunks.lane, chosen) & (plan.chunks.index == index))
        lane = plan.chunks.lane[ids]
        batches.append(
            Microbatch(
                index,
                ids,
                lane,
                plan.chunks.first_row[ids],
                plan.chunks.rows[ids],
                plan.chunks.decisions[ids],
                np.full(len(ids), index == 0),
                index + 1 == plan.lane_chunks[lane],
                int(plan.chunks.rows[ids].sum()),
                int(plan.chunks.valid[ids].sum()),
            )
        )
    return batches


def test_cutting_changes_the_gradient_only(pair: tuple[Session, Session]) -> None:
    """Forward values are carried over the border; the gradient is the sum of each chunk's own, as if what came in were data."""
    whole, cut = pair
    one, several = first_lanes(whole.plan, 4), first_lanes(cut.plan, 4)
    assert len(one) == 1
    assert len(several) > 2
    expected, last = unrolled(whole, one[0], {})
    memories: dict[int, Any] = {}
    found: dict[int, float] = {}
    final: dict[int, Any] = {}
    for batch in several:
        values, memory = unrolled(cut, batch, memories)
        found |= values
        final |= memory
        memories |= memory
    assert max(abs(found[row] - expected[row]) for row in expected) < 2e-5
    assert max(np.abs(final[lane] - last[lane]).max() for lane in last) < 2e-5
    full, parts = gradient(whole, one, one[0].n_rows), gradient(cut, several, one[0].n_rows)
    assert np.abs(full["memory_gate.weight"] - parts["memory_gate.weight"]).max() > 1e-5
    assert np.abs(full["option_head.weight"] - parts["option_head.weight"]).max() < 1e-5


def test_the_gradient_stops_at_the_border(pair: tuple[Session, Session]) -> None:
    """Where no lane starts, the learned initial memory is out of reach: its gradient is exactly zero."""
    _, cut = pair
    first, second, *_ = first_lanes(cut.plan, 4)
    _, memories = unrolled(cut, first, {})
    assert np.abs(gradient(cut, [first], first.n_rows)["memory_start"]).max() > 0
    assert np.abs(gradient(cut, [second], second.n_rows, memories)["memory_start"]).max() == 0


def gradient(session: Session, batches: list[Microbatch], rows: int, memories: dict[int, Any] | None = None) -> dict[str, Any]:
    """The accumulated gradient of a window over these microbatches."""
    memories = dict(memories or {})
    total: dict[str, Any] = {}
    for batch in batches:
        normalizer = Normalizer(rows, sum(b.n_valid for b in batches))
        found, _ = session.stepper._accumulate(prepared(session, batch), normalizer, memories)
        for name, value in found.items():
            total[name] = total.get(name, 0.0) + np.array(value, np.float64)
    return total


def test_unequal_microbatches_give_the_gradient_of_one_batch(pair: tuple[Session, Session]) -> None:
    """The window's counts normalise: three unequal parts of the same lanes add up to the whole, heads included."""
    whole, _ = pair
    batch = first_lanes(whole.plan, 9)[0]
    parts = []
    for low, high in ((0, 1), (1, 4), (4, 9)):
        cut = slice(low, high)
        parts.append(
            dataclasses.replace(
                batch,
                **{
                    n: getattr(batch, n)[cut]
                    for n in ("chunk", "lane", "first_row", "rows", "decisions", "resets_memory", "last_of_lane")
                },
                n_rows=int(batch.rows[cut].sum()),
                n_valid=int(whole.plan.chunks.valid[batch.chunk[cut]].sum()),
            )
        )
    assert len({part.n_rows for part in parts}) == 3
    one, many = gradient(whole, [batch], batch.n_rows), gradient(whole, parts, batch.n_rows)
    assert max(np.abs(one[name] - many[name]).max() for name in one) < 1e-6
    assert set(one) == set(flat(whole.stepper.net.parameters()))


def test_without_valid_rows_the_heads_add_nothing(pair: tuple[Session, Session]) -> None:
    whole, _ = pair
    batch = first_lanes(whole.plan, 2)[0]
    found, _ = whole.stepper._accumulate(prepared(whole, batch), Normalizer(batch.n_rows, 0), {})
    assert np.abs(np.array(found["ko_head_aux.weight"])).max() == 0
    assert np.abs(np.array(found["option_head.weight"])).max() > 0


def test_stateless_rows_stand_alone(tmp_path: Any) -> None:
    recipe = dataclasses.replace(RECIPE, model=TINY, work=dataclasses.replace(RECIPE.work, mode="stateless"), epochs=1)
    session = toy_session(toy_home(tmp_path / "home"), recipe)
    batch = session.plan.microbatch(0, 0)
    assert len(batch.chunk) == RECIPE.work.batch_size
    found, _ = unrolled(session, batch, {})
    for row in list(found)[:5]:
        arrays = collate(session.train.fetch(np.array([row])), "v1", session.cards)
        inputs = as_mx({name: arrays[name] for name in arrays if name not in ("target", "opt_group")})
        output = session.stepper.net(inputs, session.stepper.net.initial_memory()[None])
        assert found[row] == pytest.approx(float(np.array(cross_entropy(output.logits, mx.array(arrays["target"])))[0]), abs=2e-5)
