"""One update: every leaf moves, float32 throughout, anything not finite is named and nothing is changed."""

from typing import Any

import numpy as np
import pytest

from tcg_core.model.bootstrap import mlx
from tcg_core.train.errors import Diverged, TrainError
from tcg_core.train.loss import Normalizer
from tcg_core.train.prepare import Prepared
from tcg_core.train.session import Session
from tcg_core.train.step import Stepper, check_finite, check_float32, flat
from tests.train.toy import toy_home, toy_session

mx = mlx().core


def first(session: Session) -> tuple[Prepared, Normalizer]:
    batch = session.plan.microbatch(0, 0)
    return session.prepare_train(0), Normalizer(batch.n_rows, batch.n_valid)


def set_leaf(session: Session, name: str, value: Any) -> None:
    session.stepper.net.update(mlx().utils.tree_unflatten([(name, value)]))


def test_every_leaf_moves_and_stays_float32(session: Session) -> None:
    prepared, normalizer = first(session)
    before = {name: np.array(value) for name, value in flat(session.stepper.net.parameters()).items()}
    done = session.stepper.apply([prepared], normalizer, {}, 1e-2, 1)
    after = flat(session.stepper.net.parameters())
    assert set(after) == set(before)
    still = [name for name, value in after.items() if np.array_equal(np.array(value), before[name])]
    assert still == []
    assert all(value.dtype == mx.float32 for value in [*after.values(), *session.stepper.state.values()])
    assert done.rows == prepared.n_rows
    assert 0 < done.clipped <= session.plan.recipe.optimizer.max_grad_norm < done.norm or done.clipped == done.norm


def test_the_tables_are_no_parameters(session: Session) -> None:
    assert not [name for name in flat(session.stepper.net.parameters()) if "table" in name]
    assert np.array_equal(np.array(session.stepper.net._static["card"]), session.cards.card_static)


def test_a_gradient_that_is_not_finite_stops_before_the_update(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    prepared, normalizer = first(session)
    original = Stepper._accumulate

    def poisoned(self: Stepper, *arguments: Any) -> Any:
        gradients, found = original(self, *arguments)
        return gradients | {"globals.weight": gradients["globals.weight"] * mx.array(float("nan"))}, found

    monkeypatch.setattr(Stepper, "_accumulate", poisoned)
    before = {name: np.array(value) for name, value in flat(session.stepper.net.parameters()).items()}
    with pytest.raises(Diverged, match=r"update 2: gradient globals\.weight has \d+ of \d+ values that are not finite"):
        session.stepper.apply([prepared], normalizer, {}, 1e-2, 2)
    assert all(np.array_equal(before[name], np.array(value)) for name, value in flat(session.stepper.net.parameters()).items())


def test_a_loss_that_is_not_finite_names_the_microbatch(tmp_path: Any) -> None:
    session = toy_session(toy_home(tmp_path / "home"))
    prepared, normalizer = first(session)
    set_leaf(session, "final_norm.weight", session.stepper.net.final_norm.weight * float("inf"))
    with pytest.raises(Diverged, match="microbatch 0: loss"):
        session.stepper.apply([prepared], normalizer, {}, 1e-2, 1)
    with pytest.raises(Diverged, match=r"parameter final_norm\.weight has \d+ of 16 values"):
        session.save(("latest",))
    assert not list(session.directory.glob("step_*"))


def test_a_leaf_of_another_type_is_named_before_training(session: Session) -> None:
    with pytest.raises(TrainError, match=r"parameter a\.b is mlx\.core\.float16, expected float32"):
        check_float32({"a.b": mx.zeros((2,), mx.float16)}, "parameter")
    set_leaf(session, "final_norm.bias", session.stepper.net.final_norm.bias.astype(mx.float16))
    with pytest.raises(TrainError, match=r"parameter final_norm\.bias is"):
        Stepper(session.stepper.net, session.stepper.state, session.stepper.routes, session.plan.recipe)
    set_leaf(session, "final_norm.bias", session.stepper.net.final_norm.bias.astype(mx.float32))


def test_check_finite_passes_what_is_finite() -> None:
    check_finite({"a": mx.array([1.0, -1e30])}, "parameter")
    with pytest.raises(Diverged, match="parameter b has 1 of 2"):
        check_finite({"a": mx.array([1.0]), "b": mx.array([1.0, float("inf")])}, "parameter")


def test_an_empty_window_is_an_error(session: Session) -> None:
    with pytest.raises(TrainError, match="holds no microbatch"):
        session.stepper.apply([], Normalizer(1, 1), {}, 1e-2, 3)
