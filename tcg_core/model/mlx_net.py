"""The policy network in MLX, for training. :mod:`tcg_core.model.torch_net` is its twin: same names, same arithmetic.

A set/pointer transformer over one row: head tokens (policy, value, submit), memory registers, options, one select
token, cards, units. There are no positions: zones, flags and kinds type the tokens, and an option carries the embedding
of the tokens it acts from and on. Pre-norm layers with ReLU; no dropout.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from tcg_core.encode.cards import CardTables
from tcg_core.model.architecture import MASK_VALUE, Architecture
from tcg_core.model.batch import INPUTS, Output, check_batch, looks_of
from tcg_core.model.bootstrap import mlx
from tcg_core.model.config import ModelError
from tcg_core.model.heads import HEAD_LEAF
from tcg_core.model.init import initial_weights
from tcg_core.model.names import check_weights, weight_table

if TYPE_CHECKING:
    import mlx.core as mx
    import mlx.nn as nn
else:
    mx, nn = mlx().core, mlx().nn

Weights = Mapping[str, "mx.array"]
Batch = Mapping[str, "mx.array"]
#: Embedding tables by name, float32 [rows, d_model], ready for look-ups.
Lookup = Mapping[str, "mx.array"]


def as_mx(batch: Mapping[str, npt.NDArray[Any]]) -> dict[str, "mx.array"]:
    """A collated batch as MLX arrays (labels, if any, among them), after :func:`~tcg_core.model.batch.check_batch`."""
    check_batch(batch)
    return {name: mx.array(array) for name, array in batch.items()}


class Module(nn.Module):  # type: ignore[misc, name-defined]  # MLX publishes no types
    """Base of all parts."""


class Linear(Module):
    """x @ weight.T (+ bias, if the table has one)."""

    def __init__(self, weights: Weights, name: str) -> None:
        super().__init__()
        self.weight = weights[f"{name}.weight"]
        if f"{name}.bias" in weights:
            self.bias = weights[f"{name}.bias"]

    def __call__(self, x: "mx.array") -> "mx.array":
        """[..., in] -> [..., out]."""
        if "bias" in self:
            return mx.addmm(self.bias, x, self.weight.T)
        return x @ self.weight.T


class Norm(Module):
    """Layer norm over the last axis, eps 1e-5."""

    def __init__(self, weights: Weights, name: str) -> None:
        super().__init__()
        self.weight = weights[f"{name}.weight"]
        self.bias = weights[f"{name}.bias"]

    def __call__(self, x: "mx.array") -> "mx.array":
        """[..., d] -> [..., d]."""
        return mx.fast.layer_norm(x, self.weight, self.bias, 1e-5)


class Embedding(Module):
    """Rows of a table. ``padded``: row 0 is the zero vector and gets no gradient."""

    def __init__(self, weights: Weights, name: str, padded: bool = True) -> None:
        super().__init__()
        self.weight = weights[f"{name}.weight"]
        self._padded = padded

    def table(self, extra: "mx.array | None" = None) -> "mx.array":
        """The table [rows, d], plus ``extra`` of its shape, with row 0 zero where padded."""
        rows = self.weight if extra is None else self.weight + extra
        if not self._padded:
            return rows
        return rows * (mx.arange(rows.shape[0]) != 0)[:, None].astype(mx.float32)


class Layer(Module):
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
        self._heads = heads

    def __call__(self, x: "mx.array", mask: "mx.array", read: int | None) -> "mx.array":
        """x [B, T, d], additive mask [B, 1, 1, T] -> the first ``read`` tokens (all if None), [B, read, d].

        Every token is attended to; only those read further on are computed.
        """
        normed = self.attention_norm(x)
        key, value = self._split(self.key(normed)), self._split(self.value(normed))
        if read is not None:
            x, _ = mx.split(x, [read], axis=1)
            normed, _ = mx.split(normed, [read], axis=1)
        query = self._split(self.query(normed))
        mixed = mx.fast.scaled_dot_product_attention(query, key, value, scale=query.shape[-1] ** -0.5, mask=mask)
        x = x + self.output(mixed.transpose(0, 2, 1, 3).reshape(x.shape))
        return x + self.feed_out(mx.maximum(self.feed_in(self.feed_norm(x)), 0.0))

    def _split(self, x: "mx.array") -> "mx.array":
        return x.reshape(x.shape[0], x.shape[1], self._heads, -1).transpose(0, 2, 1, 3)


class PolicyNet(Module):
    """The network; leaves are named as in :func:`~tcg_core.model.names.weight_table`. See :func:`build`, :func:`restore_net`."""

    def __init__(self, architecture: Architecture, weights: Weights) -> None:
        super().__init__()
        self._architecture = architecture
        self.card, self.attack = Embedding(weights, "card"), Embedding(weights, "attack")
        self.card_zone, self.card_flag = Embedding(weights, "card_zone"), Embedding(weights, "card_flag")
        self.card_count = weights["card_count"]
        self.unit_zone, self.unit_attributes = Embedding(weights, "unit_zone"), Linear(weights, "unit_attributes")
        self.attached_kind, self.attached = Embedding(weights, "attached_kind"), Linear(weights, "attached")
        self.select_type = Embedding(weights, "select_type", padded=False)
        self.select_context = Embedding(weights, "select_context", padded=False)
        self.globals = Linear(weights, "globals")
        self.option_type = Embedding(weights, "option_type")
        self.option_references = Linear(weights, "option_references")
        self.option_attributes = Linear(weights, "option_attributes")
        self.head_tokens, self.register_tokens = weights["head_tokens"], weights["register_tokens"]
        self.memory_start = weights["memory_start"]
        if architecture.config.static:
            self.card_static, self.attack_static = Linear(weights, "card_static"), Linear(weights, "attack_static")
        if architecture.config.would_ko:
            self.option_would_ko = Linear(weights, "option_would_ko")
        self.layers = [Layer(weights, f"layers.{i}", architecture.config.heads) for i in range(architecture.config.layers)]
        self.final_norm = Norm(weights, "final_norm")
        self.memory_gate = Linear(weights, "memory_gate")
        self.option_hidden, self.policy_hidden = Linear(weights, "option_hidden"), Linear(weights, "policy_hidden")
        self.option_head, self.stop_head = Linear(weights, "option_head"), Linear(weights, "stop_head")
        if architecture.config.structured:
            self.type_query, self.type_bias = weights["type_query"], weights["type_bias"]
        for head in architecture.heads:
            setattr(self, HEAD_LEAF[head], Linear(weights, HEAD_LEAF[head]))
        self._static: dict[str, Any] = {}

    @property
    def architecture(self) -> Architecture:
        """What the network was built for."""
        return self._architecture

    def set_tables(self, tables: CardTables) -> None:
        """Sets the static tables (buffers: no gradient, no decay); raises :class:`ModelError` naming a wrong shape or dtype."""
        self._architecture.check_tables(tables)
        self._static = {"card": mx.array(tables.card_static), "attack": mx.array(tables.attack_static)}

    def initial_memory(self) -> "mx.array":
        """Learned memory of a lane's start, [registers, d_model]."""
        return self.memory_start

    def lookup(self) -> Lookup:
        """Every embedding table as batches are looked up in it: padding row zero, static features projected and added.

        They depend on weights alone: a caller of several batches under the same weights makes them once (inside the
        function whose gradient is taken) and hands them to each call.
        """
        if not self._static:
            raise ModelError("the network has no card tables yet: call set_tables first")
        extra = {}
        if self._architecture.config.static:
            extra = {"card": self.card_static(self._static["card"]), "attack": self.attack_static(self._static["attack"])}
        return {name: part.table(extra.get(name)) for name, part in self.items() if isinstance(part, Embedding)}

    def __call__(self, batch: Batch, memory: "mx.array", lookup: Lookup | None = None) -> Output:
        """A batch of B rows (:func:`as_mx`) and the memory each reads, [B, registers, d_model] -> :class:`Output`.

        lookup: of :meth:`lookup` under the present weights; made here when None.
        """
        found = self.lookup() if lookup is None else lookup
        rows, options = batch["option_type"].shape
        heads, registers = self._architecture.head_tokens, self._architecture.config.registers
        cards, units, named = self._state(batch, found)
        width = memory.shape[-1]
        sequence = mx.concatenate(
            [
                mx.broadcast_to(self.head_tokens, (rows, heads, width)),
                memory + self.register_tokens,
                self._options(batch, found, cards, units, named),
                self._select(batch, found)[:, None],
                cards,
                units,
            ],
            axis=1,
        )
        present = mx.ones((rows, heads + registers), mx.bool_), batch["option_type"] != 0, mx.ones((rows, 1), mx.bool_)
        valid = mx.concatenate([*present, batch["card_zone"] != 0, batch["unit_zone"] != 0], axis=1)
        mask = mx.where(valid, 0.0, MASK_VALUE).astype(mx.float32)[:, None, None, :]
        for layer in self.layers[:-1]:
            sequence = layer(sequence, mask, None)
        read = self.final_norm(self.layers[-1](sequence, mask, heads + registers + options))
        head, register, option = mx.split(read, [heads, heads + registers], axis=1)
        policy, value, submit = (head[:, i] for i in range(3)) if heads == 3 else (head[:, 0],) * 3
        return Output(
            self._logits(policy, submit, option, batch["option_type"], batch["legal"]),
            {name: self[HEAD_LEAF[name]](value)[:, 0] for name in self._architecture.heads},
            self._commit(memory, register),
        )

    def _state(self, batch: Batch, lookup: Lookup) -> tuple["mx.array", "mx.array", list["mx.array"]]:
        """Card tokens [B, C, d], unit tokens [B, U, d], and the cards options name (two of [B, O, d])."""
        parts = [batch[name] for name in ("card_index", "unit_index", "attached_index", "option_card", "option_target_card")]
        # One gather for all references to cards: its gradient is one scatter over the vocabulary.
        found = lookup["card"][mx.concatenate(parts, axis=1)]
        ends = np.cumsum([part.shape[1] for part in parts])[:-1].tolist()
        card, unit, attached, *named = mx.split(found, ends, axis=1)
        count = batch["card_count"][:, :, None] * self.card_count
        card = card + lookup["card_zone"][batch["card_zone"]] + lookup["card_flag"][batch["card_flag"]] + count
        units = mx.arange(unit.shape[1])[None, :, None]
        held = (batch["attached_unit"][:, None, :] == units) & (batch["attached_kind"] != 0)[:, None, :]
        attached = attached + lookup["attached_kind"][batch["attached_kind"]]
        below = self.attached(held.astype(mx.float32) @ attached)
        unit = unit + lookup["unit_zone"][batch["unit_zone"]] + self.unit_attributes(batch["unit_attributes"]) + below
        return card, unit, named

    def _options(self, batch: Batch, lookup: Lookup, cards: "mx.array", units: "mx.array", named: list["mx.array"]) -> "mx.array":
        """Option tokens [B, O, d]; a pointer to nothing gathers the zero vector behind cards and units."""
        rows, _, width = cards.shape
        options = batch["option_type"].shape[1]
        tokens = mx.concatenate([cards, units, mx.zeros((rows, 1, width))], axis=1)
        pointers = mx.concatenate([batch["option_source"], batch["option_target"]], axis=1)
        pointers = pointers + (mx.arange(rows) * tokens.shape[1])[:, None]
        source, target = mx.split(tokens.reshape(-1, width)[pointers], [options], axis=1)
        token = (
            lookup["option_type"][batch["option_type"]]
            + self.option_references(mx.concatenate([source, target, *named], axis=-1))
            + lookup["attack"][batch["option_attack"]]
            + self.option_attributes(batch["option_attributes"])
        )
        return token + self.option_would_ko(looks_of(batch)) if self._architecture.config.would_ko else token

    def _select(self, batch: Batch, lookup: Lookup) -> "mx.array":
        kinds = lookup["select_type"][batch["select_type"]] + lookup["select_context"][batch["select_context"]]
        return kinds + self.globals(batch["globals"])

    def _logits(
        self, policy: "mx.array", submit: "mx.array", option: "mx.array", types: "mx.array", legal: "mx.array"
    ) -> "mx.array":
        hidden = mx.maximum(self.option_hidden(option) + self.policy_hidden(policy)[:, None], 0.0)
        each = self.option_head(hidden)[..., 0]
        if self._architecture.config.structured:
            each = each + (hidden * self.type_query[types]).sum(axis=-1) + self.type_bias[types]
        scores = mx.concatenate([each, self.stop_head(submit)], axis=1)
        return mx.where(legal, scores, mx.array(MASK_VALUE, mx.float32))

    def _commit(self, memory: "mx.array", register: "mx.array") -> "mx.array":
        """Gated write: a convex combination of what was read and what the registers hold now, so memory stays bounded."""
        gate = mx.sigmoid(self.memory_gate(mx.concatenate([register, memory], axis=-1)))
        return memory + gate * (register - memory)


def build(architecture: Architecture, seed: int) -> PolicyNet:
    """A fresh network; equal (architecture, seed) give equal bits in every process. Call ``set_tables`` before use."""
    return restore_net(architecture, initial_weights(architecture, seed), f"initial weights of seed {seed}")


def restore_net(architecture: Architecture, weights: Mapping[str, npt.NDArray[Any]], source: str) -> PolicyNet:
    """A network with these weights; strict: raises :class:`ModelError` naming source and leaf."""
    check_weights(architecture, weights, source)
    net = PolicyNet(architecture, {name: mx.array(array) for name, array in weights.items()})
    found = {name for name, _ in mlx().utils.tree_flatten(net.parameters())}
    if found != set(weight_table(architecture)):
        raise ModelError(f"network and weight table differ in {sorted(found ^ set(weight_table(architecture)))}")
    mx.eval(net.parameters())
    return net


def weights_of(net: PolicyNet) -> dict[str, npt.NDArray[np.float32]]:
    """The leaves as numpy arrays, in table order; raises :class:`ModelError` if one is missing, extra or not float32."""
    found = {name: np.array(array) for name, array in mlx().utils.tree_flatten(net.parameters())}
    check_weights(net.architecture, found, "network")
    return {name: found[name] for name in weight_table(net.architecture)}


__all__ = ["INPUTS", "Output", "PolicyNet", "as_mx", "build", "restore_net", "weights_of"]
