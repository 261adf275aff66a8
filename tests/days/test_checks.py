"""Each check of a day: passes on rows that keep the rules, and names what was broken."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

from tcg_core.catalog import catalog
from tcg_core.catalog.records import EpisodeRecord
from tcg_core.days.build import build_day
from tcg_core.days.checks.catalogued import catalog_foreign_keys, catalog_id_sets
from tcg_core.days.checks.contract import dtype_contract
from tcg_core.days.checks.coverage import row_coverage
from tcg_core.days.checks.order import lane_order
from tcg_core.days.checks.quarantine import quarantine_fraction
from tcg_core.days.checks.rows import aux_contract, legal_labels, value_ranges
from tcg_core.days.checks.versions import module_versions
from tcg_core.days.layout import read_episodes, write_expected
from tcg_core.days.members import ExpectedLane
from tcg_core.days.staged_checks import staged_checks
from tcg_core.encode.columns import Columns
from tcg_core.encode.schema import GLOBALS, index_of
from tcg_core.rows.arrow import to_table
from tcg_core.rows.reader import ROWS
from tcg_core.rows.writer import DayWriter
from tests.days.conftest import V1
from tests.days.synthetic import many

ROW_CHECKS = (legal_labels, aux_contract, value_ranges, lane_order)


def write(path, columns, row_group_rows=100_000):
    with DayWriter(path, V1, row_group_rows) as writer:
        writer.add(columns)
    return path


@pytest.fixture
def columns():
    return Columns.concatenate(many(4, day=V1))


def altered(columns: Columns, name: str, index: int, value) -> Columns:
    values = dict(columns.values)
    values[name] = values[name].copy()
    values[name][index] = value
    return Columns(columns.rows, values, columns.offsets)


def lanes_of(columns: Columns) -> list[ExpectedLane]:
    lanes = {}
    for row in range(columns.rows):
        key = tuple(int(columns[name][row]) for name in ("episode_id", "game", "side"))
        lanes.setdefault(key, []).append(int(columns["step_id"][row]))
    return [ExpectedLane(*key, len(set(steps)), len(steps), None, None) for key, steps in lanes.items()]


def test_rows_that_keep_the_rules_pass(tmp_path, columns):
    path = write(tmp_path / ROWS, columns)
    write_expected(tmp_path, lanes_of(columns))
    checks = [row_coverage(path, tmp_path / "expected.parquet"), dtype_contract(path, V1), *(check(path) for check in ROW_CHECKS)]
    assert [check.name for check in checks if not check.passed] == []


def test_a_file_without_rows_passes(tmp_path):
    with DayWriter(tmp_path / ROWS, V1):
        pass
    write_expected(tmp_path, [])
    assert [check.name for check in staged_checks(tmp_path, V1, []) if not check.passed] == []


@pytest.mark.parametrize(
    ("keep", "message"),
    [
        (lambda c: np.flatnonzero(c["episode_id"] != 101), r"missing lane \(episode 101, game 0, side 0\)"),
        (
            lambda c: np.flatnonzero((c["episode_id"] != 102) | (c["decision_id"] != 3)),
            r"lane \(episode 102, game 0, side 0\): .* expected",
        ),
        (lambda c: np.insert(np.arange(c.rows), 5, 5), r"doubled lane \(episode 100, game 0, side 0\): 1 rows"),
    ],
)
def test_row_coverage_names_missing_short_and_doubled_lanes(tmp_path, columns, keep, message):
    write_expected(tmp_path, lanes_of(columns))
    path = write(tmp_path / ROWS, columns.take(keep(columns)))
    check = row_coverage(path, tmp_path / "expected.parquet")
    assert not check.passed
    assert __import__("re").search(message, check.message), check.message


def test_row_coverage_names_extra_lanes_and_counters_that_disagree(tmp_path, columns):
    path, lanes = write(tmp_path / ROWS, columns), lanes_of(columns)
    write_expected(tmp_path, lanes[1:])
    assert "extra lane (episode 100, game 0, side 0)" in row_coverage(path, tmp_path / "expected.parquet").message
    write_expected(tmp_path, [replace(lanes[0], plain_decisions=1, plain_rows=1), *lanes[1:]])
    check = row_coverage(path, tmp_path / "expected.parquet")
    assert "episode 100, game 0, side 0): plain json has 1 rows of 1 decisions" in check.message and check.facts["recounted"] == 1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t: t.drop_columns(["aux_ko"]), "column aux_ko is missing"),
        (lambda t: t.append_column("more", t["y"]), "column more is not of the schema"),
        (lambda t: t.set_column(t.column_names.index("y"), "y", t["y"].cast(pa.int32())), "column y is pyarrow.Field<y: int32>"),
        (lambda t: t.select(list(reversed(t.column_names))), "another order"),
    ],
)
def test_dtype_contract_names_the_column(tmp_path, columns, change, message):
    path = write(tmp_path / "good", columns)
    metadata = parquet.read_metadata(path).metadata
    table = change(to_table(columns)).replace_schema_metadata({k: v for k, v in metadata.items() if k.startswith(b"tcg.")})
    parquet.write_table(table, tmp_path / "bad", compression="zstd")
    check = dtype_contract(tmp_path / "bad", V1)
    assert not check.passed and message in check.message


def test_dtype_contract_names_metadata_and_compression(tmp_path, columns):
    path = write(tmp_path / "good", columns)
    assert "metadata tcg.day is '2026-08-15', expected '2026-08-16'" in dtype_contract(path, "2026-08-16").message
    metadata = {k: v for k, v in parquet.read_metadata(path).metadata.items() if k.startswith(b"tcg.")}
    parquet.write_table(to_table(columns).replace_schema_metadata(metadata), tmp_path / "plain", compression="snappy")
    assert "SNAPPY" in dtype_contract(tmp_path / "plain", V1).message


def row_of(columns, **wanted):
    mask = np.ones(columns.rows, bool)
    for name, value in wanted.items():
        mask &= columns[name] == value
    return int(np.flatnonzero(mask)[0])


def test_legal_labels_finds_every_kind_of_illegal_label(tmp_path, columns):
    position = index_of(GLOBALS)
    options = columns.lengths("option")
    single = int(np.flatnonzero(columns["globals"][:, position["max_count"]] == 1)[3])
    second = int(np.flatnonzero((columns["substep"] == 1) & (columns["y"] < options))[0])
    before = int(columns["y"][second - 1])
    for row, label in ((single, options[single]), (single, options[single] + 1), (second, before)):
        check = legal_labels(write(tmp_path / ROWS, altered(columns, "y", row, label)))
        assert (
            check.facts["problems"] == 1
            and f"episode {columns['episode_id'][row]}" in check.message
            and "is illegal" in check.message
        )
    for name in ("picked", "options"):
        broken = altered(columns, "globals", (single, position[name]), 9)
        assert not legal_labels(write(tmp_path / ROWS, broken)).passed


@pytest.mark.parametrize(
    ("stream", "pick", "value", "message"),
    [
        ("aux_valid", lambda c: row_of(c, aux_terminal=1), False, "without a valid window"),
        ("aux_prize_delta", lambda c: row_of(c, decision_id=3), 0.5, "no whole number"),
        ("aux_return", lambda c: row_of(c, aux_terminal=1), 0.0, "is not swing / 6 + outcome"),
        ("aux_ko", lambda c: row_of(c, substep=1), 1, "differ within the decision"),
        ("aux_terminal", lambda c: row_of(c, decision_id=4), 1, "goes on after its last window"),
    ],
)
def test_aux_contract_names_what_is_broken(tmp_path, columns, stream, pick, value, message):
    check = aux_contract(write(tmp_path / ROWS, altered(columns, stream, pick(columns), value)))
    assert not check.passed and message in check.message and "lane (episode 10" in check.message


@pytest.mark.parametrize(
    ("stream", "value"),
    [
        ("aux_return", np.nan),
        ("outcome", 2),
        ("card_count", 0),
        ("card_zone", 99),
        ("option_type", -1),
        ("side", 2),
        ("aux_ko", 3),
    ],
)
def test_value_ranges_names_the_stream(tmp_path, columns, stream, value):
    check = value_ranges(write(tmp_path / ROWS, altered(columns, stream, 7, value)))
    assert not check.passed and check.message.startswith(f"{stream}: 1 values outside")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda c: c.take(np.r_[1, 0, 2 : c.rows]), "out of canonical order"),
        (lambda c: c.take(np.arange(1, c.rows)), "new_episode that is not the lane's start"),
        (lambda c: c.take(np.delete(np.arange(c.rows), row_of(c, decision_id=4))), "does not follow the row before it"),
        (lambda c: altered(c, "step_id", row_of(c, decision_id=5), 0), "out of canonical order"),
        (lambda c: altered(c, "new_episode", 3, True), "new_episode"),
        (lambda c: altered(c, "generation", 3, "v2"), "mixes generations"),
        (lambda c: c.take(np.roll(np.arange(c.rows), c.rows // 2)), "out of canonical order"),
    ],
)
def test_lane_order_names_the_row(tmp_path, columns, change, message):
    check = lane_order(write(tmp_path / ROWS, change(columns)))
    assert not check.passed and message in check.message


def test_lane_order_finds_an_episode_in_two_row_groups(tmp_path, columns):
    with DayWriter(tmp_path / ROWS, V1, row_group_rows=1) as writer:
        writer.add(columns.take(np.arange(10)))
        writer.add(columns.take(np.arange(10, columns.rows)))
    assert "row group 1 begins with episode 100 after episode 100" in lane_order(tmp_path / ROWS).message


def test_quarantine_fraction_counts_against_its_limit():
    records = [EpisodeRecord(f"{i}.json", i, "rows") for i in range(99)] + [
        EpisodeRecord("99.json", 99, "quarantined", "why", "it broke")
    ]
    assert quarantine_fraction(records).passed
    check = quarantine_fraction(records, 0.009)
    assert not check.passed and "1 of 100" in check.message and "1 why; first 99.json: it broke" in check.message


def test_an_unknown_engine_version_warns_and_mixed_ones_are_reported():
    records = [EpisodeRecord(f"{i}.json", i, "rows", module_version="1.32.7") for i in range(4)]
    assert module_versions(records).passed and "4 of 1.32.7" in module_versions(records).message
    later = EpisodeRecord("7.json", 7, "rows", module_version="9.9.9")
    check = module_versions([*records, later, EpisodeRecord("8.json", 8, "quarantined", "why", "it broke")])
    assert not check.passed and not check.blocks
    assert (
        "unknown version 9.9.9, as in 7.json" in check.message
        and "2 versions in one day, the change is at 7.json" in check.message
    )
    mixed = module_versions([*records, EpisodeRecord("7.json", 7, "rows", module_version="1.32.6")])
    assert not mixed.passed and mixed.facts["unknown"] == [] and "the change is at 7.json" in mixed.message


def test_one_damaged_byte_anywhere_fails_a_check_or_the_manifest(staged):
    directory = build_day(staged, V1).path
    records, _ = read_episodes(directory)
    good = (directory / ROWS).read_bytes()
    fired = set()
    for position in np.linspace(4, len(good) - 5, 24).astype(int):
        bad = bytearray(good)
        bad[position] ^= 0xFF
        (directory / ROWS).write_bytes(bad)
        fired |= {check.name for check in staged_checks(directory, V1, records) if not check.passed}
    assert fired, "a damaged byte was never seen by a check"
    (directory / ROWS).write_bytes(good)
    assert all(check.passed for check in staged_checks(directory, V1, records))


def test_the_catalog_checks_compare_both_ways(staged):
    with catalog(staged) as connection:
        names = [row["member"] for row in connection.execute("SELECT member FROM episodes")]
        assert catalog_id_sets(connection, V1, names).passed and catalog_foreign_keys(connection, V1).passed
        check = catalog_id_sets(connection, V1, [*names[1:], "5.json"])
        assert "only in the archive: 5.json" in check.message and f"only in the catalog: {names[0]}" in check.message
        connection.execute("PRAGMA foreign_keys = OFF")
        for statement, message in (
            ("DELETE FROM participants WHERE side = 0 AND episode_id = 85000001", "without two participants"),
            ("DELETE FROM agents WHERE name = 'random'", "participants of no agent"),
            ("DELETE FROM decks", "participants of no deck"),
            ("DELETE FROM episodes WHERE episode_id = 85000002", "1 games"),
            ("DELETE FROM days", "episodes of no day"),
        ):
            connection.execute(statement)
            assert message in catalog_foreign_keys(connection, V1).message
