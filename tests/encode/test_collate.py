"""The padded batch equals the ragged rows, and refuses rows that are not right."""

from collections.abc import Callable

import numpy as np
import pytest

from tcg_core.encode.cards import FACE_DOWN, FIRST, UNKNOWN_PRINT
from tcg_core.encode.collate import BUCKETS, CARD_COUNT_SCALE, BatchShape, collate, shape_for
from tcg_core.encode.columns import Columns
from tcg_core.encode.errors import EncodeError
from tcg_core.encode.rows import encode_episode
from tcg_core.encode.schema import GLOBALS, OPTION_ATTRIBUTES, SCHEMA, UNIT_ATTRIBUTES, index_of
from tests.encode.helpers import LARGEST, tables
from tests.golden.replays import replays

CARDS = tables()
LANE = ("episode", "game", "side", "step")


@pytest.fixture
def columns() -> Columns:
    parts = [encode_episode(item.episode(), item.day) for item in replays()]
    order = np.random.default_rng(13).permutation(sum(part.rows for part in parts))
    return Columns.concatenate(parts).take(order[:64])


def test_shapes_and_dtypes(columns: Columns) -> None:
    shape = shape_for(columns)
    batch = collate(columns, "v2", CARDS)
    b, c, u, a, o = columns.rows, shape.cards, shape.units, shape.attached, shape.options
    expected = {
        "globals": (np.float32, (b, len(GLOBALS))), "select_type": (np.int32, (b,)), "select_context": (np.int32, (b,)),
        "card_zone": (np.int32, (b, c)), "card_index": (np.int32, (b, c)), "card_count": (np.float32, (b, c)),
        "card_flag": (np.int32, (b, c)),
        "unit_zone": (np.int32, (b, u)), "unit_index": (np.int32, (b, u)),
        "unit_attributes": (np.float32, (b, u, len(UNIT_ATTRIBUTES))),
        "attached_unit": (np.int32, (b, a)), "attached_kind": (np.int32, (b, a)), "attached_index": (np.int32, (b, a)),
        "option_type": (np.int32, (b, o)), "option_source": (np.int32, (b, o)), "option_target": (np.int32, (b, o)),
        "option_card": (np.int32, (b, o)), "option_target_card": (np.int32, (b, o)), "option_attack": (np.int32, (b, o)),
        "option_attributes": (np.float32, (b, o, len(OPTION_ATTRIBUTES))),
        "legal": (np.bool_, (b, o + 1)), "target": (np.int32, (b,)), "opt_group": (np.int32, (b, o)),
    }  # fmt: skip
    assert {name: (array.dtype.type, array.shape) for name, array in batch.items()} == expected


def test_every_row_equals_its_ragged_form(columns: Columns) -> None:
    """Against a slow row by row reading; in the test's tables id i is vocabulary i + 2, face down (-1) is 1, none is 0."""
    shape = shape_for(columns)
    batch = collate(columns, "v2", CARDS)
    vocabulary = lambda ids: [0 if i == 0 else 1 if i == -1 else i + 2 for i in ids]  # noqa: E731
    low, high, picked = (index_of(GLOBALS)[name] for name in ("min_count", "max_count", "picked"))
    for row in range(columns.rows):
        one = columns.take(np.array([row]))
        n = {group: int(one.lengths(group)[0]) for group in BUCKETS}
        for name in ("card_zone", "unit_zone", "attached_kind", "option_type"):
            group = SCHEMA.by_name[name].group or ""
            assert batch[name][row].tolist() == [v + 1 for v in one[name].tolist()] + [0] * (shape.of_group(group) - n[group])
        for name, stream in (("card_index", "card_id"), ("unit_index", "unit_id"), ("attached_index", "attached_id"),
                             ("option_card", "option_card"), ("option_attack", "option_attack")):  # fmt: skip
            assert batch[name][row][: len(one[stream])].tolist() == vocabulary(one[stream].tolist())
            assert not batch[name][row][len(one[stream]) :].any()
        for name in ("option_source", "option_target"):
            moved = [
                shape.cards + shape.units if p == -1 else p if p < n["card"] else p - n["card"] + shape.cards
                for p in one[name].tolist()
            ]
            assert batch[name][row].tolist() == moved + [shape.cards + shape.units] * (shape.options - n["option"])
        assert batch["attached_unit"][row].tolist() == one["attached_unit"].tolist() + [shape.units] * (
            shape.attached - n["attached"]
        )
        assert batch["card_count"][row][: n["card"]] == pytest.approx(one["card_count"] / CARD_COUNT_SCALE)
        for name, entries in (("unit_attributes", UNIT_ATTRIBUTES), ("option_attributes", OPTION_ATTRIBUTES)):
            scaled = one[name] / np.array([entry.scale for entry in entries])
            assert np.allclose(batch[name][row][: len(scaled)], scaled) and not batch[name][row][len(scaled) :].any()
        assert np.allclose(batch["globals"][row], one["globals"][0] / np.array([entry.scale for entry in GLOBALS]))
        room = one["globals"][0, picked] < one["globals"][0, high]
        open_options = [bool(room and not taken) for taken in one["option_attributes"][:, 0]]
        stop = bool(room and one["globals"][0, picked] >= one["globals"][0, low])
        assert batch["legal"][row].tolist() == open_options + [False] * (shape.options - n["option"]) + [stop]
        assert batch["target"][row] == (shape.options if one["y"][0] == n["option"] else one["y"][0])
        assert batch["legal"][row][batch["target"][row]]


def test_a_row_is_the_same_alone_and_in_a_larger_shape(columns: Columns) -> None:
    shape = BatchShape(104, 18, 64, 64)
    whole = collate(columns, columns["generation"], CARDS, shape)
    one = collate(columns.take(np.array([5])), "v1", CARDS, shape)
    for name, array in one.items():
        assert np.array_equal(array[0], whole[name][5]), name


def test_rows_of_play_carry_no_label(columns: Columns) -> None:
    streams = {stream.name for stream in SCHEMA.of_role("feature")}
    features = Columns(columns.rows, {name: a for name, a in columns.values.items() if name in streams}, columns.offsets)
    batch = collate(features, "v2", CARDS)
    assert "target" not in batch and "opt_group" not in batch
    assert all(np.array_equal(batch[name], array) for name, array in collate(columns, "v2", CARDS).items() if name in batch)


def test_generations_are_looked_up_by_row(columns: Columns) -> None:
    shifted = tables()
    shifted.card_index["v2"][:] = np.where(shifted.card_index["v2"] > 0, LARGEST + 1, 0)  # type: ignore[index]
    both = type(CARDS)({"v1": CARDS.card_index["v1"].copy(), "v2": shifted.card_index["v2"]}, CARDS.attack_index,
                       CARDS.card_static, CARDS.attack_static)  # fmt: skip
    both.card_index["v1"][1:] = np.arange(FIRST, LARGEST + FIRST)
    batch = collate(columns, columns["generation"], both)
    v2 = columns["generation"] == "v2"
    assert 0 < v2.sum() < columns.rows
    assert (batch["option_card"][v2][batch["option_card"][v2] > 1] == LARGEST + 1).all()
    assert np.array_equal(batch["option_card"][~v2], collate(columns, "v1", CARDS)["option_card"][~v2])
    with pytest.raises(EncodeError, match="no engine generation 'v3'"):
        collate(columns, "v3", CARDS)


def _set(name: str, value: int, column: int | None = None) -> Callable[[Columns], None]:
    def change(columns: Columns) -> None:
        columns[name][(0,) if column is None else (0, column)] = value

    return change


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (_set("option_source", 900), r"option_source is 900, outside the row"),
        (_set("option_target", -2), r"option_target is -2"),
        (_set("attached_unit", 100), r"attached_unit is 100"),
        (_set("y", -1), r"label -1 of \d+ options is not legal"),
        (_set("y", 500), r"label 500 of \d+ options is not legal"),
        (_set("opt_group", 500), r"opt_group is 500"),
        (_set("globals", 0, index_of(GLOBALS)["max_count"]), "no answer is legal"),
        (_set("globals", 9, index_of(GLOBALS)["picked"]), "no answer is legal"),
    ],
)
def test_a_wrong_row_is_refused_by_its_lane(columns: Columns, change: Callable[[Columns], None], complaint: str) -> None:
    change(columns)
    row = 0 if columns.lengths("attached")[0] or "attached" not in complaint else int(np.argmax(columns.lengths("attached") > 0))
    lane = " ".join(
        f"{word} {columns[name][row]}" for word, name in zip(LANE, ("episode_id", "game", "side", "step_id"), strict=True)
    )
    with pytest.raises(EncodeError, match=complaint) as caught:
        collate(columns, "v2", CARDS)
    assert str(caught.value).startswith(lane)


def test_a_label_already_picked_is_refused(columns: Columns) -> None:
    row = int(np.argmax(columns["y"] < columns.lengths("option")))
    columns["option_attributes"][columns.offsets["option"][row] + columns["y"][row], 0] = 1
    with pytest.raises(EncodeError, match=r"is not legal|no answer is legal"):
        collate(columns, "v2", CARDS)


def test_a_small_shape_and_an_id_that_is_none_are_refused(columns: Columns) -> None:
    with pytest.raises(EncodeError, match=r"episode \d+ .*: \d+ card items, the batch has room for 2"):
        collate(columns, "v2", CARDS, BatchShape(2, 18, 64, 64))
    columns["card_id"][7] = -2
    with pytest.raises(EncodeError, match="card id -2 is no id"):
        collate(columns, "v2", CARDS)


@pytest.mark.parametrize("stream", ["card_id", "unit_id", "attached_id", "option_card", "option_target_card", "option_attack"])
def test_an_id_that_the_tables_lack_is_the_unknown_print_wherever_it_stands(columns: Columns, stream: str) -> None:
    group = {"card_id": "card_index", "unit_id": "unit_index", "attached_id": "attached_index"}.get(stream, stream)
    before = collate(columns, "v2", CARDS)[group].copy()
    columns[stream][7] = LARGEST + 1
    after = collate(columns, "v2", CARDS)[group]
    assert (before != after).sum() == 1 and after[before != after].tolist() == [UNKNOWN_PRINT]
    assert UNKNOWN_PRINT not in before and FACE_DOWN in collate(columns, "v2", CARDS)["card_index"]


def test_shapes_come_from_a_small_closed_set(columns: Columns) -> None:
    shape = shape_for(columns)
    for group, buckets in BUCKETS.items():
        assert shape.of_group(group) in buckets and list(buckets) == sorted(buckets)
        assert shape.of_group(group) >= columns.lengths(group).max()
    crowd = Columns(1, {}, {group: np.array([0, BUCKETS[group][-1] + (group == "option")]) for group in BUCKETS})
    with pytest.raises(EncodeError, match="1025 option items"):
        shape_for(crowd)
