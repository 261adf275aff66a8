"""Rows as a padded batch: the one input of both networks, in training and in play."""

from typing import Any

import numpy as np
import numpy.typing as npt

from tcg_core.encode import would_ko
from tcg_core.encode.cards import CardTables
from tcg_core.encode.columns import Array, Columns
from tcg_core.encode.errors import EncodeError
from tcg_core.encode.schema import GLOBALS, NO_POINTER, OPTION_ATTRIBUTES, UNIT_ATTRIBUTES, Entry, index_of
from tcg_core.encode.shapes import BUCKETS, BatchShape, shape_for

__all__ = ["BUCKETS", "CARD_COUNT_SCALE", "BatchShape", "blank_looks", "collate", "shape_for"]

#: Divisor of card_count.
CARD_COUNT_SCALE = 4.0


def _scales(entries: tuple[Entry, ...]) -> npt.NDArray[np.float32]:
    return np.array([1.0 / entry.scale for entry in entries], dtype=np.float32)


_GLOBAL_SCALES, _UNIT_SCALES, _OPTION_SCALES = _scales(GLOBALS), _scales(UNIT_ATTRIBUTES), _scales(OPTION_ATTRIBUTES)
_LOOK_SCALES = _scales(would_ko.VALUE_ENTRIES)
_GLOBAL, _PICKED = index_of(GLOBALS), index_of(OPTION_ATTRIBUTES)["picked"]


def collate(
    columns: Columns, generation: str | Array, cards: CardTables, shape: BatchShape | None = None
) -> dict[str, npt.NDArray[Any]]:
    """The padded batch of all rows (B), sizes C, U, A, O of ``shape`` (the smallest that fits when None).

    generation: engine generation of the rows' ids, one for all or an array [B].

    globals f32[B,G], select_type and select_context i32[B]; card_zone (zone + 1), card_index (vocabulary), card_flag
    i32[B,C], card_count f32[B,C]; unit_zone (+ 1), unit_index i32[B,U], unit_attributes f32[B,U,K]; attached_unit (U is
    padding), attached_kind (+ 1), attached_index i32[B,A]; option_type (+ 1), option_source, option_target (position in
    [C card tokens, U units], C + U is none), option_card, option_target_card, option_attack (vocabulary) i32[B,O],
    option_attributes f32[B,O,K2]; legal bool[B,O+1], column O is STOP. Zero is padding where nothing else is said. With
    label streams also target i32[B] (O for STOP) and opt_group i32[B,O]; with the streams of ``encode.would_ko`` also
    option_would_ko f32[B,O,L].

    Raises :class:`EncodeError` naming the lane: a row without a legal answer or with an illegal label, a pointer or a
    count outside, a shape too small; and for ids outside the tables.
    """
    shape = shape or shape_for(columns)
    places = {group: _Place(columns, group, shape.of_group(group)) for group in BUCKETS}
    card, unit, attached, option = (places[group] for group in BUCKETS)
    ids = _Ids(generation, cards, columns.rows)
    values = columns.values
    none = shape.cards + shape.units
    batch: dict[str, npt.NDArray[Any]] = {
        "globals": values["globals"].astype(np.float32) * _GLOBAL_SCALES,
        "select_type": values["select_type"].astype(np.int32),
        "select_context": values["select_context"].astype(np.int32),
        "card_zone": card.pad(values["card_zone"] + np.int32(1)),
        "card_index": card.pad(ids.cards(values["card_id"], card)),
        "card_count": card.pad(values["card_count"] * np.float32(1 / CARD_COUNT_SCALE)),
        "card_flag": card.pad(values["card_flag"].astype(np.int32)),
        "unit_zone": unit.pad(values["unit_zone"] + np.int32(1)),
        "unit_index": unit.pad(ids.cards(values["unit_id"], unit)),
        "unit_attributes": unit.pad(values["unit_attributes"] * _UNIT_SCALES),
        "attached_unit": attached.pad(_inside(columns, attached, "attached_unit", unit.lengths), shape.units),
        "attached_kind": attached.pad(values["attached_kind"] + np.int32(1)),
        "attached_index": attached.pad(ids.cards(values["attached_id"], attached)),
        "option_type": option.pad(values["option_type"] + np.int32(1)),
        "option_source": option.pad(_pointers(columns, option, "option_source", card, unit, shape), none),
        "option_target": option.pad(_pointers(columns, option, "option_target", card, unit, shape), none),
        "option_card": option.pad(ids.cards(values["option_card"], option)),
        "option_target_card": option.pad(ids.cards(values["option_target_card"], option)),
        "option_attack": option.pad(ids.attacks(values["option_attack"], option)),
        "option_attributes": option.pad(values["option_attributes"] * _OPTION_SCALES),
        "legal": _legal(columns, option),
    }
    if "y" in values:
        batch["target"] = _target(columns, option, batch["legal"])
        batch["opt_group"] = option.pad(_inside(columns, option, "opt_group", option.lengths))
    if would_ko.OPTION in values:
        batch["option_would_ko"] = _looks(columns, option)
    return batch


def blank_looks(rows: int, options: int) -> Array:
    """option_would_ko of ``rows`` rows none of whose options was looked at, f32[B,O,L]."""
    return np.zeros((rows, options, len(would_ko.INPUT_ENTRIES)), np.float32)


class _Place:
    """Where the items of one ragged group go in [rows, size]."""

    def __init__(self, columns: Columns, group: str, size: int) -> None:
        self.rows, self.size, self.lengths = columns.rows, size, columns.lengths(group)
        if (self.lengths > size).any():
            row = int(np.argmax(self.lengths > size))
            raise EncodeError(f"{_lane(columns, row)}: {self.lengths[row]} {group} items, the batch has room for {size}")
        starts = columns.offsets[group][:-1]
        self.row = np.repeat(np.arange(self.rows), self.lengths)
        self.flat = np.arange(len(self.row)) + np.repeat(np.arange(self.rows) * size - starts, self.lengths)

    def pad(self, items: Array, fill: int = 0) -> Array:
        """[items, ...] -> [rows, size, ...], ``fill`` elsewhere."""
        out = np.full((self.rows * self.size, *items.shape[1:]), fill, dtype=items.dtype)
        out[self.flat] = items
        return out.reshape(self.rows, self.size, *items.shape[1:])


class _Ids:
    """Vocabulary positions of ids, whose meaning depends on the row's engine generation."""

    def __init__(self, generation: str | Array, tables: CardTables, rows: int) -> None:
        self._tables = tables
        self._generation: str | Array = generation
        if not isinstance(generation, str):
            names = sorted(set(generation.tolist()))
            if len(generation) != rows:
                raise EncodeError(f"{len(generation)} generations for {rows} rows")
            if len(names) == 1:
                self._generation = str(names[0])

    def cards(self, ids: Array, place: _Place) -> Array:
        return self._look_up(ids, place, self._tables.cards)

    def attacks(self, ids: Array, place: _Place) -> Array:
        return self._look_up(ids, place, self._tables.attacks)

    def _look_up(self, ids: Array, place: _Place, table: Any) -> Array:
        if isinstance(self._generation, str):
            found: Array = table(self._generation, ids)
            return found
        of_item = self._generation[place.row]
        positions = np.zeros(len(ids), np.int32)
        for name in sorted(set(self._generation.tolist())):
            mine = of_item == name
            positions[mine] = table(name, ids[mine])
        return positions


def _lane(columns: Columns, row: int) -> str:
    keys = ("episode_id", "game", "side", "step_id")
    if not all(key in columns.values for key in keys):
        return f"row {row}"
    episode, game, side, step = (int(columns[key][row]) for key in keys)
    return f"episode {episode} game {game} side {side} step {step}"


def _refuse(columns: Columns, place: _Place, bad: Array, name: str, values: Array) -> None:
    if bad.any():
        item = int(np.argmax(bad))
        row = int(place.row[item])
        raise EncodeError(f"{_lane(columns, row)}: {name} is {int(values[item])}, outside the row")


def _inside(columns: Columns, place: _Place, name: str, limit: Array) -> Array:
    """An index stream as int32, each item in 0 .. limit[row] - 1."""
    values = columns[name].astype(np.int32)
    _refuse(columns, place, (values < 0) | (values >= limit[place.row]), name, values)
    return values


def _pointers(columns: Columns, option: _Place, name: str, card: _Place, unit: _Place, shape: BatchShape) -> Array:
    """Row-wise token positions moved to the padded layout."""
    values = columns[name].astype(np.int32)
    cards = card.lengths[option.row]
    _refuse(columns, option, (values < NO_POINTER) | (values >= cards + unit.lengths[option.row]), name, values)
    moved = np.where(values < cards, values, values - cards + shape.cards)
    return np.where(values == NO_POINTER, shape.cards + shape.units, moved).astype(np.int32)


def _looks(columns: Columns, option: _Place) -> Array:
    """f32[B, O, L]: each look at its option."""
    row = np.repeat(np.arange(columns.rows), columns.lengths(would_ko.GROUP))
    position = columns[would_ko.OPTION].astype(np.int64)
    outside = (position < 0) | (position >= option.lengths[row])
    if outside.any():
        item = int(np.argmax(outside))
        raise EncodeError(f"{_lane(columns, int(row[item]))}: {would_ko.OPTION} is {int(position[item])}, outside the row")
    found = blank_looks(columns.rows, option.size)
    found[row, position, 0] = 1
    found[row, position, 1:] = columns[would_ko.VALUES] * _LOOK_SCALES
    return found


def _legal(columns: Columns, option: _Place) -> Array:
    """bool [B, O + 1]: unpicked options while there is room, STOP when minCount <= picked < maxCount."""
    values = columns["globals"]
    low, high, picked = (values[:, _GLOBAL[name]] for name in ("min_count", "max_count", "picked"))
    room = picked < high
    mask = np.zeros((columns.rows, option.size + 1), dtype=np.bool_)
    mask[:, :-1] = option.pad((columns["option_attributes"][:, _PICKED] == 0) & room[option.row])
    mask[:, -1] = room & (low <= picked)
    stuck = ~mask.any(axis=1)
    if stuck.any():
        raise EncodeError(f"{_lane(columns, int(np.argmax(stuck)))}: no answer is legal")
    return mask


def _target(columns: Columns, option: _Place, legal: Array) -> Array:
    """int32 [B]: the label, STOP moved to column O."""
    label = columns["y"].astype(np.int32)
    outside = (label < 0) | (label > option.lengths)
    target = np.where(label == option.lengths, option.size, label).astype(np.int32)
    bad = outside | ~legal[np.arange(columns.rows), np.where(outside, 0, target)]
    if bad.any():
        row = int(np.argmax(bad))
        raise EncodeError(f"{_lane(columns, row)}: label {int(label[row])} of {int(option.lengths[row])} options is not legal")
    return target
