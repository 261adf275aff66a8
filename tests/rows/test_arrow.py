import numpy as np
import pyarrow as pa
import pytest

from tcg_core.base.errors import IntegrityError
from tcg_core.encode.columns import Columns
from tcg_core.encode.schema import SCHEMA
from tcg_core.rows.arrow import ARROW_SCHEMA, arrow_schema, from_table, to_table
from tcg_core.rows.cache import RowGroupCache
from tcg_core.rows.errors import SchemaMismatch
from tcg_core.rows.reader import DayReader
from tcg_core.rows.writer import DayWriter
from tests.days.synthetic import episode, many


def write(path, episodes, **options):
    with DayWriter(path, "2026-08-01", **options) as writer:
        for one in episodes:
            writer.add(one)
    return path


def same(a: Columns, b: Columns) -> bool:
    assert a.rows == b.rows and set(a.values) == set(b.values) and set(a.offsets) == set(b.offsets)
    assert all(np.array_equal(a.offsets[g], b.offsets[g]) for g in a.offsets)
    for name in a.values:
        assert a[name].dtype == b[name].dtype and np.array_equal(a[name], b[name]), name
    return True


def test_every_stream_has_an_explicit_type():
    assert ARROW_SCHEMA.names == list(SCHEMA.by_name)
    assert not any(field.nullable or pa.types.is_null(field.type) for field in ARROW_SCHEMA)


def test_rows_survive_arrow():
    columns = episode(1, 5)
    assert same(from_table(to_table(columns)), columns)
    part = Columns(columns.rows, {"y": columns["y"], "card_id": columns["card_id"]}, {"card": columns.offsets["card"]})
    assert same(from_table(to_table(part)), part)


def test_a_table_of_several_chunks_is_read():
    parts = many(3)
    assert same(from_table(pa.concat_tables([to_table(part) for part in parts])), Columns.concatenate(parts))
    sliced = to_table(parts[0]).slice(4, 6)
    assert same(from_table(sliced), parts[0].take(np.arange(4, 10)))


def test_rows_survive_the_disk_in_row_groups_of_whole_episodes(tmp_path):
    episodes = many(30)
    reader = DayReader(write(tmp_path / "rows.parquet", episodes, row_group_rows=100))
    everything = Columns.concatenate(episodes)
    assert reader.rows == everything.rows and same(reader.read(), everything)
    assert len(reader.row_groups) > 4 and reader.row_groups[1][0] == reader.row_groups[0][1]
    assert reader.generation == "v1" and reader.arrow_schema == ARROW_SCHEMA
    held = [set(batch["episode_id"]) for batch in reader.batches(["episode_id"])]
    assert sum(len(ids) for ids in held) == 30
    number = 2
    first, rows = reader.row_groups[number]
    assert same(reader.read_row_group(number), everything.take(np.arange(first, first + rows)))
    assert list(reader.read_row_group(0, ["y", "episode_id"]).values) == ["episode_id", "y"]


def test_a_row_group_is_of_one_generation(tmp_path):
    reader = DayReader(
        write(tmp_path / "r.parquet", [episode(1, 1), episode(2, 2, generation="v2"), episode(3, 3, generation="v2")])
    )
    assert [set(b["generation"]) for b in reader.batches(["generation"])] == [{"v1"}, {"v2"}]
    assert reader.generations == ("v1", "v2")
    with pytest.raises(SchemaMismatch, match="expected one"):
        _ = reader.generation


def test_the_same_rows_give_the_same_bytes(tmp_path):
    assert write(tmp_path / "a", many(5)).read_bytes() == write(tmp_path / "b", many(5)).read_bytes()


def test_an_empty_day_keeps_its_types(tmp_path):
    reader = DayReader(write(tmp_path / "rows.parquet", []))
    assert (reader.rows, reader.row_groups, reader.generations) == (0, [], ())
    assert reader.arrow_schema == ARROW_SCHEMA and reader.read().rows == 0


def test_a_column_with_one_value_all_day_keeps_its_type_and_days_concatenate(tmp_path):
    a = DayReader(write(tmp_path / "a", many(2)))
    b = DayReader(write(tmp_path / "b", many(2, first_id=900)))
    assert a.arrow_schema.field("aux_ko").type == pa.int8()
    assert Columns.concatenate([a.read(), b.read()]).rows == a.rows + b.rows


def test_what_is_not_of_the_schema_is_refused_by_name(tmp_path):
    table = to_table(episode(1, 5))
    with pytest.raises(SchemaMismatch, match=r"column y is int32, expected int16"):
        from_table(table.set_column(table.column_names.index("y"), "y", table["y"].cast(pa.int32())))
    with pytest.raises(SchemaMismatch, match="column extra"):
        from_table(table.append_column("extra", table["y"]))
    with pytest.raises(SchemaMismatch, match="there is no stream z"):
        arrow_schema(streams=["z"])
    short = table["card_id"].chunk(0)
    shorter = pa.ListArray.from_arrays(pa.array(np.maximum(short.offsets.to_numpy() - 1, 0)), short.values, type=short.type)
    with pytest.raises(SchemaMismatch, match="card_id: list lengths differ"):
        from_table(table.set_column(table.column_names.index("card_id"), "card_id", shorter))


def test_another_schema_digest_is_refused_by_name(tmp_path, monkeypatch):
    path = write(tmp_path / "rows.parquet", many(1))
    monkeypatch.setitem(SCHEMA.__dict__, "digest", "f" * 64)
    with pytest.raises(SchemaMismatch, match=r"rows.parquet has schema .* this code ffffffffffff"):
        DayReader(path)


def test_a_file_that_is_no_parquet_is_named(tmp_path):
    (tmp_path / "rows.parquet").write_bytes(b"PAR1 nothing")
    with pytest.raises(IntegrityError, match=r"rows.parquet cannot be read"):
        DayReader(tmp_path)


def test_the_cache_holds_what_fits_and_counts(tmp_path):
    reader = DayReader(write(tmp_path / "rows.parquet", many(30), row_group_rows=100))
    sizes = [batch.nbytes() for batch in reader.batches()]
    cache = RowGroupCache([reader], budget_bytes=sizes[0] + sizes[1])
    cache.get(0, 0), cache.get(0, 1), cache.get(0, 0), cache.get(0, 2)
    assert (cache.counters.hits, cache.counters.misses) == (1, 3)
    assert cache.counters.peak_bytes <= sizes[0] + sizes[1] and cache.counters.evictions >= 1
    assert cache.get(0, 2) is cache.get(0, 2)
    tiny = RowGroupCache([reader], budget_bytes=1)
    assert tiny.get(0, 0) is tiny.get(0, 0) and tiny.counters.hit_rate == 0.5
