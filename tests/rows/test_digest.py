"""The hash of logical rows: of the values alone, whatever the file around them looks like."""

from pathlib import Path

import numpy as np
import pyarrow.parquet as parquet
import pytest

from tcg_core.encode.columns import Columns
from tcg_core.encode.digest import RowsDigest, rows_digest
from tcg_core.rows.arrow import file_metadata, to_table
from tcg_core.rows.digest import file_digest
from tcg_core.rows.reader import DayReader
from tcg_core.rows.writer import DayWriter
from tests.days.synthetic import many

DAY = "2026-08-01"


@pytest.fixture(scope="module")
def episodes() -> list[Columns]:
    return many(8)


def written(path: Path, episodes: list[Columns], **options: int) -> DayWriter:
    with DayWriter(path, DAY, **options) as writer:
        for episode in episodes:
            writer.add(episode)
    return writer


def test_the_writer_tells_the_hash_of_what_the_file_holds(tmp_path: Path, episodes: list[Columns]) -> None:
    writer = written(tmp_path / "rows.parquet", episodes)
    assert writer.rows_digest == file_digest(tmp_path / "rows.parquet") == Columns.concatenate(episodes).digest()


def test_row_groups_compression_encoding_and_metadata_do_not_enter(tmp_path: Path, episodes: list[Columns]) -> None:
    whole = written(tmp_path / "whole.parquet", episodes)
    small = written(tmp_path / "small.parquet", episodes, row_group_rows=20)
    assert whole.row_groups < small.row_groups
    table = to_table(Columns.concatenate(episodes)).replace_schema_metadata(file_metadata("another", ["v9"]))
    parquet.write_table(table, tmp_path / "plain.parquet", compression="none", use_dictionary=False, row_group_size=7)
    files = [tmp_path / f"{name}.parquet" for name in ("whole", "small", "plain")]
    assert len({path.read_bytes() for path in files}) == 3
    assert {file_digest(path) for path in files} == {whole.rows_digest}


def test_every_stream_the_order_and_the_lengths_enter(episodes: list[Columns]) -> None:
    whole = Columns.concatenate(episodes)
    digests = {whole.digest(), rows_digest(reversed(episodes)), whole.take(np.arange(whole.rows - 1)).digest()}
    for name, array in whole.values.items():
        changed = array.copy()
        flat = changed.reshape(-1)
        flat[3] = f"{flat[3]}x" if array.dtype == object else not flat[3] if array.dtype == np.bool_ else flat[3] + 1
        digests.add(Columns(whole.rows, {**whole.values, name: changed}, whole.offsets).digest())
    bounds = whole.offsets["option"].copy()
    bounds[5] -= 1
    digests.add(Columns(whole.rows, whole.values, {**whole.offsets, "option": bounds}).digest())
    digests.add(Columns(whole.rows, {**whole.values, "y": whole["y"].astype(np.int32)}, whole.offsets).digest())
    assert len(digests) == 5 + len(whole.values)


def test_a_part_with_other_streams_is_refused_by_name(episodes: list[Columns]) -> None:
    total = RowsDigest()
    total.add(episodes[0])
    other = {name: array for name, array in episodes[1].values.items() if name != "forced"}
    with pytest.raises(ValueError, match="stream forced: absent, before it"):
        total.add(Columns(episodes[1].rows, other, episodes[1].offsets))


def test_a_file_is_read_by_row_group(tmp_path: Path, episodes: list[Columns], monkeypatch: pytest.MonkeyPatch) -> None:
    writer = written(tmp_path / "rows.parquet", episodes, row_group_rows=20)
    monkeypatch.setattr(DayReader, "read", lambda *_: pytest.fail("read whole"))
    assert file_digest(tmp_path / "rows.parquet") == writer.rows_digest
