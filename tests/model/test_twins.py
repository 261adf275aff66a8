"""MLX and PyTorch compute the same, whatever the configuration; padding, order and masks do what they promise."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from tcg_core.model import mlx_net, torch_net
from tcg_core.model.architecture import MASK_VALUE, Architecture
from tcg_core.model.bootstrap import mlx
from tcg_core.model.config import ModelConfig, ModelError
from tcg_core.model.init import initial_weights
from tcg_core.model.names import STRUCTURED
from tests.model.synthetic import ALL_AUX, TINY, architecture, batch, tables

mx = mlx().core
NO_AUX = dict.fromkeys(ALL_AUX, 0.0)
CONFIGS = [
    (TINY, ALL_AUX),
    (replace(TINY, static=False), ALL_AUX),
    (replace(TINY, split_heads=False, layers=1), {**ALL_AUX, "prize": 0.0}),
    (replace(TINY, layers=3, registers=1), NO_AUX),
    (replace(TINY, structured=True), ALL_AUX),
    (replace(TINY, would_ko=True), ALL_AUX),
    (ModelConfig(), ALL_AUX),
]


def twins(arch: Architecture, seed: int = 1) -> tuple[mlx_net.PolicyNet, torch_net.TorchNet]:
    weights = initial_weights(arch, seed)
    # What starts at zero is drawn, or the twins would agree on nothing there.
    weights |= {
        name: np.random.default_rng(3).normal(size=weights[name].shape).astype("f") for name in STRUCTURED if name in weights
    }
    ours, theirs = mlx_net.restore_net(arch, weights, "drawn"), torch_net.restore_net(arch, weights, "drawn")
    ours.set_tables(tables())
    theirs.set_tables(tables())
    return ours, theirs


def said(net: Any, data: Mapping[str, Any], memory: Any) -> tuple[Any, dict[str, Any], Any]:
    """Output as numpy, of either framework."""
    if isinstance(net, mlx_net.PolicyNet):
        output = net(mlx_net.as_mx(data), mx.array(memory))
    else:
        with torch.no_grad():
            output = net(torch_net.as_torch(data), torch.tensor(memory))
    return np.array(output.logits), {name: np.array(values) for name, values in output.aux.items()}, np.array(output.memory)


def start(net: mlx_net.PolicyNet, rows: int) -> Any:
    return np.repeat(np.array(net.initial_memory())[None], rows, 0)


@pytest.mark.parametrize(("config", "aux"), CONFIGS)
def test_twins_agree_over_recurrent_steps(config: ModelConfig, aux: dict[str, float]) -> None:
    ours, theirs = twins(architecture(config, aux=aux))
    memories = [start(ours, 5)] * 2
    for step in range(6):
        data = batch(5, 9 + step, 4, 6, 3 + step, seed=step)
        left, right = (said(net, data, memory) for net, memory in zip((ours, theirs), memories, strict=True))
        assert np.abs(left[0] - right[0]).max() <= 1e-5
        assert (left[0].argmax(1) == right[0].argmax(1)).all()
        assert set(left[1]) == set(right[1]) == {name for name, weight in aux.items() if weight}
        assert all(np.abs(left[1][name] - right[1][name]).max() <= 1e-5 for name in left[1])
        assert np.abs(left[2] - right[2]).max() <= 1e-5
        for logits, *_ in (left, right):
            assert (logits[~data["legal"]] == np.float32(MASK_VALUE)).all()
            assert (logits[data["legal"]] > -1e6).all()
        memories = [left[2], right[2]]
    assert np.abs(memories[0] - start(ours, 5)).max() > 0.1  # memory moved, or the test above proves nothing of it


def test_memory_changes_the_answer() -> None:
    net, _ = twins(architecture())
    data = batch(4, 6, 3, 4, 5)
    kept = start(net, 4)
    moved = said(net, data, kept)[2]
    assert np.abs(said(net, data, kept)[0] - said(net, data, moved)[0])[data["legal"]].max() > 1e-3


def pad(data: Mapping[str, Any], cards: int, units: int, attached: int, options: int) -> dict[str, Any]:
    """The same rows with more padding of each kind."""
    old_cards, old_units = data["card_zone"].shape[1], data["unit_zone"].shape[1]
    extra = {"card": cards, "unit": units, "attached": attached, "option": options}
    wider = {}
    for name, array in data.items():
        group = name.split("_")[0]
        if array.ndim > 1 and group in extra:
            fill = old_units + units if name == "attached_unit" else 0
            array = np.pad(array, [(0, 0), (0, extra[group]), *[(0, 0)] * (array.ndim - 2)], constant_values=fill)
        wider[name] = array
    wider["attached_unit"] = np.where(wider["attached_kind"] == 0, old_units + units, wider["attached_unit"]).astype(np.int32)
    for name in ("option_source", "option_target"):
        old = data[name]
        shifted = np.where(old >= old_cards + old_units, old + cards + units, np.where(old >= old_cards, old + cards, old))
        none = old_cards + old_units + cards + units
        wider[name] = np.pad(shifted, [(0, 0), (0, options)], constant_values=none).astype(np.int32)
    wider["legal"] = np.concatenate(
        [data["legal"][:, :-1], np.zeros((len(data["legal"]), options), bool), data["legal"][:, -1:]], axis=1
    )
    return wider


@pytest.mark.parametrize("which", [0, 1])
def test_more_padding_changes_nothing(which: int) -> None:
    nets = twins(architecture())
    data = batch(6, 7, 4, 5, 6, seed=3)
    wide = pad(data, 5, 3, 4, 7)
    memory = start(nets[0], 6)
    narrow_said, wide_said = said(nets[which], data, memory), said(nets[which], wide, memory)
    logits = np.concatenate([wide_said[0][:, :6], wide_said[0][:, -1:]], axis=1)
    assert np.abs(logits - narrow_said[0]).max() <= 1e-6
    assert (wide_said[0][:, 6:-1] == np.float32(MASK_VALUE)).all()
    assert np.abs(wide_said[2] - narrow_said[2]).max() <= 1e-6
    assert all(np.abs(wide_said[1][name] - narrow_said[1][name]).max() <= 1e-6 for name in narrow_said[1])


@pytest.mark.parametrize("which", [0, 1])
def test_order_of_card_tokens_does_not_matter(which: int) -> None:
    nets = twins(architecture())
    data = batch(6, 8, 4, 5, 6, seed=4)
    order = np.random.default_rng(0).permutation(8)
    moved = {name: array[:, order] if name.startswith("card_") else array for name, array in data.items()}
    position = np.concatenate([np.argsort(order), np.arange(8, 8 + 4 + 1)])
    for name in ("option_source", "option_target"):
        moved[name] = position[data[name]].astype(np.int32)
    memory = start(nets[0], 6)
    before, after = said(nets[which], data, memory), said(nets[which], moved, memory)
    assert np.abs(before[0] - after[0]).max() <= 1e-6
    assert np.abs(before[2] - after[2]).max() <= 1e-6
    unmoved = {**moved, "option_source": data["option_source"], "option_target": data["option_target"]}
    assert np.abs(before[0] - said(nets[which], unmoved, memory)[0])[data["legal"]].max() > 1e-4  # pointers are read


def changed(data: Mapping[str, Any], name: str) -> dict[str, Any]:
    """The rows with one input altered wherever there is a token."""
    array = data[name].copy()
    if array.dtype == bool:
        array[:, -1] = ~array[:, -1]
        array[:, 0] |= ~array.any(1)
    elif array.dtype == np.float32:
        array += 0.5
    elif name in ("option_source", "option_target"):
        array = np.where(array > 0, 0, array).astype(np.int32)
    elif name == "attached_unit":
        array = np.where(data["attached_kind"] > 0, 0, array).astype(np.int32)
    else:
        array = np.where(array > 0, array % 3 + 1, 0).astype(np.int32)
    return {**data, name: array}


@pytest.mark.parametrize("name", [name for name in torch_net.INPUTS if name != "legal"])
def test_every_input_is_read(name: str) -> None:
    ours, theirs = twins(architecture())
    data = batch(24, 8, 4, 9, 6, seed=5)
    for net in (ours, theirs):
        memory = start(ours, 24)
        difference = np.abs(said(net, data, memory)[0] - said(net, changed(data, name), memory)[0])
        assert difference[data["legal"]].max() > 1e-4


@pytest.mark.parametrize("config", [TINY, replace(TINY, would_ko=True)])
def test_looks_are_read_by_the_networks_that_ask_for_them_and_missed_by_no_other(config: ModelConfig) -> None:
    nets = twins(architecture(config))
    data = batch(24, 8, 4, 9, 6, seed=5)
    without = {name: array for name, array in data.items() if name != "option_would_ko"}
    blank = {**data, "option_would_ko": np.zeros_like(data["option_would_ko"])}
    memory = start(nets[0], 24)
    for net in nets:
        difference = np.abs(said(net, data, memory)[0] - said(net, blank, memory)[0])[data["legal"]].max()
        if config.would_ko:
            assert difference > 1e-4
            with pytest.raises(ModelError, match=r"input 'option_would_ko' is missing, which a network with model\.would_ko"):
                said(net, without, memory)
        else:
            assert difference == 0 and (said(net, data, memory)[0] == said(net, without, memory)[0]).all()
    plain = twins(architecture(TINY))[0]
    if config.would_ko:  # with zeros it is the plain network, whatever the projection holds
        assert (said(nets[0], blank, memory)[0] == said(plain, without, memory)[0]).all()


def test_lookup_made_once_gives_the_same_bits() -> None:
    net, _ = twins(architecture())
    data, memory = mlx_net.as_mx(batch(5, 8, 4, 5, 6)), mx.zeros((5, 3, 16))
    assert (np.array(net(data, memory).logits) == np.array(net(data, memory, net.lookup()).logits)).all()


def test_frozen_network_answers_as_before() -> None:
    _, net = twins(architecture())
    data, memory = batch(5, 8, 4, 5, 6), np.zeros((5, 3, 16), np.float32)
    before = said(net, data, memory)
    frozen = net.freeze()
    assert not any(parameter.requires_grad for parameter in frozen.parameters())
    assert np.abs(before[0] - said(frozen, data, memory)[0]).max() <= 1e-6


def test_row_without_legal_answer_is_named() -> None:
    ours, theirs = twins(architecture())
    data = batch(5, 8, 4, 5, 6)
    data["legal"] = data["legal"].copy()
    data["legal"][3] = False
    for net in (ours, theirs):
        with pytest.raises(ModelError, match="row 3 has no legal answer"):
            said(net, data, start(ours, 5))
    good = torch_net.as_torch(batch(5, 8, 4, 5, 6))
    good["legal"] = torch.tensor(data["legal"])
    with pytest.raises(ModelError, match="row 3"):
        theirs(good, torch.zeros(5, 3, 16))


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("globals", None, "'globals' is missing"),
        ("card_index", np.zeros((5, 8), np.int64), "'card_index' is int64"),
        ("unit_zone", np.zeros((5, 9), np.int32), "'unit_index' has shape"),
        ("option_attributes", np.zeros((5, 6, 1), np.float32), "'option_attributes' has shape"),
        ("legal", np.ones((5, 6), bool), "6 answers for 6 options"),
        ("option_would_ko", np.zeros((5, 6, 3), np.float32), "'option_would_ko' has shape"),
    ],
)
def test_bad_batch_is_refused_by_name(name: str, value: Any, message: str) -> None:
    data = batch(5, 8, 4, 5, 6)
    if value is None:
        del data[name]
    else:
        data[name] = value
    for convert in (mlx_net.as_mx, torch_net.as_torch):
        with pytest.raises(ModelError, match=message):
            convert(data)


def test_network_without_tables_refuses_to_answer() -> None:
    data = batch(2, 3, 2, 2, 2)
    for build in (mlx_net.build, torch_net.build):
        net = build(architecture(), 1)
        with pytest.raises(ModelError, match="set_tables"):
            said(net, data, np.zeros((2, 3, 16), np.float32))
