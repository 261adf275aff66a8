"""Looks joined to rows: right on a recorded day, the same through every tier of the cache, refused where the two do not fit."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as parquet
import pytest

from tcg_core.base.digest import sha256_file
from tcg_core.base.errors import IntegrityError
from tcg_core.base.manifest import read_manifest
from tcg_core.encode import would_ko
from tcg_core.encode.collate import collate
from tcg_core.encode.columns import Columns
from tcg_core.encode.errors import EncodeError
from tcg_core.encode.schema import SCHEMA
from tcg_core.lookahead import table
from tcg_core.lookahead.join import NEEDED, join
from tcg_core.lookahead.read import LookedDayReader
from tcg_core.rows.arrow import from_table, to_table
from tcg_core.rows.cache import RowGroupCache
from tcg_core.rows.cache_spill import Spill
from tcg_core.rows.reader import DayReader
from tests.encode.helpers import tables
from tests.lookahead.looked import DAY, shared_home

Looks = dict[str, Any]
KEY = ("episode_id", "game", "side", "step_id")


@pytest.fixture(scope="module")
def path() -> Path:
    [found] = shared_home().days.glob(f"{DAY}/*/rows.parquet")
    return found


@pytest.fixture(scope="module")
def rows(path: Path) -> Columns:
    with DayReader(path) as reader:
        return reader.read()


@pytest.fixture
def looks(path: Path) -> Looks:
    found = parquet.read_table(path.parent / table.WOULD_KO)
    return {name: found[name].to_numpy().copy() for name in found.column_names}


def items(columns: Columns, row: int) -> dict[int, list[float]]:
    """Values of a row's looks by option."""
    bounds = columns.offsets[would_ko.GROUP][row : row + 2]
    options = columns[would_ko.OPTION][bounds[0] : bounds[1]].tolist()
    return dict(zip(options, columns[would_ko.VALUES][bounds[0] : bounds[1]].tolist(), strict=True))


def row_of(columns: Columns, *key: int) -> int:
    [row] = np.flatnonzero(np.logical_and.reduce([columns[name] == value for name, value in zip(KEY, key, strict=True)]))
    return int(row)


def test_two_decisions_checked_by_hand(path: Path) -> None:
    """Read off the replays. Kyogre (attacks 1042 for 20 by energy in the discard, 1043 for 130) faces a Kyogre of 110 HP at step
    53, and a Snover of 90 HP, the opponent's last unit, at step 33."""
    with LookedDayReader(path) as reader:
        columns = reader.read()
    assert items(columns, row_of(columns, 85000001, 0, 0, 53)) == {3: [0, 0, 0], 4: [1, 1, 0]}
    row = row_of(columns, 85000011, 0, 0, 33)
    assert items(columns, row) == {2: [0, 0, 0], 3: [1, 1, 1]}
    batch = collate(columns.take(np.array([row])), "v1", tables())
    inputs = batch["option_would_ko"][0]
    assert inputs[:5].tolist() == [[0, 0, 0, 0], [0, 0, 0, 0], [1, 0, 0, 0], [1, 1, np.float32(1 / 6), 1], [0, 0, 0, 0]]
    assert not inputs[5:].any(), "padding was looked at"


def test_every_option_has_its_own_look_and_no_other(path: Path, rows: Columns, looks: Looks) -> None:
    """Against a dictionary, option by option."""
    with LookedDayReader(path) as reader:
        columns = reader.read()
    said = {
        tuple(int(looks[name][n]) for name in (*KEY, "option")): [float(looks[name][n]) for name in ("ko", "prizes", "win")]
        for n in range(len(looks["ko"]))
    }
    used = set()
    for row in range(rows.rows):
        key = tuple(int(rows[name][row]) for name in KEY)
        expected = {option: said[*key, option] for option in range(int(rows.lengths("option")[row])) if (*key, option) in said}
        assert items(columns, row) == {option: pytest.approx(values) for option, values in expected.items()}
        used |= {(*key, option) for option in expected}
        assert bool(expected) == bool(rows["is_attack"][row])
    assert used == set(said)
    assert all(np.array_equal(columns[name], rows[name]) for name in SCHEMA.by_name), "the join changed a row"


def test_all_picks_of_a_decision_share_its_looks_whatever_is_picked_and_in_any_order(rows: Columns, looks: Looks) -> None:
    row = row_of(rows, 85000001, 0, 0, 53)
    twice = rows.take(np.array([row, row, row + 1, row]))
    values = dict(twice.values)
    picked = values["option_attributes"].copy()
    picked[twice.offsets["option"][1] + 3, 0] = 1  # the second row: its first attack was picked already
    joined = join(Columns(4, values | {"option_attributes": picked}, twice.offsets), looks, "there")
    assert items(joined, 0) == items(joined, 1) == items(joined, 3) == {3: [0, 0, 0], 4: [1, 1, 0]}
    order = np.array([2, 3, 0])
    again = joined.take(order)
    assert [items(again, n) for n in range(3)] == [items(joined, int(n)) for n in order]
    both = Columns.concatenate([joined, again])
    assert items(both, 5) == items(joined, 3)


def test_an_attack_of_which_nothing_was_found_out_is_not_one_that_knocks_nothing_out(rows: Columns, looks: Looks) -> None:
    place = int(np.argmax((looks["step_id"] == 53) & (looks["option"] == 4) & (looks["side"] == 0)))
    for name in ("ko", "prizes", "win"):
        looks[name][place] = np.nan
    row = row_of(rows, 85000001, 0, 0, 53)
    assert items(join(rows, looks, "there"), row) == {3: [0, 0, 0]}


def moved(looks: Looks, name: str, shift: int = 1) -> None:
    looks[name] = np.roll(looks[name], shift)


def without(looks: Looks, place: int) -> None:
    for name in looks:
        looks[name] = np.delete(looks[name], place)


def shuffled(looks: Looks) -> None:
    """Every look at another decision: the numbers of options of two neighbours change places where they differ."""
    order = np.random.default_rng(3).permutation(len(looks["ko"]))
    for name in ("option", "attack", "ko", "prizes", "win"):
        looks[name] = looks[name][order]


BREAKS: dict[str, tuple[Callable[[Looks], object], str]] = {
    "shuffled": (shuffled, "there: episode 85000001 game 0 side 0 step"),
    "attacks moved by one": (lambda looks: moved(looks, "attack"), "is attack .*, its look is of"),
    "other sides": (lambda looks: looks["side"].__isub__(1).__imul__(-1), "is an attack without a look|out of order"),
    "other options": (lambda looks: looks["option"].__iadd__(1), "is an attack without a look"),
    "one is missing": (lambda looks: without(looks, 7), "is an attack without a look"),
    "none": (lambda looks: [looks.update({name: array[:0]}) for name, array in looks.items()], "is an attack without a look"),
    "twice": (
        lambda looks: [looks.update({k: np.insert(v, 5, v[5])}) for k, v in looks.items()],
        "is there twice or out of order",
    ),
    "not an attack": (
        lambda looks: [looks.update({k: np.append(v, v[-1] + (k == "option"))}) for k, v in looks.items()],
        "has a look of option .*, which is no attack",
    ),
    "seven prizes": (lambda looks: looks["prizes"].__setitem__(3, 7), "prizes is 7.0, expected 0 to 6"),
    "a share of two": (lambda looks: looks["ko"].__setitem__(3, 2), "ko is 2.0, expected 0 to 1"),
    "half of a look": (lambda looks: looks["win"].__setitem__(3, np.nan), "win is nan"),
    "steps without end": (lambda looks: looks["step_id"].__setitem__(-1, 2**31 - 1), "without a look|beyond what can be joined"),
}


@pytest.mark.parametrize("name", BREAKS)
def test_looks_that_are_not_of_these_rows_are_refused(name: str, rows: Columns, looks: Looks) -> None:
    join(rows, looks, "there")
    change, message = BREAKS[name]
    change(looks)
    with pytest.raises(IntegrityError, match=message) as caught:
        join(rows, looks, "there")
    assert str(caught.value).startswith("there: ")


def test_the_table_is_read_by_its_row_groups_and_holds_no_more_than_the_rows_need(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with LookedDayReader(path) as reader:
        whole = reader.read()
        half = reader.read_row_group(0, ("y", *would_ko.NAMES))
        assert set(half.values) == {"y", *would_ko.NAMES} and set(half.offsets) == {would_ko.GROUP}
        assert not set(reader.read_row_group(0, ("y",)).values) - {"y"}, "looks were read that nobody named"
    small = tmp_path / path.parent.name
    shutil.copytree(path.parent, small)
    found = parquet.read_table(small / table.WOULD_KO)
    parquet.write_table(found, small / table.WOULD_KO, row_group_size=20)
    signed(small)
    with LookedDayReader(small) as reader:
        assert reader._looks.metadata.num_row_groups == 9
        assert np.array_equal(reader.read()[would_ko.VALUES], whole[would_ko.VALUES])
        asked: list[int] = []
        plain = reader._looks.read_row_group
        monkeypatch.setattr(reader, "_looks", Spy(reader._looks, asked, plain))
        episode = np.unique(whole["episode_id"])[1:2]
        assert set(reader._of(episode)["episode_id"].tolist()) == set(episode.tolist())
    assert 0 < len(asked) < 9


class Spy:
    """A Parquet file that notes which row groups are read."""

    def __init__(self, file: Any, asked: list[int], read: Callable[[int], Any]) -> None:
        self.metadata, self._asked, self._read, self.close = file.metadata, asked, read, file.close

    def read_row_group(self, number: int) -> Any:
        self._asked.append(number)
        return self._read(number)


def signed(directory: Path) -> None:
    """Makes the manifest say the files as they are now."""
    from dataclasses import replace

    manifest = read_manifest(directory)
    manifest = replace(manifest, files={name: sha256_file(directory / name) for name in manifest.files})
    (directory / "manifest.json").write_text(json.dumps(manifest.to_dict()))


def test_a_table_that_is_not_the_days_is_refused(path: Path, tmp_path: Path) -> None:
    day = tmp_path / path.parent.name
    shutil.copytree(path.parent, day)
    content = read_manifest(day).content
    LookedDayReader(day, content)
    with pytest.raises(IntegrityError, match=f"content {content[:12]}, expected 0000"):
        LookedDayReader(day, "0" * 64)
    file = day / table.WOULD_KO
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(data)
    with pytest.raises(IntegrityError, match=r"would_ko\.parquet: expected SHA-256 \w{12}, found \w{12}"):
        LookedDayReader(day)
    file.unlink()
    with pytest.raises(IntegrityError, match=r"would_ko\.parquet: expected SHA-256 \w{12}, found absent"):
        LookedDayReader(day)


def test_a_day_built_without_them_names_the_remedy(staged: Any) -> None:
    [rows] = staged.root.glob(f"**/{DAY}/**/rows.parquet")
    with pytest.raises(IntegrityError, match=f"day {DAY} was built without would-KO.*: tcg day build {DAY} --would-ko"):
        LookedDayReader(rows)


def test_the_cache_counts_them_and_gives_them_back_from_every_tier(path: Path, tmp_path: Path) -> None:
    names = (*SCHEMA.by_name, *would_ko.NAMES)
    reader = LookedDayReader(path)
    whole = reader.read_row_group(0, names)
    extra = whole.nbytes() - reader.read_row_group(0, tuple(SCHEMA.by_name)).nbytes()
    looked = [whole[name].nbytes for name in would_ko.NAMES]
    assert extra == sum(looked) + whole.offsets[would_ko.GROUP].nbytes > 0
    spill = Spill(tmp_path / "spill", 1 << 30)
    cache = RowGroupCache((reader, reader), 1, names, spill, memory=lambda: 0.0)
    first = cache.get(0, 0)
    assert cache.counters.bytes == first.nbytes() == whole.nbytes()
    cache.get(1, 0)
    again = cache.get(0, 0)
    assert cache.counters.ssd_hits == 1 and cache.counters.misses == 2
    for found in (first, again):
        assert found.digest() == whole.digest()
    with pytest.raises(Exception, match="no stream of the schema"):
        from_table(to_table(whole, would_ko.MEMORY_SCHEMA))  # a day file can never hold them


def test_a_look_outside_its_row_is_no_batch(path: Path) -> None:
    with LookedDayReader(path) as reader:
        columns = reader.read_row_group(0)
    values = dict(columns.values)
    values[would_ko.OPTION] = values[would_ko.OPTION].copy()
    values[would_ko.OPTION][4] = 99
    with pytest.raises(EncodeError, match=r"episode 8500\d+ game 0 side \d step \d+: would_ko_option is 99, outside the row"):
        collate(Columns(columns.rows, values, columns.offsets), "v1", tables())
    assert set(NEEDED) <= set(SCHEMA.by_name)
