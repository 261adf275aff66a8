"""Muon for hidden matrices, AdamW for the rest, both in float32 with decoupled weight decay.

MLX's own Muon couples the decay with the gradient before orthogonalising, and its AdamW does not correct bias by
default (`facts/mlx.md` §2), so both are written out here. Muon: Jordan et al. 2024, Nesterov momentum and five quintic
Newton-Schulz steps; AdamW: Loshchilov and Hutter 2019.
"""

from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from tcg_core.model.architecture import Architecture
from tcg_core.model.bootstrap import mlx
from tcg_core.model.names import STRUCTURED, Group, Leaf, weight_table
from tcg_core.recipe import Optimizer
from tcg_core.train.errors import TrainError

if TYPE_CHECKING:
    import mlx.core as mx
else:
    mx = mlx().core

Leaves = dict[str, "mx.array"]

NS_COEFFICIENTS = (3.4445, -4.7750, 2.0315)
NS_STEPS = 5
NS_EPS = 1e-7
ROUTING_VERSION = 1
#: Settings that are no part of the contract: the rate belongs to the schedule, the clip leaves no trace in a moment.
_FREE = ("lr", "max_grad_norm")


def route(leaf: Leaf) -> Group:
    """The one rule: which optimizer a leaf belongs to."""
    return leaf.group


def routing(architecture: Architecture) -> dict[str, Group]:
    """Optimizer of each leaf by name."""
    return {name: route(leaf) for name, leaf in weight_table(architecture).items()}


def contract(settings: Optimizer, routes: Mapping[str, Group]) -> dict[str, Any]:
    """What a recovery or resume must find unchanged: momenta, decays, constants and the route of every leaf."""
    return {
        "settings": {name: value for name, value in asdict(settings).items() if name not in _FREE},
        "newton_schulz": {"coefficients": list(NS_COEFFICIENTS), "steps": NS_STEPS, "eps": NS_EPS},
        "nesterov": True,
        "state_dtype": "float32",
        "parameter_dtype": "float32",
        "routing_version": ROUTING_VERSION,
        "routing": dict(routes),
    }


def initial_state(parameters: Leaves, routes: Mapping[str, Group]) -> Leaves:
    """Zero moments: ``muon.momentum.<leaf>``, ``adamw.first.<leaf>``, ``adamw.second.<leaf>``."""
    return {name: mx.zeros_like(parameters[leaf]) for name, leaf in _names(routes).items()}


def check_state(state: Leaves, parameters: Leaves, routes: Mapping[str, Group], source: str) -> None:
    """Raises :class:`TrainError` naming a moment that is missing, extra, of another shape or not float32."""
    expected = _names(routes)
    for name in sorted(set(state) ^ set(expected)):
        raise TrainError(f"{source}: moment {name} is {'missing' if name in expected else 'not of this optimizer'}")
    for name, leaf in expected.items():
        if state[name].shape != parameters[leaf].shape or state[name].dtype != mx.float32:
            found = f"{state[name].dtype} {list(state[name].shape)}"
            raise TrainError(f"{source}: moment {name} is {found}, expected float32 {list(parameters[leaf].shape)}")


def clip(gradients: Leaves, limit: float) -> tuple[Leaves, "mx.array"]:
    """Scales gradients to a global norm of at most ``limit``; returns them and the norm before."""
    total = mx.sqrt(sum((mx.square(g).sum() for g in gradients.values()), mx.array(0.0)))
    scale = mx.minimum(limit / mx.maximum(total, 1e-12), 1.0)
    return {name: g * scale for name, g in gradients.items()}, total


def update(
    parameters: Leaves, gradients: Leaves, state: Leaves, routes: Mapping[str, Group], settings: Optimizer, rate: float, step: int
) -> tuple[Leaves, Leaves]:
    """One update at learning rate ``rate``, the ``step``-th counted from 1: new parameters and new state."""
    new_parameters, new_state = {}, {}
    for name, parameter in parameters.items():
        gradient = gradients[name]
        if routes[name] == "muon":
            key = f"muon.momentum.{name}"
            momentum = settings.muon_momentum * state[key] + (1 - settings.muon_momentum) * gradient
            direction = orthogonalize((1 - settings.muon_momentum) * gradient + settings.muon_momentum * momentum)
            scale = rate * max(1.0, parameter.shape[0] / parameter.shape[1]) ** 0.5
            new_parameters[name] = parameter * (1 - rate * settings.muon_weight_decay) - scale * direction
            new_state[key] = momentum
            continue
        first, second = f"adamw.first.{name}", f"adamw.second.{name}"
        new_state[first] = settings.adamw_beta1 * state[first] + (1 - settings.adamw_beta1) * gradient
        new_state[second] = settings.adamw_beta2 * state[second] + (1 - settings.adamw_beta2) * mx.square(gradient)
        corrected = new_state[first] / (1 - settings.adamw_beta1**step)
        spread = mx.sqrt(new_state[second] / (1 - settings.adamw_beta2**step)) + settings.adamw_eps
        decay = settings.structured_weight_decay if name in STRUCTURED else settings.adamw_weight_decay
        new_parameters[name] = parameter * (1 - rate * decay) - rate * corrected / spread
    return new_parameters, new_state


def orthogonalize(matrix: "mx.array") -> "mx.array":
    """Newton-Schulz iteration towards the nearest semi-orthogonal matrix, float32, on the smaller side."""
    a, b, c = NS_COEFFICIENTS
    tall = matrix.shape[0] > matrix.shape[1]
    x = matrix.T if tall else matrix
    x = x / (mx.sqrt(mx.square(x).sum()) + NS_EPS)
    for _ in range(NS_STEPS):
        gram = x @ x.T
        x = a * x + (b * gram + c * (gram @ gram)) @ x
    return x.T if tall else x


def _names(routes: Mapping[str, Group]) -> dict[str, str]:
    names = {}
    for leaf, group in routes.items():
        for moment in ("muon.momentum",) if group == "muon" else ("adamw.first", "adamw.second"):
            names[f"{moment}.{leaf}"] = leaf
    return names
