"""The same functions compiled by MLX, on the CPU: one C++ compilation a kernel, so slow."""

import shutil
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from tcg_core.model.bootstrap import mlx
from tcg_core.train.compiled import plan as static_plan
from tcg_core.train.compiled.loss import Compiled
from tcg_core.train.errors import TrainError
from tcg_core.train.session import Session, open_session
from tcg_core.train.step import flat
from tcg_core.train.validate import validate
from tests.train.compiling import accumulate, farthest
from tests.train.toy import toy_home, toy_session

mx = mlx().core
pytestmark = [pytest.mark.slow, pytest.mark.skipif(shutil.which("g++") is None, reason="MLX compiles with g++ on a CPU")]


@pytest.fixture(scope="module")
def eager(tmp_path_factory: pytest.TempPathFactory) -> Session:
    """A session whose microbatches keep their own shapes."""
    return toy_session(toy_home(tmp_path_factory.mktemp("compile") / "home"))


@pytest.fixture
def compiling() -> Iterator[None]:
    """Compiling is on, which sessions on a CPU switch off."""
    yield
    mx.disable_compile()


@pytest.mark.usefixtures("compiling")
def test_compiled_equals_uncompiled_and_is_traced_once_a_shape(eager: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    original = static_plan.choose_shapes
    monkeypatch.setattr("tcg_core.train.session.choose_shapes", lambda *arguments: original(*arguments, 2))
    run, plain = (open_session(eager.home, eager.plan, eager.cards, "cpu", False) for _ in range(2))
    for session in (run, plain):
        session.compile()
    assert run.static is not None
    assert run.stepper.compiled is not None
    assert plain.stepper.compiled is not None
    plain.stepper.compiled._most = 10_000  # uncompiled, every call counts
    ours: dict[int, Any] = {}
    theirs: dict[int, Any] = {}
    variable: dict[int, Any] = {}
    shapes, batches = set(), 2 * run.static.compilations
    for index in range(batches):
        expected, wanted = accumulate(plain, index, theirs)
        loose, _ = accumulate(eager, index, variable)
        mx.enable_compile()
        found, parts = accumulate(run, index, ours)
        mx.disable_compile()
        shapes.add(run.static.shape("train", 0, index))
        rows = run.plan.microbatch(0, index).n_rows
        assert farthest(found, expected) < 1e-6
        assert farthest(found, loose) < 1e-6
        assert max(abs(parts[name] - wanted[name]) for name in wanted) / rows < 1e-6
        assert farthest(ours, theirs) < 1e-6
        print(f"microbatch {index}: {farthest(found, expected):.1e} off uncompiled, {farthest(found, loose):.1e} off eager")
    assert run.stepper.compiled.made == len(shapes) <= len(run.static.sides["train"].merged.shapes)
    assert plain.stepper.compiled.made == batches
    expected_scores = validate(eager.stepper.net, eager.plan, eager.prepare_validation, eager.ranks, lambda n: None)
    mx.enable_compile()
    scores = validate(run.stepper.net, run.plan, run.prepare_validation, run.ranks, lambda n: None, run.stepper.compiled)
    mx.disable_compile()
    assert scores.counters.sums["ce"] == pytest.approx(expected_scores.counters.sums["ce"], rel=1e-6)
    assert np.array_equal(scores.counters.kinds, expected_scores.counters.kinds)
    assert run.stepper.compiled.made <= run.static.compilations
    run.stepper.compiled = Compiled(run.stepper.net, run.aux_weights, 0)
    mx.enable_compile()
    with pytest.raises(TrainError, match=r"compilation 1 for .* planned were at most 0"):
        accumulate(run, batches, ours)
    mx.disable_compile()
    # No tracer is left in the network: its weights can be read, and are what they were.
    own, before = (flat(session.stepper.net.parameters()) for session in (run, eager))
    assert farthest({name: np.array(value) for name, value in own.items()}, before) == 0
