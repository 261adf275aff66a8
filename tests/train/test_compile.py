"""Static shapes give what variable shapes give; padding adds nothing; compilations are counted and bounded.

Without a GPU nothing is compiled here: the same functions run uncompiled on padded microbatches, and are counted as MLX would
trace them. ``test_compile_real.py`` compiles.
"""

import dataclasses
import json
import logging
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file

from tcg_core.base.home import Home
from tcg_core.encode.collate import BatchShape
from tcg_core.model.batch import WOULD_KO, WOULD_KO_INPUTS
from tcg_core.model.bootstrap import mlx
from tcg_core.recipe import Selection
from tcg_core.train import estimate, session
from tcg_core.train.compiled import loss as compiled
from tcg_core.train.compiled import shapes as static_shapes
from tcg_core.train.compiled.batch import Padded, pad
from tcg_core.train.compiled.loss import Compiled, on_device, serves
from tcg_core.train.compiled.shapes import Shape
from tcg_core.train.data import open_cards
from tcg_core.train.errors import RecoverRefused, TrainError
from tcg_core.train.loss import Normalizer
from tcg_core.train.prepare import prepare
from tcg_core.train.run import train
from tcg_core.train.runs import pointers
from tcg_core.train.session import Session, open_session
from tcg_core.train.step import Stepper, flat
from tcg_core.train.unroll import gather_memory
from tcg_core.train.validate import score, validate
from tests.train.compiling import REWARDED, accumulate, as_if_compiled, farthest, padded_train
from tests.train.test_unroll import first_lanes
from tests.train.toy import RECIPE, toy_home, toy_plan, toy_session

mx = mlx().core


@pytest.fixture(autouse=True)
def counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compiled functions are counted as if they were."""
    monkeypatch.setattr(compiled.mx, "compile", as_if_compiled)


@pytest.fixture(scope="module")
def eager(tmp_path_factory: pytest.TempPathFactory) -> Session:
    """A session whose microbatches keep their own shapes."""
    return toy_session(toy_home(tmp_path_factory.mktemp("compile") / "home"))


def static(eager: Session, **changes: Any) -> Session:
    """The same run, fresh, with static shapes."""
    fresh = open_session(eager.home, eager.plan, eager.cards, "cpu", False)
    fresh = dataclasses.replace(fresh, **changes)
    fresh.compile()
    return fresh


@pytest.mark.parametrize("call_tokens", [REWARDED, static_shapes.CALL_TOKENS])
def test_equals_variable_shapes(eager: Session, monkeypatch: pytest.MonkeyPatch, call_tokens: float) -> None:
    monkeypatch.setattr(static_shapes, "CALL_TOKENS", call_tokens)
    other = static(eager)
    assert other.static is not None
    if call_tokens == REWARDED:
        assert 2 in {len(shape.rows) for shape in other.static.sides["train"].merged.shapes}
    ours: dict[int, Any] = {}
    theirs: dict[int, Any] = {}
    padding = 0
    for index in range(6):
        found, parts = accumulate(other, index, ours)
        expected, wanted = accumulate(eager, index, theirs)
        rows = eager.plan.microbatch(0, index).n_rows
        assert farthest(found, expected) < 1e-6
        assert max(abs(parts[name] - wanted[name]) for name in wanted) / rows < 1e-6
        assert farthest(ours, theirs) < 1e-6
        padding += int((padded_train(other, index).batch["groups"][0]["labels"]["weight"] == 0).sum())
    assert ours
    assert padding > 0


def test_updates_equal_variable_shapes_and_repeat_to_the_bit(eager: Session) -> None:
    ends = []
    for run in (static(eager), static(eager), open_session(eager.home, eager.plan, eager.cards, "cpu", False)):
        memories: dict[int, Any] = {}
        for index in range(3):
            batch = run.plan.microbatch(0, index)
            normalizer = Normalizer(batch.n_rows, batch.n_valid)
            run.stepper.apply([run.prepare_train(index)], normalizer, memories, 1e-3, index + 1)
        ends.append({name: np.array(value) for name, value in flat(run.stepper.net.parameters()).items()})
    assert farthest(ends[0], ends[1]) == 0
    assert 0 < farthest(ends[0], ends[2]) < 1e-5


def garbage(padded: Padded, rng: np.random.Generator) -> Padded:
    """The microbatch with noise in every padding row, of the kinds a row may hold."""
    groups = []
    for group in padded.batch["groups"]:
        padding = group["labels"]["weight"] == 0
        inputs, labels = ({name: array.copy() for name, array in group[part].items()} for part in ("inputs", "labels"))
        for name, array in inputs.items():
            shape = array[padding].shape
            if array.dtype == np.float32:
                array[padding] = 10 * rng.standard_normal(shape)
            elif name != "legal":
                array[padding] = rng.integers(0, 2, shape)
        inputs["legal"][padding, :-1] = rng.integers(0, 2, inputs["legal"][padding, :-1].shape)
        labels["target"][padding] = rng.integers(0, inputs["legal"].shape[-1], padding.sum())
        for name in labels:
            if name.startswith("aux_") and name != "aux_valid":
                labels[name][padding] = 10 * rng.standard_normal(padding.sum())
        lane = group["lane"].copy()
        lane[padding] = rng.integers(0, padded.slots, padding.sum())
        groups.append({"inputs": inputs, "labels": labels, "lane": lane})
    return dataclasses.replace(padded, batch=padded.batch | {"groups": groups})


def test_padding_adds_exactly_nothing(eager: Session) -> None:
    """Rows: whatever is in them, not a bit of loss, gradient or memory changes. Slots: theirs is not read, nor handed on."""
    run, rng, batch = static(eager), np.random.default_rng(5), eager.plan.microbatch(0, 0)
    most = max(sum(len(group.rows) for group in step.groups) for step in eager.prepare_train(0).steps)
    sizes = BatchShape(30, 4, 6, 5), BatchShape(90, 18, 50, 60)
    shape = Shape(int(batch.decisions.max()) + 1, len(batch.lane) + 2, (5, most + 1), sizes)
    padded = pad(prepare(run.plan, batch, run.train, run.cards, shape), shape)
    normalizer = Normalizer(padded.n_rows, padded.n_valid)
    memories = {int(lane): rng.standard_normal(run.stepper.net.architecture.memory_shape, np.float32) for lane in padded.lanes}
    carried = gather_memory(padded, memories, run.stepper.net.architecture.memory_shape)
    noise = np.array(carried)
    noise[len(padded.lanes) :] = 10
    clean, lanes = run.stepper.compiled, len(padded.lanes)
    assert clean is not None
    noisy = garbage(padded, rng)
    for group, changed in zip(padded.batch["groups"], noisy.batch["groups"], strict=True):
        assert (group["labels"]["weight"] == 0).any()
        assert not np.array_equal(group["inputs"]["globals"], changed["inputs"]["globals"])
    loss, parts, memory, gradients = clean.gradients(padded, carried, normalizer)
    loss2, parts2, memory2, gradients2 = clean.gradients(noisy, mx.array(noise), normalizer)
    assert np.array_equal(np.array(loss), np.array(loss2))
    assert farthest(parts, parts2) == 0
    assert farthest(gradients, gradients2) == 0
    assert np.array_equal(np.array(memory)[:lanes], np.array(memory2)[:lanes])
    assert np.array_equal(np.array(memory2)[lanes:], noise[lanes:])
    # Padding rows that weighed something would be seen.
    noisy.batch["groups"][0]["labels"]["weight"][:] = 1
    _, parts3, _, gradients3 = clean.gradients(noisy, mx.array(noise), normalizer)
    assert float(np.array(parts3["ce"])) > float(np.array(parts["ce"]))
    assert farthest(gradients, gradients3) > 0


def test_validation_equals_variable_shapes(eager: Session) -> None:
    run = static(eager)
    net, done = eager.stepper.net, 0

    def advance(count: int) -> None:
        nonlocal done
        done += count

    expected = validate(net, eager.plan, eager.prepare_validation, eager.ranks, advance)
    found = validate(run.stepper.net, run.plan, run.prepare_validation, run.ranks, advance, run.stepper.compiled)
    assert isinstance(run.prepare_validation(0), Padded)
    assert found.rows == expected.rows == eager.plan.rows["validation"]
    assert done == 2 * eager.plan.count(0, "validation")
    ours, theirs = found.counters.result(), expected.counters.result()
    assert ours["by_select_type"] == theirs["by_select_type"]
    for name, value in theirs.items():
        if isinstance(value, float):
            assert ours[name] == pytest.approx(value, abs=1e-6), name


def test_compilations_are_as_many_as_planned_at_most(eager: Session) -> None:
    """Every microbatch of the run and of validation, of which few are alike."""
    run = static(eager)
    assert run.static is not None
    assert run.stepper.compiled is not None
    alike = {run.static.shape("train", epoch, index) for epoch in range(2) for index in range(run.plan.count(epoch))}
    assert len(alike) > 1
    seen = set()
    for epoch in range(2):
        run.progress.epoch = epoch
        memories: dict[int, Any] = {}
        for index in range(run.plan.count(epoch)):
            batch = run.plan.microbatch(epoch, index)
            seen.add(tuple(zip(batch.rows.tolist(), batch.decisions.tolist(), strict=True)))
            accumulate(run, index, memories)
        assert not memories
    assert run.stepper.compiled.made == len(alike)
    validate(run.stepper.net, run.plan, run.prepare_validation, run.ranks, lambda n: None, run.stepper.compiled)
    assert len(alike) < run.stepper.compiled.made <= run.static.compilations < len(seen)


def test_one_compilation_too_many_is_an_error_and_leaves_the_network_whole(eager: Session) -> None:
    run = static(eager)
    assert run.static is not None
    shapes = [run.static.shape("train", 0, index) for index in range(run.plan.count(0))]
    other = next(index for index, shape in enumerate(shapes) if shape != shapes[0])
    run.stepper.compiled = Compiled(run.stepper.net, run.aux_weights, 1)
    accumulate(run, 0, {})
    memories = {int(lane): np.zeros(run.stepper.net.architecture.memory_shape, np.float32) for lane in range(len(run.plan.lanes))}
    with pytest.raises(TrainError, match=r"compilation 2 for \d+ steps, \d+ slots and groups of .*, planned were at most 1"):
        accumulate(run, other, memories)
    accumulate(run, 0, {})
    before = {name: np.array(value) for name, value in flat(eager.stepper.net.parameters()).items()}
    assert farthest({name: np.array(value) for name, value in flat(run.stepper.net.parameters()).items()}, before) == 0


def test_a_trace_that_fails_leaves_the_network_its_weights(eager: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    run = static(eager)

    def broken(*arguments: Any) -> Any:
        raise RuntimeError("broken")

    with monkeypatch.context() as patch:
        patch.setattr(compiled, "combine", broken)
        with pytest.raises(RuntimeError, match="broken"):
            accumulate(run, 0, {})
    own = flat(run.stepper.net.parameters())
    assert farthest({name: np.array(value) for name, value in own.items()}, dict(flat(eager.stepper.net.parameters()))) == 0


def test_the_gradient_stops_at_the_border(eager: Session) -> None:
    """Where no lane starts, the learned initial memory is out of reach, through padding slots and rows too."""
    shape = Shape(12, 9, (40,), (BatchShape(100, 18, 60, 70),))
    run = static(eager)
    first, second, *_ = first_lanes(run.plan, 4)
    run.stepper.compiled = Compiled(run.stepper.net, run.aux_weights, 1)
    memories: dict[int, Any] = {}
    found = []
    for batch in (first, second):
        padded = pad(prepare(run.plan, batch, run.train, run.cards, shape), shape)
        assert 0 < len(padded.lanes) < padded.slots
        gradients, _ = run.stepper._accumulate(padded, Normalizer(batch.n_rows, batch.n_valid), memories)
        found.append(np.abs(np.array(gradients["memory_start"])).max())
    assert found[0] > 0
    assert found[1] == 0


def test_what_does_not_fit_is_named(eager: Session) -> None:
    batch = eager.plan.microbatch(0, 0)
    wide = BatchShape(100, 18, 60, 70)
    fits = Shape(int(batch.decisions.max()), len(batch.lane), (80,), (wide,))
    made = prepare(eager.plan, batch, eager.train, eager.cards, fits)
    pad(made, fits)
    for change, words in (
        ({"steps": fits.steps - 1}, "microbatch 0: .* steps"),
        ({"slots": fits.slots - 1}, "microbatch 0: .* slots"),
        ({"rows": (1,)}, "microbatch 0: .* rows of step 0, its static shape has room for 1"),
        ({"sizes": (dataclasses.replace(wide, cards=99),)}, "microbatch 0: a group of .* is none of its static shape"),
    ):
        with pytest.raises(TrainError, match=words):
            pad(made, dataclasses.replace(fits, **change))


def test_inputs_that_only_some_networks_read_are_padded_too(eager: Session) -> None:
    run = static(eager)
    assert run.static is not None
    shape = run.static.shape("train", 0, 0)
    made = prepare(run.plan, run.plan.microbatch(0, 0), run.train, run.cards, shape)
    width = WOULD_KO_INPUTS[WOULD_KO][1][-1]
    looks = [np.ones((*group.inputs["option_type"].shape, width), np.float32) for step in made.steps for group in step.groups]
    steps, number = [], 0
    for step in made.steps:
        groups = []
        for group in step.groups:
            groups.append(dataclasses.replace(group, inputs=dict(group.inputs) | {WOULD_KO: looks[number]}))
            number += 1
        steps.append(dataclasses.replace(step, groups=tuple(groups)))
    for group in pad(dataclasses.replace(made, steps=tuple(steps)), shape).batch["groups"]:
        rows = group["labels"]["weight"] == 1
        assert (group["inputs"][WOULD_KO][rows] == 1).all()
        assert (group["inputs"][WOULD_KO][~rows] == 0).all()
    assert WOULD_KO not in pad(made, shape).batch["groups"][0]["inputs"]


def test_padded_microbatches_need_what_computes_them(eager: Session) -> None:
    run = static(eager)
    padded, scored = run.prepare_train(0), run.prepare_validation(0)
    with pytest.raises(TrainError, match="microbatch 0 is padded to a static shape, but nothing compiles here"):
        eager.stepper._accumulate(padded, Normalizer(1, 1), {})
    with pytest.raises(TrainError, match="validation microbatch 0 is padded to a static shape"):
        score(eager.stepper.net, scored, {}, validate.__globals__["Counters"](eager.ranks))


def test_device_arrays_keep_order_and_types(eager: Session) -> None:
    """A compiled function is found again only by inputs of the same structure."""
    run = static(eager)
    one, two = (mlx().utils.tree_flatten(on_device(padded_train(run, 0).batch)) for _ in range(2))
    assert [(name, leaf.shape, leaf.dtype) for name, leaf in one] == [(name, leaf.shape, leaf.dtype) for name, leaf in two]


def test_only_a_gpu_compiles_unless_told_not_to(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MLX_DISABLE_COMPILE", raising=False)
    assert serves("gpu")
    assert not serves("cpu")
    monkeypatch.setenv("MLX_DISABLE_COMPILE", "1")
    assert not serves("gpu")


def test_an_estimate_measures_a_whole_microbatch_compiled(eager: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    made = []
    original = Compiled.gradients

    def watched(self: Compiled, padded: Padded, *arguments: Any) -> Any:
        made.append(padded.n_rows)
        return original(self, padded, *arguments)

    monkeypatch.setattr(Compiled, "gradients", watched)
    monkeypatch.setattr(estimate, "serves", lambda device: True)
    found = estimate.estimate(eager.home, eager.plan.id, "cpu")
    rows = eager.plan.microbatch(0, eager.plan.count(0) // 2).n_rows
    assert made == [rows, rows]
    assert found.rate.source == f"of one step of {rows} rows measured now"


def test_a_whole_run_compiled_learns_what_an_eager_one_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, eager: Session
) -> None:
    """Training, validation and checkpoints through the loop, stopped in the middle of the epoch and gone on with."""
    selection, work = Selection(all_days=True, max_rows_per_day=250), dataclasses.replace(RECIPE.work, batch_size=32)
    recipe = dataclasses.replace(RECIPE, selection=selection, work=work, epochs=1)
    states = []
    for name, compiles, killed in (("eager", False, False), ("static", True, False), ("stopped", True, True)):
        shutil.copytree(eager.home.root, tmp_path / name)
        home = Home(tmp_path / name)
        plan = toy_plan(home, recipe)
        monkeypatch.setattr(session, "serves", lambda device, compiles=compiles: compiles)
        if killed:
            with monkeypatch.context() as patch:
                patch.setattr(Stepper, "apply", dying_after(4, Stepper.apply))
                with pytest.raises(KeyboardInterrupt):
                    train(home, plan.id, "cpu", latest_every=3)
        built = train(home, plan.id, "cpu")
        step = pointers.require(built.path, pointers.LATEST)
        states.append((json.loads((step / "state.json").read_text()), load_file(step / "weights.safetensors")))
    (plain, _), (static_state, weights), (stopped, again) = states
    assert [state["environment"]["compile"] for state, _ in states] == [False, True, True]
    assert static_state["progress"]["history"][0]["validation"]["ce"] == pytest.approx(
        plain["progress"]["history"][0]["validation"]["ce"], abs=1e-4
    )
    assert stopped["progress"]["updates"] == static_state["progress"]["updates"]
    assert farthest(again, weights) == 0


def dying_after(calls: int, function: Any) -> Any:
    """``function``, interrupted at its next call after so many."""
    made = 0

    def wrapped(*arguments: Any) -> Any:
        nonlocal made
        made += 1
        if made > calls:
            raise KeyboardInterrupt
        return function(*arguments)

    return wrapped


def test_a_session_that_compiles_says_so_and_is_recovered_only_by_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    home = toy_home(tmp_path / "home")
    plan = toy_plan(home)
    cards = open_cards(home, plan)
    monkeypatch.setattr(session, "serves", lambda device: True)
    with caplog.at_level(logging.INFO, logger="tcg"):
        run = open_session(home, plan, cards, "cpu", False)
        accumulate(run, 0, run.memories)
        run.save(("latest",))
        run.close()
    assert run.static is not None
    assert f"compiles: at most {run.static.compilations} compilations; train: " in caplog.text
    assert f"1 of at most {run.static.compilations} compilations" in caplog.text
    assert run.contract["environment"]["compile"] is True
    assert open_session(home, plan, cards, "cpu", False).static is not None
    monkeypatch.setattr(session, "serves", lambda device: False)
    with pytest.raises(RecoverRefused, match="compile is False, its checkpoint was made under True"):
        open_session(home, plan, cards, "cpu", False)
    plain = open_session(home, plan, cards, "cpu", True)
    assert plain.static is None
    assert plain.stepper.compiled is None
