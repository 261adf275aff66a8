"""A write that finds no room says which file it was and leaves nothing of it, made with a file-size limit of the process."""

import errno
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from tcg_core.base.atomic import NotWritten, naming, publishing, write_bytes, write_json
from tcg_core.encode.cards import CardTables
from tcg_core.rows.writer import DayWriter
from tcg_core.train.runs.checkpoint import OPTIMIZER, WEIGHTS, Payload, write_step

ROOM = 2_000
TOO_LARGE = "could not be written: File too large"


@contextmanager
def limited(size: int = ROOM) -> Iterator[None]:
    """Files of this process cannot grow beyond ``size`` bytes; a process may lower and raise its own soft limit."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_file_keeps_what_it_held(tmp_path: Path) -> None:
    target = tmp_path / "latest.json"
    write_json(target, {"step": 1})
    with limited(), pytest.raises(NotWritten, match=f"{target} {TOO_LARGE}"):
        write_bytes(target, b"x" * 2 * ROOM)
    assert target.read_text() == '{\n  "step": 1\n}\n'
    assert [path.name for path in tmp_path.iterdir()] == ["latest.json"]


def test_a_directory_is_published_whole_or_not_at_all(tmp_path: Path) -> None:
    target = tmp_path / "artifact"
    with limited(), pytest.raises(NotWritten, match=f"{target} {TOO_LARGE}"), publishing(target) as directory:
        (directory / "x").write_bytes(b"x" * 2 * ROOM)
    assert list(tmp_path.iterdir()) == []


def test_a_checkpoint_names_the_file_of_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    large, small = ({"leaf": np.zeros(size, np.float32)} for size in (ROOM, 4))
    monkeypatch.setattr("tcg_core.train.runs.checkpoint.join_arrays", lambda weights, tables: weights)
    tables = CardTables.__new__(CardTables)
    run = tmp_path / "run"
    for weights, moments, name in ((large, small, WEIGHTS), (small, large, OPTIMIZER)):
        payload = Payload(weights, tables, moments, {}, {"run": "r", "plan": {}, "arch_config": {}})
        with limited(), pytest.raises(NotWritten, match=f"step_00000003/{name} could not be written: .*File too large"):
            write_step(run / "step_00000003", payload, ())
        assert list(run.iterdir()) == []


def test_the_rows_of_a_day_are_named(tmp_path: Path) -> None:
    with (
        limited(100),
        pytest.raises(NotWritten, match=f"rows.parquet {TOO_LARGE}"),
        DayWriter(tmp_path / "rows.parquet", "2026-08-01"),
    ):
        pass


def test_other_errors_stay_what_they_are(tmp_path: Path) -> None:
    with pytest.raises(PermissionError), naming(tmp_path):
        raise PermissionError(errno.EACCES, "no")
    with pytest.raises(KeyError), naming(tmp_path, ValueError):
        raise KeyError("a")
