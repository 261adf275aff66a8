"""The baseline of bench/train.py: the earlier system's network and step, in its shape, with MLX.

337 state tokens, value, submit and context tokens, registers and 192 option tokens, all padded; post-norm ReLU layers; a
Python loop over decisions; nothing compiled; token types built from Python lists and static features gathered in numpy at
each call, as that system did. ``compact`` is what it later added: columns that are padding in every row of the call are
dropped and the options cut to a bucket of 32, 64, 128 or 192. Kinder than what it stands for in two ways: rows lie ready in
memory, and pointers and buckets are worked out in numpy, without asking the device.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from bench.peer_padded_day import FLOATS, INTS
from tcg_core.model.bootstrap import mlx

mx, nn = mlx().core, mlx().nn

STATE, OPTIONS, CARDS, STATIC, ATTACKS = 337, 192, 1269, 89, 2048
OPTION_BUCKETS = (32, 64, 128, 192)
MASK = -65504.0
#: Zones in the order of their tokens: name, tokens, token type.
ZONES = (
    ("self_deck", 60, 1), ("opp_deck", 60, 2), ("self_prize", 6, 3), ("opp_prize", 6, 4), ("self_hand", 30, 5),
    ("opp_hand", 30, 6), ("self_discard", 60, 7), ("opp_discard", 60, 8), ("stadium", 2, 9), ("effect", 2, 15),
)  # fmt: skip
UNIT_TYPES = {"self": (10, 11), "opp": (12, 13)}
FLAGS = {"self_deck": "drawable", "opp_deck": "opp_drawable", "opp_hand": "hand_certain"}
AUX = {"ko": "aux_ko", "prize": "aux_prize_delta", "terminal": "aux_terminal", "value": "aux_return"}
Rows = Mapping[str, np.ndarray]


class Layer(nn.Module):
    """Post-norm encoder layer with biases everywhere."""

    def __init__(self, d: int, heads: int, ff: int) -> None:
        super().__init__()
        self.query, self.key, self.value, self.out = (nn.Linear(d, d) for _ in range(4))
        self.linear1, self.linear2 = nn.Linear(d, ff), nn.Linear(ff, d)
        self.norm1, self.norm2 = nn.LayerNorm(d), nn.LayerNorm(d)
        self._heads = heads

    def __call__(self, x: Any, mask: Any) -> Any:
        rows, tokens, d = x.shape
        query, key, value = (
            part(x).reshape(rows, tokens, self._heads, -1).transpose(0, 2, 1, 3) for part in (self.query, self.key, self.value)
        )
        mixed = mx.fast.scaled_dot_product_attention(query, key, value, scale=query.shape[-1] ** -0.5, mask=mask)
        x = self.norm1(x + self.out(mixed.transpose(0, 2, 1, 3).reshape(rows, tokens, d)))
        return self.norm2(x + self.linear2(nn.relu(self.linear1(x))))


class PaddedNet(nn.Module):
    """static: table [1269, 89] of the cards, in numpy as that system held it."""

    def __init__(self, static: np.ndarray, d: int, heads: int, layers: int, registers: int) -> None:
        super().__init__()
        self.card_emb, self.attack_emb, self.type_emb = nn.Embedding(CARDS, d), nn.Embedding(ATTACKS, d), nn.Embedding(20, d)
        self.sel_type_emb, self.sel_ctx_emb = nn.Embedding(16, d), nn.Embedding(64, d)
        self.opt_verb_emb = nn.Embedding(17, d)
        self.meta_card_emb, self.meta_agent_emb, self.meta_deck_emb = (nn.Embedding(11, d) for _ in range(3))
        self.static_proj, self.cls_proj, self.day_proj = nn.Linear(STATIC, d), nn.Linear(19, d), nn.Linear(1, d)
        self.unit_attr_proj, self.opt_attr_proj = nn.Linear(24, d), nn.Linear(36, d)
        self.src_proj, self.tgt_proj = nn.Linear(d, d), nn.Linear(d, d)
        self.drawable, self.opp_drawable, self.hand_certain = (mx.zeros((d,)) for _ in range(3))
        self.value_token, self.submit_token = mx.zeros((d,)), mx.zeros((d,))
        self.learned_init = mx.random.normal((registers, d)) * 0.02
        self.layers = [Layer(d, heads, 4 * d) for _ in range(layers)]
        self.opt_head, self.submit_head = nn.Linear(d, 1), nn.Linear(d, 1)
        self.aux_heads = {name: nn.Linear(d, 1) for name in AUX}
        self._static, self._registers, self._d = static, registers, d

    def __call__(self, rows: Rows, memory: Any, compact: bool) -> tuple[Any, dict[str, Any], Any, int]:
        """(logits [B, 193], aux, memory, tokens a row) of the rows, each reading ``memory`` [B, registers, d]."""
        count = len(rows["y"])
        state, present = self._state(rows)
        options = OPTIONS
        held = rows["opt_verb"].astype(bool) | rows["action_mask"][:, :OPTIONS].astype(bool)
        if compact:
            longest = int(np.flatnonzero(held.any(axis=0)).max(initial=0)) + 1
            options = next(bucket for bucket in OPTION_BUCKETS if bucket >= longest)
        option = self._options(rows, state, options)
        if compact:
            kept = np.flatnonzero(present.any(axis=0))
            state, present = state[:, mx.array(kept)], present[:, kept]
        unknown = mx.full((count,), 10)
        extra = [
            mx.broadcast_to(self.value_token, (count, self._d)) + self._type(0),
            mx.broadcast_to(self.submit_token, (count, self._d)) + self._type(0),
            self.meta_agent_emb(unknown) + self.meta_deck_emb(unknown) + self.day_proj(mx.full((count, 1), 0.5)) + self._type(19),
        ]
        registers = memory + self._type(0)
        x = mx.concatenate([mx.stack(extra, axis=1), state, registers, option], axis=1)
        fixed = np.ones((count, 3), bool), present, np.ones((count, self._registers), bool), held[:, :options]
        valid = np.concatenate(fixed, axis=1)
        mask = mx.array(np.where(valid, 0.0, MASK).astype(np.float32))[:, None, None, :]
        for layer in self.layers:
            x = layer(x, mask)
        logits = mx.concatenate([self.opt_head(x[:, -options:])[..., 0], self.submit_head(x[:, 1])], axis=1)
        legal = np.concatenate([rows["action_mask"][:, :options], rows["action_mask"][:, OPTIONS:]], axis=1)
        logits = mx.where(mx.array(legal.astype(bool)), logits, MASK)
        aux = {name: head(x[:, 0])[:, 0] for name, head in self.aux_heads.items()}
        start = 3 + state.shape[1]
        return logits, aux, x[:, start : start + self._registers], x.shape[1]

    def _type(self, kind: int) -> Any:
        return self.type_emb(mx.array([kind]))[0]

    def _card(self, ids: np.ndarray) -> Any:
        """Embedding, static features and meta bucket of card ids; id 0 is nothing."""
        found = self.card_emb(mx.array(ids)) + self.static_proj(mx.array(self._static[ids]))
        found = found + self.meta_card_emb(mx.full(ids.shape, 10))
        return found * mx.array((ids != 0).astype(np.float32))[..., None]

    def _state(self, rows: Rows) -> tuple[Any, np.ndarray]:
        """State tokens [B, 337, d] and which are there."""
        count = len(rows["y"])
        tokens = [
            (self.cls_proj(mx.array(rows["cls_scalars"])) + self._type(0))[:, None],
            (self.sel_type_emb(mx.array(rows["select_type"][:, 0])) + self._type(16))[:, None],
            (self.sel_ctx_emb(mx.array(rows["select_context"][:, 0])) + self._type(17))[:, None],
        ]
        present = [np.ones((count, 3), bool)]
        for name, size, kind in ZONES:
            types = [[kind for _ in range(size)] for _ in range(count)]
            found = self._card(rows[f"{name}_id"]) + self.type_emb(mx.array(types))
            if name in FLAGS:
                found = found + mx.array(rows[f"{name}_flag"])[..., None] * self[FLAGS[name]]
            tokens.append(found)
            present.append(rows[f"{name}_mask"].astype(bool))
        for side, (active, bench) in UNIT_TYPES.items():
            parts = self._card(rows[f"{side}_unit_top_id"]) + self.unit_attr_proj(mx.array(rows[f"{side}_unit_attr"]))
            for name in ("preevo", "tool", "energy"):
                parts = parts + self._card(rows[f"{side}_unit_{name}_id"]).sum(axis=2)
            types = [[active if place == 0 else bench for place in range(9)] for _ in range(count)]
            tokens.append(parts + self.type_emb(mx.array(types)))
            present.append(rows[f"{side}_unit_mask"].astype(bool))
        return mx.concatenate(tokens, axis=1), np.concatenate(present, axis=1)

    def _options(self, rows: Rows, state: Any, options: int) -> Any:
        """Option tokens [B, options, d]; they point at tokens of the padded layout, or name a card."""
        count = len(rows["y"])
        flat = state.reshape(-1, self._d)
        pointed = []
        for name in ("src", "tgt"):
            position = rows[f"opt_{name}_pos"][:, :options]
            base = np.arange(count)[:, None] * STATE
            token = flat[mx.array(np.where(position < 0, 0, position) + base)]
            card = self._card(np.where(position < 0, rows[f"opt_{name}_card"][:, :options], 0))
            pointed.append(mx.where(mx.array(position < 0)[..., None], card, token))
        types = [[14 for _ in range(options)] for _ in range(count)]
        return (
            self.src_proj(pointed[0])
            + self.tgt_proj(pointed[1])
            + self.opt_attr_proj(mx.array(rows["opt_attr"][:, :options]))
            + self.opt_verb_emb(mx.array(rows["opt_verb"][:, :options]))
            + self.attack_emb(mx.array(rows["opt_attack_id"][:, :options]))
            + self.type_emb(mx.array(types))
        )


class Peer:
    """Network with the loss of one temporal microbatch, and its gradient."""

    def __init__(self, seed: int, d: int, heads: int, layers: int, registers: int, compact: bool) -> None:
        mx.random.seed(seed)
        static = np.random.default_rng(seed).random((CARDS, STATIC), np.float32)
        self.net = PaddedNet(static, d, heads, layers, registers)
        self.compact = compact
        #: padded tokens of all rows of the last microbatch
        self.tokens = 0
        self.gradient = nn.value_and_grad(self.net, self.loss)
        mx.eval(self.net.parameters())

    def loss(self, data: Rows, decisions: Sequence[Sequence[np.ndarray]], memory: Any, resets: Any) -> tuple[Any, Any]:
        """decisions: for each slot the row numbers of each of its decisions; memory: [slots, registers, d]."""
        memory = mx.where(resets, self.net.learned_init[None], memory)
        lanes = [memory[slot] for slot in range(len(decisions))]
        ce, aux, rows_seen, self.tokens = mx.array(0.0), [], 0, 0
        for t in range(max(map(len, decisions))):
            active = [slot for slot, slots in enumerate(decisions) if t < len(slots)]
            rows = np.concatenate([decisions[slot][t] for slot in active])
            owner = [slot for slot in active for _ in decisions[slot][t]]
            part = {name: data[name][rows] for name in data}
            logits, heads, written, tokens = self.net(part, mx.stack([lanes[slot] for slot in owner]), self.compact)
            self.tokens += tokens * len(rows)
            label = part["y"][:, 0]
            target = mx.array(np.where(label == OPTIONS, logits.shape[1] - 1, label))
            ce = ce + nn.losses.cross_entropy(logits, target, reduction="sum")
            aux.append((heads, {name: mx.array(part[column][:, 0].astype(np.float32)) for name, column in AUX.items()}))
            rows_seen += len(rows)
            for place, slot in enumerate(owner):
                lanes[slot] = written[place]  # the decision's last row is what stays
        total = ce / rows_seen
        for heads, wanted in aux:
            for name in AUX:
                if name in ("ko", "terminal"):
                    part_loss = nn.losses.binary_cross_entropy(heads[name], wanted[name], reduction="sum")
                else:
                    part_loss = mx.square(heads[name] - wanted[name]).sum()
                total = total + 0.5 * part_loss / rows_seen
        return total, mx.stack(lanes)


#: Columns the network and the loss read.
COLUMNS = tuple(name for name in (*INTS, *FLOATS) if name not in ("opt_group", "new_episode", "is_attack", "outcome"))
