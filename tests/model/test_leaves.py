"""The table of weight names, initialisation, gradients: no leaf and no setting is there in vain."""

import math
import os
import random
import subprocess
import sys
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from tcg_core.encode.cards import PADDING, UNKNOWN_PRINT, CardTables
from tcg_core.model import mlx_net, torch_net
from tcg_core.model.architecture import Architecture
from tcg_core.model.bootstrap import mlx
from tcg_core.model.config import ModelConfig, ModelError
from tcg_core.model.heads import HEAD_LEAF, HEADS, built_heads
from tcg_core.model.init import initial_weights
from tcg_core.model.names import STRUCTURED, check_weights, group_sizes, weight_table
from tcg_core.train.board import parameter_table
from tests.model.synthetic import ALL_AUX, TINY, architecture, batch, tables

modules = mlx()
mx, nn = modules.core, modules.nn
VARIANTS = [
    *(TINY, replace(TINY, static=False), replace(TINY, split_heads=False), replace(TINY, layers=1), replace(TINY, would_ko=True)),
    *(replace(TINY, structured=True), ModelConfig()),
]


@pytest.mark.parametrize("config", VARIANTS)
@pytest.mark.parametrize("aux", [ALL_AUX, dict.fromkeys(ALL_AUX, 0.0)])
def test_table_equals_both_networks(config: ModelConfig, aux: dict[str, float]) -> None:
    arch = architecture(config, aux=aux)
    expected = {name: leaf.shape for name, leaf in weight_table(arch).items()}
    ours = modules.utils.tree_flatten(mlx_net.build(arch, 1).parameters())
    assert {name: tuple(array.shape) for name, array in ours} == expected
    assert {name: tuple(array.shape) for name, array in torch_net.build(arch, 1).named_parameters()} == expected
    assert {name: tuple(array.shape) for name, array in torch_net.build(arch, 1).state_dict().items()} == expected


def gradients(arch: Architecture, card_tables: CardTables) -> dict[str, Any]:
    """Gradient of every MLX leaf for one batch, two recurrent steps from the learned memory."""
    net = mlx_net.build(arch, 3)
    net.set_tables(card_tables)
    first, second = (mlx_net.as_mx(batch(24, 12, 6, 12, 8, seed=seed)) for seed in (1, 2))

    def loss(model: mlx_net.PolicyNet) -> Any:
        memory = mx.broadcast_to(model.initial_memory(), (24, *arch.memory_shape))
        total = mx.array(0.0)
        for data in (first, second):
            output = model(data, memory)
            memory = output.memory
            total = total + nn.losses.cross_entropy(output.logits, data["target"], reduction="mean")
            total = total + sum((values - 1.0).square().mean() for values in output.aux.values())
        return total

    _, found = nn.value_and_grad(net, loss)(net)
    return {name: np.array(array) for name, array in modules.utils.tree_flatten(found)}


@pytest.mark.parametrize("config", VARIANTS[:6])
@pytest.mark.parametrize("aux", [ALL_AUX, dict.fromkeys(ALL_AUX, 0.0)])
def test_every_leaf_gets_a_gradient_and_padding_rows_none(config: ModelConfig, aux: dict[str, float]) -> None:
    arch = architecture(config, aux=aux)
    found = gradients(arch, tables())
    for name, leaf in weight_table(arch).items():
        assert np.isfinite(found[name]).all(), name
        assert np.abs(found[name]).max() > 1e-6, f"{name} is dead"
        if leaf.kind == "padded":
            assert not found[name][0].any(), name
        if leaf.kind in ("matrix", "residual", "gain") or (leaf.kind == "bias" and leaf.size > 1):
            assert (found[name] != 0).mean() > 0.5, name


def test_torch_padding_rows_get_no_gradient() -> None:
    arch = architecture()
    net = torch_net.build(arch, 1)
    net.set_tables(tables())
    output = net(torch_net.as_torch(batch(8, 6, 4, 5, 5)), net.initial_memory().expand(8, -1, -1))
    (output.memory.square().sum() + output.logits[:, :1].clamp(min=-10).sum()).backward()
    for name in ("card", "attack", "card_zone", "card_flag", "unit_zone", "attached_kind", "option_type"):
        gradient = net.get_submodule(name).weight.grad
        assert isinstance(gradient, torch.Tensor)
        assert gradient.abs().max() > 0
        assert not gradient[0].any()


def test_padding_embeds_to_the_zero_vector() -> None:
    arch = architecture()
    weights = {name: array + 1 for name, array in initial_weights(arch, 1).items()}  # row 0 is not zero any more
    net = mlx_net.restore_net(arch, weights, "test")
    net.set_tables(tables())
    lookup = {name: np.array(table) for name, table in net.lookup().items()}
    padded = {name.removesuffix(".weight") for name, leaf in weight_table(arch).items() if leaf.kind == "padded"}
    assert {name for name, table in lookup.items() if not table[0].any()} == padded
    assert all(table[1:].any(1).all() for table in lookup.values())
    theirs = torch_net.restore_net(arch, weights, "test")
    assert not theirs.card(torch.tensor([0, 0])).any()


@pytest.mark.parametrize(
    "field", ["d_model", "heads", "layers", "ff", "registers", "static", "split_heads", "structured", "would_ko"]
)
def test_no_inert_setting(field: str) -> None:
    value = getattr(TINY, field)
    other = replace(TINY, **{field: not value if isinstance(value, bool) else value * 2})
    outputs = []
    for config in (TINY, other):
        weights = initial_weights(architecture(config), 1)
        # What starts at zero is moved first, as an update would.
        moved = {name: array + 0.1 * (not array.any()) for name, array in weights.items() if name in STRUCTURED}
        net = mlx_net.restore_net(architecture(config), weights | moved, "test")
        net.set_tables(tables())
        data = mlx_net.as_mx(batch(4, 6, 3, 4, 5))
        outputs.append(np.array(net(data, mx.broadcast_to(net.initial_memory(), (4, *net.architecture.memory_shape))).logits))
    assert np.abs(outputs[0] - outputs[1]).max() > 1e-4
    known = {"d_model", "heads", "layers", "ff", "registers", "static", "split_heads", "structured", "would_ko"}
    assert set(ModelConfig.__dataclass_fields__) == known


def test_without_would_ko_a_network_is_described_and_sized_as_before_it_existed() -> None:
    """Checkpoints made then load, and runs resumed then go on: no key, no leaf, no other draw."""
    plain, looking = architecture(), architecture(replace(TINY, would_ko=True))
    assert "would_ko" not in plain.to_dict()["model"] and looking.to_dict()["model"]["would_ko"] is True
    assert Architecture.from_dict(looking.to_dict()) == looking and Architecture.from_dict(plain.to_dict()) == plain
    assert set(weight_table(looking)) - set(weight_table(plain)) == {"option_would_ko.weight"}
    assert weight_table(looking)["option_would_ko.weight"].group == "muon"
    more, fewer = initial_weights(looking, 1), initial_weights(plain, 1)
    assert all((more[name] == fewer[name]).all() for name in fewer)


def test_the_projection_of_looks_has_a_gradient_only_where_something_was_looked_at() -> None:
    arch = architecture(replace(TINY, would_ko=True))
    net = mlx_net.build(arch, 3)
    net.set_tables(tables())
    data = batch(8, 6, 4, 5, 5)

    def norms(inputs: dict[str, Any]) -> tuple[float, float]:
        arrays = mlx_net.as_mx(inputs)
        memory = mx.broadcast_to(net.initial_memory(), (8, *arch.memory_shape))
        found = nn.value_and_grad(
            net, lambda model: nn.losses.cross_entropy(model(arrays, memory).logits, arrays["target"]).sum()
        )
        gradient = found(net)[1]
        return tuple(float(mx.abs(gradient[name]["weight"]).max()) for name in ("option_would_ko", "option_attributes"))

    seen, other = norms(data)
    assert seen > 1e-4 and other > 1e-4
    blank, other = norms({**data, "option_would_ko": np.zeros_like(data["option_would_ko"])})
    assert blank == 0 and other > 1e-4


def test_a_structured_network_starts_as_the_plain_one() -> None:
    outputs = []
    for config in (TINY, replace(TINY, structured=True)):
        net = mlx_net.build(architecture(config), 1)
        net.set_tables(tables())
        data = mlx_net.as_mx(batch(4, 6, 3, 4, 5))
        outputs.append(np.array(net(data, mx.broadcast_to(net.initial_memory(), (4, *net.architecture.memory_shape))).logits))
    assert np.array_equal(*outputs)


def test_baseline_size_and_routing() -> None:
    arch = architecture(ModelConfig(), tables(1450, 1500, 89, 40))
    sizes = group_sizes(arch)
    assert 1_000_000 <= sum(sizes.values()) <= 1_400_000
    text = parameter_table(arch)
    assert f"total {sum(sizes.values()):,}" in text
    table = weight_table(arch)
    assert all(name in text for name in table)
    assert sum(leaf.size for leaf in table.values() if leaf.group == "muon") == sizes["muon"] > 500_000
    assert all(len(leaf.shape) == 2 for leaf in table.values() if leaf.group == "muon")
    outputs = ("option_head.weight", "stop_head.weight", *(f"{leaf}.weight" for leaf in HEAD_LEAF.values()))
    for name in ("card.weight", "attack.weight", "memory_start", "card_count", "final_norm.weight", *outputs):
        assert table[name].group == "adamw", name


def test_initialisation_is_a_function_of_architecture_and_seed() -> None:
    arch = architecture()
    np.random.seed(1)  # the ambient generators must not matter
    random.seed(1)
    mx.random.seed(1)
    before = np.array(mx.random.state[0]) if mx.random.state else None
    first = mlx_net.weights_of(mlx_net.build(arch, 5))
    if before is not None:
        assert (np.array(mx.random.state[0]) == before).all()
    np.random.seed(2)
    torch.manual_seed(2)
    second = torch_net.weights_of(torch_net.build(arch, 5))
    other = initial_weights(arch, 6)
    table = weight_table(arch)
    for name, array in first.items():
        assert (array == second[name]).all()
        assert np.isfinite(array).all()
        assert (array == other[name]).all() == (table[name].kind in ("bias", "gain")), name
    assert len({array.tobytes() for name, array in first.items() if table[name].kind not in ("bias", "gain")}) == sum(
        leaf.kind not in ("bias", "gain") for leaf in table.values()
    )


def test_initialisation_is_equal_in_another_process() -> None:
    program = (
        "import hashlib, random; random.seed(9)\n"
        "from tests.model.synthetic import architecture; from tcg_core.model.init import initial_weights\n"
        "print(hashlib.sha256(b''.join(a.tobytes() for a in initial_weights(architecture(), 5).values())).hexdigest())"
    )
    environments = [os.environ | {"PYTHONHASHSEED": seed, "PYTHONPATH": "."} for seed in ("1", "2")]
    told = [
        subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, env=environment).stdout
        for environment in environments
    ]
    assert told[0] == told[1]
    assert len(told[0]) == 65


def test_learning_moves_every_leaf_and_lowers_the_loss() -> None:
    arch = architecture()
    net = mlx_net.build(arch, 1)
    net.set_tables(tables())
    data = mlx_net.as_mx(batch(16, 8, 4, 6, 6))
    before = mlx_net.weights_of(net)

    def loss(model: mlx_net.PolicyNet) -> Any:
        output = model(data, mx.broadcast_to(model.initial_memory(), (16, *arch.memory_shape)))
        output = model(data, output.memory)
        aux = sum((values - 0.5).square().mean() for values in output.aux.values())
        return nn.losses.cross_entropy(output.logits, data["target"], reduction="mean") + aux

    optimizer = modules.optimizers.AdamW(learning_rate=1e-2, bias_correction=True, weight_decay=0.0)
    step = nn.value_and_grad(net, loss)
    losses = []
    for _ in range(25):
        value, found = step(net)
        optimizer.update(net, found)
        mx.eval(net.parameters(), optimizer.state, value)
        losses.append(value.item())
    assert losses[-1] < 0.3 * losses[0]
    after = mlx_net.weights_of(net)
    for name in before:
        assert not (before[name] == after[name]).all(), f"{name} did not move"


def test_aux_heads_follow_their_weights() -> None:
    assert built_heads(ALL_AUX) == HEADS
    assert built_heads({**ALL_AUX, "prize": 0.0, "ko": 0.0}) == ("terminal", "value")
    for weights, message in (
        ({**ALL_AUX, "luck": 1.0}, "'luck' is unknown"),
        ({"ko": 1.0}, "is missing"),
        ({**ALL_AUX, "ko": -1.0}, "'ko' is -1.0"),
        ({**ALL_AUX, "ko": math.nan}, "'ko' is nan"),
    ):
        with pytest.raises(ModelError, match=message):
            built_heads(weights)


def test_arch_config_round_trips_and_refuses_by_name() -> None:
    arch = architecture()
    values = arch.to_dict()
    assert Architecture.from_dict(values) == arch
    for change, message in (
        ({"arch_version": 99}, "arch_version is 99"),
        ({"schema": "0" * 64}, "schema digest 000000000000"),
        ({"heads": ["value", "ko"]}, "heads"),
        ({"extra": 1}, "'extra' is unknown"),
        ({"model": {**values["model"], "dropout": 0.1}}, "'dropout' is unknown"),
        ({"cards": 1}, "cards is 1"),
    ):
        with pytest.raises(ModelError, match=message):
            Architecture.from_dict(values | change)
    with pytest.raises(ModelError, match="'cards' is missing"):
        Architecture.from_dict({name: value for name, value in values.items() if name != "cards"})


DEFECTS = [
    (lambda w: w.pop("final_norm.bias"), "'final_norm.bias' is missing"),
    (lambda w: w.update(extra=np.zeros(1, np.float32)), "'extra' is not of this architecture"),
    (lambda w: w.update({"card.weight": w["card.weight"][:-1]}), "'card.weight' has shape"),
    (lambda w: w.update({"globals.weight": w["globals.weight"].astype(np.float16)}), "'globals.weight' is float16"),
    (lambda w: w.update({"card_count": w["card_count"] * np.float32(np.nan)}), "'card_count' is not finite"),
]


@pytest.mark.parametrize(("break_it", "message"), DEFECTS)
@pytest.mark.parametrize("restore", [mlx_net.restore_net, torch_net.restore_net])
def test_weights_with_a_defect_are_refused_by_name(break_it: Any, message: str, restore: Any) -> None:
    arch = architecture()
    weights: dict[str, Any] = dict(initial_weights(arch, 1))
    check_weights(arch, weights, "whole")
    break_it(weights)
    with pytest.raises(ModelError, match=f"somewhere: leaf {message}"):
        restore(arch, weights, "somewhere")


def test_tables_of_another_shape_or_dtype_are_refused() -> None:
    good = tables()
    for card_tables, message in (
        (tables(cards=41), r"card_static is float32 \[41, 7\]"),
        (replace(good, attack_static=good.attack_static.astype(np.float64)), "attack_static is float64"),
    ):
        for build in (mlx_net.build, torch_net.build):
            with pytest.raises(ModelError, match=message):
                build(architecture(), 1).set_tables(card_tables)


def test_an_unknown_card_has_no_identity_until_it_is_trained() -> None:
    """No row need show one: random weights would be noise at play."""
    arch = architecture()
    weights = initial_weights(arch, 5)
    for name in ("card.weight", "attack.weight"):
        empty = np.flatnonzero((weights[name] == 0).all(axis=1))
        assert empty.tolist() == [PADDING, UNKNOWN_PRINT], name
    assert not (weights["card_zone.weight"][UNKNOWN_PRINT] == 0).any()
