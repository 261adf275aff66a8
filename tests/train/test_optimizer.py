"""Optimizer and schedule against independent readings of their definitions."""

import dataclasses
from typing import Any

import numpy as np
import pytest

from tcg_core.base.errors import ConfigError
from tcg_core.model.bootstrap import mlx
from tcg_core.model.names import STRUCTURED, weight_table
from tcg_core.recipe import Optimizer, Recipe, Schedule, Selection
from tcg_core.train import optimizer
from tcg_core.train.errors import TrainError
from tcg_core.train.schedule import Horizon
from tests.model.synthetic import TINY, architecture

mx = mlx().core
SETTINGS = Optimizer(lr=0.01, muon_weight_decay=0.1, adamw_weight_decay=0.2)


def muon_by_hand(weight: Any, gradients: list[Any], rate: float, settings: Optimizer) -> Any:
    """Jordan's Muon in float64, written from its definition: momentum, Nesterov, five quintic steps, decoupled decay."""
    weight, buffer = weight.astype(np.float64), np.zeros(weight.shape)
    for gradient in gradients:
        g = gradient.astype(np.float64)
        buffer += (1 - settings.muon_momentum) * (g - buffer)
        u = g + settings.muon_momentum * (buffer - g)
        flip = u.shape[0] > u.shape[1]
        x = u.T if flip else u
        x = x / (np.linalg.norm(x) + 1e-7)
        for _ in range(5):
            s = x @ x.T
            x = 3.4445 * x - 4.7750 * s @ x + 2.0315 * s @ s @ x
        x = x.T if flip else x
        weight = weight - rate * settings.muon_weight_decay * weight
        weight = weight - rate * np.sqrt(max(1.0, weight.shape[0] / weight.shape[1])) * x
    return weight


def adamw_by_hand(weight: Any, gradients: list[Any], rate: float, settings: Optimizer) -> Any:
    """AdamW in float64 with bias correction and decoupled decay."""
    weight = weight.astype(np.float64)
    m, v = np.zeros(weight.shape), np.zeros(weight.shape)
    for t, gradient in enumerate(gradients, start=1):
        g = gradient.astype(np.float64)
        m = settings.adamw_beta1 * m + (1 - settings.adamw_beta1) * g
        v = settings.adamw_beta2 * v + (1 - settings.adamw_beta2) * g**2
        weight = weight - rate * settings.adamw_weight_decay * weight
        weight = weight - rate * (m / (1 - settings.adamw_beta1**t)) / (
            np.sqrt(v / (1 - settings.adamw_beta2**t)) + settings.adamw_eps
        )
    return weight


@pytest.mark.parametrize("shape", [(24, 24), (48, 16), (16, 48), (5, 1)])
def test_muon_agrees_with_numpy(shape: tuple[int, int]) -> None:
    rng = np.random.default_rng(0)
    weight = rng.normal(size=shape).astype(np.float32)
    gradients = [rng.normal(size=shape).astype(np.float32) * 10 ** rng.uniform(-4, 1) for _ in range(20)]
    routes = {"w": "muon"}
    parameters = {"w": mx.array(weight)}
    state = optimizer.initial_state(parameters, routes)  # type: ignore[arg-type]
    for step, gradient in enumerate(gradients, start=1):
        parameters, state = optimizer.update(parameters, {"w": mx.array(gradient)}, state, routes, SETTINGS, 0.01, step)  # type: ignore[arg-type]
    expected = muon_by_hand(weight, gradients, 0.01, SETTINGS)
    assert np.abs(np.array(parameters["w"]) - expected).max() < 2e-6


def test_adamw_agrees_with_numpy() -> None:
    rng = np.random.default_rng(1)
    weight = rng.normal(size=(7,)).astype(np.float32)
    gradients = [rng.normal(size=(7,)).astype(np.float32) for _ in range(50)]
    routes = {"w": "adamw"}
    parameters = {"w": mx.array(weight)}
    state = optimizer.initial_state(parameters, routes)  # type: ignore[arg-type]
    for step, gradient in enumerate(gradients, start=1):
        parameters, state = optimizer.update(parameters, {"w": mx.array(gradient)}, state, routes, SETTINGS, 0.01, step)  # type: ignore[arg-type]
    assert np.abs(np.array(parameters["w"]) - adamw_by_hand(weight, gradients, 0.01, SETTINGS)).max() < 2e-6


def test_decay_is_decoupled_and_of_its_group() -> None:
    parameters = {"m": mx.ones((4, 4)), "a": mx.ones((4,))}
    routes = {"m": "muon", "a": "adamw"}
    zero = {name: mx.zeros_like(value) for name, value in parameters.items()}
    state = optimizer.initial_state(parameters, routes)  # type: ignore[arg-type]
    moved, _ = optimizer.update(parameters, zero, state, routes, SETTINGS, 0.5, 1)  # type: ignore[arg-type]
    assert np.allclose(np.array(moved["m"]), 1 - 0.5 * 0.1)
    assert np.allclose(np.array(moved["a"]), 1 - 0.5 * 0.2)


def test_structured_leaves_decay_by_their_own_weight() -> None:
    settings = dataclasses.replace(SETTINGS, structured_weight_decay=0.4)
    parameters = {name: mx.ones((4,)) for name in (*STRUCTURED, "other")}
    routes = dict.fromkeys(parameters, "adamw")
    zero = {name: mx.zeros_like(value) for name, value in parameters.items()}
    state = optimizer.initial_state(parameters, routes)  # type: ignore[arg-type]
    moved, _ = optimizer.update(parameters, zero, state, routes, settings, 0.5, 1)  # type: ignore[arg-type]
    assert {name: round(float(np.array(value)[0]), 6) for name, value in moved.items()} == {
        "type_query": 0.8,
        "type_bias": 0.8,
        "other": 0.9,
    }
    structured = architecture(dataclasses.replace(TINY, structured=True))
    assert set(STRUCTURED) == set(weight_table(structured)) - set(weight_table(architecture()))
    assert {optimizer.routing(structured)[name] for name in STRUCTURED} == {"adamw"}
    with pytest.raises(ConfigError, match=r"structured_weight_decay is set, but model\.structured is off"):
        Recipe(Selection(all_days=True), optimizer=settings)


def test_routes_are_the_seeds() -> None:
    table, routes = weight_table(architecture()), optimizer.routing(architecture())
    assert set(routes) == set(table)
    for name, group in routes.items():
        if len(table[name].shape) != 2 or "head" in name or table[name].kind in ("embedding", "padded"):
            assert group == "adamw", name
        else:
            assert group == "muon", name
    contract = optimizer.contract(SETTINGS, routes)
    assert contract["routing"] == routes
    assert contract["settings"]["muon_weight_decay"] == 0.1
    assert contract == optimizer.contract(dataclasses.replace(SETTINGS, lr=1.0, max_grad_norm=2.0), routes)


def test_clip_keeps_direction_and_reports_the_norm_before() -> None:
    gradients = {"a": mx.array([3.0, 0.0]), "b": mx.array([[4.0]])}
    clipped, norm = optimizer.clip(gradients, 1.0)
    assert float(np.array(norm)) == pytest.approx(5.0)
    assert np.allclose(np.array(clipped["a"]), [0.6, 0.0])
    small, _ = optimizer.clip({"a": mx.array([0.3])}, 1.0)
    assert np.array(small["a"])[0] == np.float32(0.3)


@pytest.mark.parametrize(
    ("break_it", "words"),
    [
        (lambda s: s.pop("adamw.second.a"), r"adamw\.second\.a is missing"),
        (lambda s: s.update({"adamw.first.zz": mx.zeros((1,))}), r"adamw\.first\.zz is not of this optimizer"),
        (lambda s: s.update({"adamw.first.a": mx.zeros((3,))}), r"adamw\.first\.a is .*\[3\], expected float32 \[4\]"),
        (lambda s: s.update({"adamw.first.a": mx.zeros((4,), mx.float16)}), r"adamw\.first\.a is .*float16"),
    ],
)
def test_a_wrong_state_is_named(break_it: Any, words: str) -> None:
    parameters = {"a": mx.ones((4,))}
    routes = {"a": "adamw"}
    state = optimizer.initial_state(parameters, routes)  # type: ignore[arg-type]
    break_it(state)
    with pytest.raises(TrainError, match=words):
        optimizer.check_state(state, parameters, routes, "file")  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["cosine", "linear"])
@pytest.mark.parametrize("total", [2, 7, 100])
def test_the_floor_is_reached_at_the_horizon_and_held(name: Any, total: int) -> None:
    horizon = Horizon(Schedule(name, warmup_steps=1000, lr_min_ratio=0.2), 0.5, total)
    assert horizon.warmup == max(total // 5, 1)
    rates = [horizon.rate(update) for update in range(1, total + 1)]
    assert rates[horizon.warmup - 1] == 0.5
    assert rates[-1] == pytest.approx(0.1, abs=1e-15)
    assert all(rate > 0.1 for rate in rates[horizon.warmup - 1 : -1])
    assert horizon.rate(total + 50) == pytest.approx(0.1, abs=1e-15)
    assert rates[0] > 0
    assert all(a > b for a, b in zip(rates[horizon.warmup - 1 :], rates[horizon.warmup :], strict=False))


def test_warm_up_is_linear_and_none_holds_the_base() -> None:
    horizon = Horizon(Schedule("none", warmup_steps=4), 1.0, 100)
    assert [horizon.rate(update) for update in range(1, 7)] == [0.25, 0.5, 0.75, 1.0, 1.0, 1.0]
    assert horizon.contract() != dataclasses.replace(horizon, total=101).contract()
