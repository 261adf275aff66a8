"""The policy network in PyTorch, for play. :mod:`tcg_core.model.mlx_net` is its twin: same names, same arithmetic.

Part of the packed submission: imports the standard library, numpy, torch, ``encode`` and plain modules of ``model``.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.nn import functional

from tcg_core.encode.cards import CardTables
from tcg_core.model.architecture import MASK_VALUE, Architecture
from tcg_core.model.batch import INPUTS, Output, check_batch, check_legal, looks_of
from tcg_core.model.config import ModelError
from tcg_core.model.heads import HEAD_LEAF
from tcg_core.model.init import initial_weights
from tcg_core.model.names import check_weights, weight_table

Weights = Mapping[str, Tensor]
Batch = Mapping[str, Tensor]


def as_torch(batch: Mapping[str, npt.NDArray[Any]]) -> dict[str, Tensor]:
    """A collated batch as tensors (labels, if any, among them), after :func:`~tcg_core.model.batch.check_batch`."""
    check_batch(batch)
    return {name: torch.from_numpy(np.ascontiguousarray(array)) for name, array in batch.items()}


class Linear(nn.Module):
    """x @ weight.T (+ bias, if the table has one)."""

    bias: nn.Parameter | None

    def __init__(self, weights: Weights, name: str) -> None:
        super().__init__()
        self.weight = nn.Parameter(weights[f"{name}.weight"])
        bias = weights.get(f"{name}.bias")
        self.register_parameter("bias", None if bias is None else nn.Parameter(bias))

    def forward(self, x: Tensor) -> Tensor:
        """[..., in] -> [..., out]."""
        return functional.linear(x, self.weight, self.bias)


class Norm(nn.Module):
    """Layer norm over the last axis, eps 1e-5."""

    def __init__(self, weights: Weights, name: str) -> None:
        super().__init__()
        self.weight = nn.Parameter(weights[f"{name}.weight"])
        self.bias = nn.Parameter(weights[f"{name}.bias"])

    def forward(self, x: Tensor) -> Tensor:
        """[..., d] -> [..., d]."""
        return functional.layer_norm(x, self.weight.shape, self.weight, self.bias, 1e-5)


class Embedding(nn.Module):
    """Rows of a table. ``padded``: row 0 is the zero vector and gets no gradient."""

    def __init__(self, weights: Weights, name: str, padded: bool = True) -> None:
        super().__init__()
        self.weight = nn.Parameter(weights[f"{name}.weight"])
        self.padded = padded
        self.frozen: Tensor | None = None

    def table(self, extra: Tensor | None = None) -> Tensor:
        """The table [rows, d], plus ``extra`` of its shape, with row 0 zero where padded."""
        rows = self.weight if extra is None else self.weight + extra
        if not self.padded:
            return rows
        return rows * (torch.arange(len(rows)) != 0)[:, None].to(torch.float32)

    def forward(self, ids: Tensor, extra: Tensor | None = None) -> Tensor:
        """int32 [...] -> float32 [..., d]."""
        table = self.table(extra) if self.frozen is None else self.frozen
        return functional.embedding(ids, table)


class Layer(nn.Module):
    """One pre-norm transformer layer."""

    def __init__(self, weights: Weights, name: str, heads: int) -> None:
        super().__init__()
        self.attention_norm = Norm(weights, f"{name}.attention_norm")
        self.query = Linear(weights, f"{name}.query")
        self.key = Linear(weights, f"{name}.key")
        self.value = Linear(weights, f"{name}.value")
        self.output = Linear(weights, f"{name}.output")
        self.feed_norm = Norm(weights, f"{name}.feed_norm")
        self.feed_in = Linear(weights, f"{name}.feed_in")
        self.feed_out = Linear(weights, f"{name}.feed_out")
        self.heads = heads

    def forward(self, x: Tensor, mask: Tensor, read: int | None) -> Tensor:
        """x [B, T, d], additive mask [B, 1, 1, T] -> the first ``read`` tokens (all if None), [B, read, d]."""
        normed = self.attention_norm(x)
        key, value = self._split(self.key(normed)), self._split(self.value(normed))
        if read is not None:
            x, normed = x[:, :read], normed[:, :read]
        query = self._split(self.query(normed))
        mixed = functional.scaled_dot_product_attention(query, key, value, attn_mask=mask)
        x = x + self.output(mixed.transpose(1, 2).reshape(x.shape))
        fed: Tensor = self.feed_out(functional.relu(self.feed_in(self.feed_norm(x))))
        return x + fed

    def _split(self, x: Tensor) -> Tensor:
        return x.reshape(x.shape[0], x.shape[1], self.heads, -1).transpose(1, 2)


class TorchNet(nn.Module):
    """The network; leaves are named as in :func:`~tcg_core.model.names.weight_table`. See :func:`build`, :func:`restore_net`."""

    def __init__(self, architecture: Architecture, weights: Weights) -> None:
        super().__init__()
        self.architecture = architecture
        self.card, self.attack = Embedding(weights, "card"), Embedding(weights, "attack")
        self.card_zone, self.card_flag = Embedding(weights, "card_zone"), Embedding(weights, "card_flag")
        self.card_count = nn.Parameter(weights["card_count"])
        self.unit_zone, self.unit_attributes = Embedding(weights, "unit_zone"), Linear(weights, "unit_attributes")
        self.attached_kind, self.attached = Embedding(weights, "attached_kind"), Linear(weights, "attached")
        self.select_type = Embedding(weights, "select_type", padded=False)
        self.select_context = Embedding(weights, "select_context", padded=False)
        self.globals = Linear(weights, "globals")
        self.option_type = Embedding(weights, "option_type")
        self.option_references = Linear(weights, "option_references")
        self.option_attributes = Linear(weights, "option_attributes")
        self.head_tokens = nn.Parameter(weights["head_tokens"])
        self.register_tokens = nn.Parameter(weights["register_tokens"])
        self.memory_start = nn.Parameter(weights["memory_start"])
        if architecture.config.static:
            self.card_static, self.attack_static = Linear(weights, "card_static"), Linear(weights, "attack_static")
        if architecture.config.would_ko:
            self.option_would_ko = Linear(weights, "option_would_ko")
        self.layers = nn.ModuleList(
            Layer(weights, f"layers.{i}", architecture.config.heads) for i in range(architecture.config.layers)
        )
        self.final_norm = Norm(weights, "final_norm")
        self.memory_gate = Linear(weights, "memory_gate")
        self.option_hidden, self.policy_hidden = Linear(weights, "option_hidden"), Linear(weights, "policy_hidden")
        self.option_head, self.stop_head = Linear(weights, "option_head"), Linear(weights, "stop_head")
        if architecture.config.structured:
            self.type_query, self.type_bias = nn.Parameter(weights["type_query"]), nn.Parameter(weights["type_bias"])
        for head in architecture.heads:
            self.add_module(HEAD_LEAF[head], Linear(weights, HEAD_LEAF[head]))
        self.tables_static: dict[str, Tensor] = {}

    def set_tables(self, tables: CardTables) -> None:
        """Sets the static tables (buffers: no gradient); raises :class:`ModelError` naming a wrong shape or dtype."""
        self.architecture.check_tables(tables)
        self.tables_static = {"card": torch.tensor(tables.card_static), "attack": torch.tensor(tables.attack_static)}

    def freeze(self) -> "TorchNet":
        """Evaluation for good: no gradients, and the embedding tables are computed once instead of at every call."""
        self.requires_grad_(False).eval()
        card, attack = self._static("card"), self._static("attack")
        for module in self.modules():
            if isinstance(module, Embedding):
                module.frozen = module.table(card if module is self.card else attack if module is self.attack else None)
        return self

    def initial_memory(self) -> Tensor:
        """Learned memory of a lane's start, [registers, d_model]."""
        return self.memory_start

    def forward(self, batch: Batch, memory: Tensor) -> Output:
        """A batch of B rows (:func:`as_torch`) and the memory each reads, [B, registers, d_model] -> :class:`Output`.

        Raises :class:`ModelError` naming a row with no legal answer.
        """
        check_legal(batch["legal"].numpy())
        rows, options = batch["option_type"].shape
        heads, registers = self.architecture.head_tokens, self.architecture.config.registers
        cards, units, named = self._state(batch)
        sequence = torch.cat(
            [
                self.head_tokens.expand(rows, -1, -1),
                memory + self.register_tokens,
                self._options(batch, cards, units, named),
                self._select(batch)[:, None],
                cards,
                units,
            ],
            dim=1,
        )
        present = torch.ones(rows, heads + registers, dtype=torch.bool), batch["option_type"] != 0
        select = torch.ones(rows, 1, dtype=torch.bool)
        valid = torch.cat([*present, select, batch["card_zone"] != 0, batch["unit_zone"] != 0], dim=1)
        mask = torch.zeros(valid.shape).masked_fill(~valid, MASK_VALUE)[:, None, None, :]
        for layer in self.layers[:-1]:
            sequence = layer(sequence, mask, None)
        read = self.final_norm(self.layers[-1](sequence, mask, heads + registers + options))
        head, register, option = torch.split(read, [heads, registers, options], dim=1)
        policy, value, submit = (head[:, i] for i in range(3)) if heads == 3 else (head[:, 0],) * 3
        return Output(
            self._logits(policy, submit, option, batch["option_type"], batch["legal"]),
            {name: self.get_submodule(HEAD_LEAF[name])(value)[:, 0] for name in self.architecture.heads},
            self._commit(memory, register),
        )

    def _static(self, which: str) -> Tensor | None:
        """Static features of the whole vocabulary in token space, [positions, d]; None where the network has none."""
        if not self.tables_static:
            raise ModelError("the network has no card tables yet: call set_tables first")
        if not self.architecture.config.static:
            return None
        projected: Tensor = self.get_submodule(f"{which}_static")(self.tables_static[which])
        return projected

    def _state(self, batch: Batch) -> tuple[Tensor, Tensor, tuple[Tensor, ...]]:
        """Card tokens [B, C, d], unit tokens [B, U, d], and the cards options name (two of [B, O, d])."""
        parts = [batch[name] for name in ("card_index", "unit_index", "attached_index", "option_card", "option_target_card")]
        static = self._static("card") if self.card.frozen is None else None
        found = self.card(torch.cat(parts, dim=1), static)
        card, unit, attached, *named = torch.split(found, [part.shape[1] for part in parts], dim=1)
        count = batch["card_count"][:, :, None] * self.card_count
        card = card + self.card_zone(batch["card_zone"]) + self.card_flag(batch["card_flag"]) + count
        units = torch.arange(unit.shape[1])[None, :, None]
        held = (batch["attached_unit"][:, None, :] == units) & (batch["attached_kind"] != 0)[:, None, :]
        below = self.attached(held.to(torch.float32) @ (attached + self.attached_kind(batch["attached_kind"])))
        unit = unit + self.unit_zone(batch["unit_zone"]) + self.unit_attributes(batch["unit_attributes"]) + below
        return card, unit, tuple(named)

    def _options(self, batch: Batch, cards: Tensor, units: Tensor, named: tuple[Tensor, ...]) -> Tensor:
        """Option tokens [B, O, d]; a pointer to nothing gathers the zero vector behind cards and units."""
        rows, _, width = cards.shape
        options = batch["option_type"].shape[1]
        tokens = torch.cat([cards, units, torch.zeros(rows, 1, width)], dim=1)
        pointers = torch.cat([batch["option_source"], batch["option_target"]], dim=1)
        pointers = pointers + (torch.arange(rows) * tokens.shape[1])[:, None]
        source, target = torch.split(tokens.reshape(-1, width)[pointers], options, dim=1)
        static = self._static("attack") if self.attack.frozen is None else None
        token: Tensor = (
            self.option_type(batch["option_type"])
            + self.option_references(torch.cat([source, target, *named], dim=-1))
            + self.attack(batch["option_attack"], static)
            + self.option_attributes(batch["option_attributes"])
        )
        if self.architecture.config.would_ko:
            token = token + self.option_would_ko(looks_of(batch))
        return token

    def _select(self, batch: Batch) -> Tensor:
        kinds = self.select_type(batch["select_type"]) + self.select_context(batch["select_context"])
        token: Tensor = kinds + self.globals(batch["globals"])
        return token

    def _logits(self, policy: Tensor, submit: Tensor, option: Tensor, types: Tensor, legal: Tensor) -> Tensor:
        hidden = functional.relu(self.option_hidden(option) + self.policy_hidden(policy)[:, None])
        each = self.option_head(hidden)[..., 0]
        if self.architecture.config.structured:
            each = each + (hidden * self.type_query[types]).sum(dim=-1) + self.type_bias[types]
        scores = torch.cat([each, self.stop_head(submit)], dim=1)
        return scores.masked_fill(~legal, MASK_VALUE)

    def _commit(self, memory: Tensor, register: Tensor) -> Tensor:
        """Gated write: a convex combination of what was read and what the registers hold now, so memory stays bounded."""
        gate = torch.sigmoid(self.memory_gate(torch.cat([register, memory], dim=-1)))
        committed: Tensor = memory + gate * (register - memory)
        return committed


def build(architecture: Architecture, seed: int) -> TorchNet:
    """A fresh network, equal to the MLX one of the same (architecture, seed). Call ``set_tables`` before use."""
    return restore_net(architecture, initial_weights(architecture, seed), f"initial weights of seed {seed}")


def restore_net(architecture: Architecture, weights: Mapping[str, npt.NDArray[Any]], source: str) -> TorchNet:
    """A network with these weights; strict: raises :class:`ModelError` naming source and leaf."""
    check_weights(architecture, weights, source)
    net = TorchNet(architecture, {name: torch.tensor(array) for name, array in weights.items()})
    found = {name for name, _ in net.named_parameters()}
    if found != set(weight_table(architecture)):
        raise ModelError(f"network and weight table differ in {sorted(found ^ set(weight_table(architecture)))}")
    return net


def weights_of(net: TorchNet) -> dict[str, npt.NDArray[np.float32]]:
    """The leaves as numpy arrays, in table order; raises :class:`ModelError` if one is missing, extra or not float32."""
    found = {name: parameter.detach().numpy().copy() for name, parameter in net.named_parameters()}
    check_weights(net.architecture, found, "network")
    return {name: found[name] for name in weight_table(net.architecture)}


__all__ = ["INPUTS", "Output", "TorchNet", "as_torch", "build", "restore_net", "weights_of"]
