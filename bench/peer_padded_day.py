"""The baseline of bench.day: a day through plain ``json`` into padded arrays, one process, in the earlier system's shape.

    python -m bench.peer_padded_day ARCHIVE OUT.parquet

337 state tokens, 192 options of 36 attributes, int32 and float32, one fixed-size list a column, zstd level 3. It is written
straightforwardly and kinder than what it stands for: no beliefs from logs, no meta buckets, no text columns, no look-ahead,
no checks, rows filled into preallocated blocks, and row groups of 4,000 rows instead of 34,000.
"""

import argparse
import json
import sys
import time
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet

BLOCK = 4000
OPTIONS, UNITS = 192, 9
UNKNOWN = 1268
_SIDES = ("self", "opp")

INTS: dict[str, tuple[int, ...]] = {
    "select_type": (1,), "select_context": (1,), "effect_id": (2,), "stadium_id": (2,),
    "opt_verb": (OPTIONS,), "opt_src_pos": (OPTIONS,), "opt_tgt_pos": (OPTIONS,), "opt_src_card": (OPTIONS,),
    "opt_tgt_card": (OPTIONS,), "opt_attack_id": (OPTIONS,), "opt_group": (OPTIONS + 1,),
    "y": (1,), "episode": (1,), "side": (1,), "step_id": (1,), "decision_id": (1,), "substep": (1,), "new_episode": (1,),
    "is_attack": (1,), "outcome": (1,), "aux_ko": (1,), "aux_terminal": (1,),
}  # fmt: skip
FLOATS: dict[str, tuple[int, ...]] = {
    "cls_scalars": (19,), "effect_mask": (2,), "stadium_mask": (2,), "opt_attr": (OPTIONS, 36), "action_mask": (OPTIONS + 1,),
    "aux_prize_delta": (1,), "aux_return": (1,),
}  # fmt: skip
for _side in _SIDES:
    for _zone, _size in (("deck", 60), ("hand", 30), ("prize", 6), ("discard", 60)):
        INTS[f"{_side}_{_zone}_id"] = (_size,)
        FLOATS[f"{_side}_{_zone}_mask"] = (_size,)
    FLOATS[f"{_side}_deck_flag"] = (60,)
    INTS |= {
        f"{_side}_unit_top_id": (UNITS,),
        f"{_side}_unit_preevo_id": (UNITS, 2),
        f"{_side}_unit_tool_id": (UNITS, 4),
        f"{_side}_unit_energy_id": (UNITS, 4),
    }
    FLOATS |= {f"{_side}_unit_attr": (UNITS, 24), f"{_side}_unit_mask": (UNITS,)}
FLOATS["opp_hand_flag"] = (30,)

#: Where each zone begins among the 337 state tokens.
_STARTS = {"self_hand": 135, "self_discard": 195, "opp_discard": 255, "stadium": 315, "effect": 317, "self": 319, "opp": 328}
_BYTES = 4 * sum(int(np.prod(shape)) for shape in (*INTS.values(), *FLOATS.values()))


class Block:
    """Rows filled in place and written when full."""

    def __init__(self, path: Path) -> None:
        shapes = {**{name: (shape, np.int32) for name, shape in INTS.items()}, **{n: (s, np.float32) for n, s in FLOATS.items()}}
        self.columns: dict[str, np.ndarray] = {name: np.zeros((BLOCK, *shape), dtype) for name, (shape, dtype) in shapes.items()}
        fields = [pa.field(n, self._type(array)) for n, array in self.columns.items()]
        self.writer = parquet.ParquetWriter(path, pa.schema(fields), compression="zstd", compression_level=3)
        self.used = self.rows = 0

    @staticmethod
    def _type(array: np.ndarray) -> Any:
        value = pa.from_numpy_dtype(array.dtype)
        size = int(np.prod(array.shape[1:]))
        return value if size == 1 else pa.list_(value, size)

    def row(self) -> int:
        if self.used == BLOCK:
            self.flush()
        self.used += 1
        return self.used - 1

    def flush(self) -> None:
        arrays = []
        for name, array in self.columns.items():
            flat, size = pa.array(array[: self.used].reshape(-1)), int(np.prod(array.shape[1:]))
            arrays.append(flat if size == 1 else pa.FixedSizeListArray.from_arrays(flat, size))
            self.columns[name] = np.zeros_like(array)  # the writer may still look at the old one
        self.writer.write_table(pa.Table.from_arrays(arrays, names=list(self.columns)))
        self.rows += self.used
        self.used = 0

    def close(self) -> None:
        if self.used:
            self.flush()
        self.writer.close()


def episode(block: Block, number: int, replay: dict[str, Any]) -> None:
    """All rows of one replay, seat 0 first."""
    steps, rewards = replay["steps"], replay["rewards"]
    if None in rewards or rewards[0] == rewards[1]:
        return
    for side in (0, 1):
        deck = steps[1][side]["action"]
        entries = [
            (t, step[side]["observation"], steps[t + 1][side]["action"])
            for t, step in enumerate(steps[:-1])
            if step[side]["status"] == "ACTIVE" and step[side]["observation"]["select"]
        ]
        targets = _targets([obs for _, obs, _ in entries], side, rewards[side])
        revealed: dict[int, int] = {}
        for decision, (t, obs, picks) in enumerate(entries):
            _reveal(obs["current"], side, revealed)
            labels = list(picks)
            if len(picks) < obs["select"]["maxCount"]:
                labels.append(OPTIONS)
            for substep, label in enumerate(labels):
                row = block.row()
                out = {name: array[row] for name, array in block.columns.items()}
                _state(out, obs, side, deck, revealed, substep)
                _options(out, obs, side, picks[:substep])
                out["y"][0], out["episode"][0], out["side"][0], out["step_id"][0] = label, number, side, t
                out["decision_id"][0], out["substep"][0] = decision, substep
                out["new_episode"][0] = decision == 0 and substep == 0
                out["outcome"][0] = rewards[side]
                out["aux_ko"][0], out["aux_prize_delta"][0], out["aux_terminal"][0], out["aux_return"][0] = targets[decision]


def _targets(observations: list[dict[str, Any]], side: int, reward: int) -> list[tuple[int, float, int, float]]:
    """Prizes taken until the seat's last decision of the turn, and to the end."""
    prizes = [[len(obs["current"]["players"][seat]["prize"]) for seat in (side, 1 - side)] for obs in observations]
    turns = [obs["current"]["turn"] for obs in observations]
    found = []
    for here in range(len(turns)):
        end = here
        while end + 1 < len(turns) and turns[end + 1] == turns[here]:
            end += 1
        delta = (prizes[here][0] - prizes[end][0]) - (prizes[here][1] - prizes[end][1])
        swing = (prizes[here][0] - prizes[-1][0]) - (prizes[here][1] - prizes[-1][1])
        found.append((int(delta != 0), float(delta), int(here + 1 == len(turns)), swing / 6 + reward))
    return found


def _reveal(state: dict[str, Any], side: int, revealed: dict[int, int]) -> None:
    other = state["players"][1 - side]
    shown = [*other["discard"], *state["stadium"]]
    for unit in (*other["active"], *other["bench"]):
        if unit:
            shown += [unit, *unit["energyCards"], *unit["tools"], *unit["preEvolution"]]
    for card in shown:
        if card["playerIndex"] != side:
            revealed[card["serial"]] = card["id"]


def _zone(out: dict[str, Any], name: str, ids: list[int]) -> None:
    ids = ids[: len(out[f"{name}_id"])]
    out[f"{name}_id"][: len(ids)] = ids
    out[f"{name}_mask"][: len(ids)] = 1


def _state(out: dict[str, Any], obs: dict[str, Any], side: int, deck: list[int], revealed: dict[int, int], picked: int) -> None:
    state, select = obs["current"], obs["select"]
    own, other = state["players"][side], state["players"][1 - side]
    out["cls_scalars"][:] = [
        state["turn"] / 50, state["turnActionCount"] / 20, state["firstPlayer"] == side, state["supporterPlayed"],
        state["stadiumPlayed"], state["energyAttached"], state["retreated"], own["deckCount"] / 60, other["deckCount"] / 60,
        len(own["prize"]) / 6, len(other["prize"]) / 6, own["handCount"] / 12, other["handCount"] / 12,
        select["remainDamageCounter"] / 20, select["remainEnergyCost"] / 5, select["minCount"] / 5, select["maxCount"] / 5,
        picked / 5, 0,
    ]  # fmt: skip
    out["select_type"][0], out["select_context"][0] = select["type"], select["context"]
    hand = [card["id"] for card in own["hand"]]
    visible = hand + [card["id"] for card in own["discard"]]
    for unit in (*own["active"], *own["bench"]):
        if unit:
            visible += [unit["id"], *(card["id"] for card in (*unit["energyCards"], *unit["tools"], *unit["preEvolution"]))]
    _zone(out, "self_deck", deck)
    for place, card in enumerate(deck):
        if card in visible:
            visible.remove(card)
        else:
            out["self_deck_flag"][place] = 1
    _zone(out, "opp_deck", [*revealed.values(), *[UNKNOWN] * (60 - len(revealed))])
    out["opp_deck_flag"][len(revealed) :] = 1
    _zone(out, "self_hand", hand)
    _zone(out, "opp_hand", [UNKNOWN] * other["handCount"])
    for name, player in (("self", own), ("opp", other)):
        _zone(out, f"{name}_prize", [card["id"] if card else UNKNOWN for card in player["prize"]])
        _zone(out, f"{name}_discard", [card["id"] for card in player["discard"]])
        for place, unit in enumerate([*(player["active"] or [None]), *player["bench"]][:UNITS]):
            if unit:
                _unit(out, name, place, unit, player)
    _zone(out, "stadium", [card["id"] for card in state["stadium"]])
    _zone(out, "effect", [select["effect"]["id"]] if select["effect"] else [])


def _unit(out: dict[str, Any], name: str, place: int, unit: dict[str, Any], player: dict[str, Any]) -> None:
    out[f"{name}_unit_top_id"][place] = unit["id"]
    out[f"{name}_unit_mask"][place] = 1
    for key, part, room in (("preevo", "preEvolution", 2), ("tool", "tools", 4), ("energy", "energyCards", 4)):
        ids = [card["id"] for card in unit[part]][:room]
        out[f"{name}_unit_{key}_id"][place, : len(ids)] = ids
    attributes = out[f"{name}_unit_attr"][place]
    attributes[0], attributes[1] = unit["hp"] / max(unit["maxHp"], 1), unit["maxHp"] / 500
    for energy in unit["energies"]:
        attributes[2 + energy] += 0.25
    attributes[14] = len(unit["energies"]) / 12
    if place == 0:
        conditions = ("poisoned", "burned", "asleep", "paralyzed", "confused")
        attributes[15:20] = [player[condition] for condition in conditions]
    attributes[20] = unit["appearThisTurn"]


def _options(out: dict[str, Any], obs: dict[str, Any], side: int, picked: list[int]) -> None:
    state, select = obs["current"], obs["select"]
    options = select["option"][:OPTIONS]
    groups: dict[tuple[Any, ...], int] = {}
    out["opt_group"][:] = np.arange(OPTIONS + 1)
    for place, option in enumerate(options):
        attributes = out["opt_attr"][place]
        attributes[0], attributes[1] = (option.get("count") or 0) / 5, (option.get("number") or 0) / 15
        attributes[14] = place in picked
        out["opt_verb"][place] = option["type"]
        out["opt_attack_id"][place] = option.get("attackId") or 0
        position, card = _place(state, select, option, side, "area", "index")
        out["opt_src_pos"][place], out["opt_src_card"][place] = position, card
        target, target_card = _place(state, select, option, side, "inPlayArea", "inPlayIndex")
        out["opt_tgt_pos"][place], out["opt_tgt_card"][place] = target, target_card
        if select["maxCount"] == 1:
            key = (option["type"], option.get("area"), card, target, option.get("attackId"), option.get("number"))
            out["opt_group"][place] = groups.setdefault(key, place)
    room = len(picked) < select["maxCount"]
    for place in range(len(options)):
        out["action_mask"][place] = room and place not in picked
    out["action_mask"][OPTIONS] = select["minCount"] <= len(picked) < select["maxCount"]
    out["is_attack"][0] = select["type"] == 0 and any(option.get("attackId") for option in options)


def _place(
    state: dict[str, Any], select: dict[str, Any], option: dict[str, Any], side: int, area_key: str, index_key: str
) -> tuple[int, int]:
    """(position among the state tokens, card id), -1 and 0 for none. Areas: 1 deck, 2 hand, 3 discard, 4 active, 5 bench."""
    area, index = option.get(area_key), option.get(index_key)
    if area is None and option["type"] == 7 and area_key == "area":
        area = 2
    if area is None or index is None:
        return -1, 0
    player = option.get("playerIndex", side)
    player = side if player is None else player
    table, name = state["players"][player], "self" if player == side else "opp"
    row = {1: select["deck"], 2: table["hand"], 3: table["discard"], 4: table["active"], 5: table["bench"]}.get(area)
    if not row or not 0 <= index < len(row):
        return -1, 0
    card = row[index]["id"] if row[index] else UNKNOWN
    start = {2: "self_hand", 3: f"{name}_discard", 4: name, 5: name}.get(area)
    return (-1 if start is None else _STARTS[start] + index + (area == 5)), card


def convert(archive: Path, target: Path) -> int:
    """Writes the day; returns its rows."""
    block = Block(target)
    with zipfile.ZipFile(archive) as file:
        for number, name in enumerate(sorted(file.namelist())):
            with file.open(name) as member:
                episode(block, number, json.load(member))
    block.close()
    return block.rows


def main() -> None:
    """Prints one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("archive", type=Path)
    parser.add_argument("target", type=Path)
    arguments = parser.parse_args()
    started = time.perf_counter()
    rows = convert(arguments.archive, arguments.target)
    size = arguments.target.stat().st_size
    json.dump(
        {
            "rows": rows,
            "seconds": {"all": round(time.perf_counter() - started, 2)},
            "bytes": size,
            "decoded_bytes": rows * _BYTES,
        },
        sys.stdout,
    )


if __name__ == "__main__":
    main()
