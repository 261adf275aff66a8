"""Members that the day takes in spite of an oddity, or sets aside, are no trouble when the day is looked ahead."""

import zipfile
from pathlib import Path
from typing import Any

import pyarrow.parquet as parquet
import pytest

from tcg_core.base.home import Home
from tcg_core.base.same_code import VARIABLE, for_child
from tcg_core.days.build import build_day
from tcg_core.days.take import take_archive
from tcg_core.lookahead import worker
from tests.days.replays import changed, put, renamed
from tests.lookahead.looked import SETTINGS
from tests.replay.test_mutations import SMALL, trimmed

DAY = "2026-03-01"


def test_odd_members_are_looked_ahead_and_those_set_aside_are_not(home: Home) -> None:
    def no_blobs(replay: dict[str, Any]) -> None:
        for step in replay["steps"]:
            for entry in step:
                entry["observation"]["search_begin_input"] = 5

    def cannot_be_encoded(replay: dict[str, Any]) -> None:
        for entry in replay["steps"][5]:
            select = entry["observation"]["select"]
            if entry["status"] == "ACTIVE":
                select["option"] = [{"type": 7, "index": 99}] * len(select["option"])

    data = {number: renamed(trimmed(SMALL[0]), number) for number in range(1, 6)}
    content = {
        "1.json": b"\xef\xbb\xbf" + data[1],
        "2.json": rb'{"more": "\ud800", ' + data[2].lstrip()[1:],
        "3.json": changed(data[3], no_blobs),
        "4.json": changed(data[4], cannot_be_encoded),
        "5.json": data[5][:1000],
    }
    put(home, DAY, content)
    take_archive(home, DAY)
    day = build_day(home, DAY, max_quarantine_frac=1.0, would_ko=SETTINGS)
    assert day.passed and day.facts["episodes"] == 3 and day.facts["quarantined"] == {"broken_json": 1, "encode": 1}
    rows = parquet.read_table(day.path / "would_ko.parquet").to_pylist()
    looked = {id: [row["samples"] > 0 for row in rows if row["episode_id"] == id] for id in range(1, 6)}
    assert looked[1] and all(looked[1]) and len(looked[1]) == len(looked[2]) == len(looked[3])
    assert all(looked[2]) and not any(looked[3]) and not looked[4] and not looked[5]


def test_an_error_of_this_code_names_the_member(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "day.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("7.json", trimmed(SMALL[0]))

    class Pipe:
        def __init__(self) -> None:
            self.sent: list[Any] = []

        def recv(self) -> Any:
            return 0, frozenset()

        def send(self, value: Any) -> None:
            self.sent.append(value)

    def fails(*arguments: Any) -> Any:
        raise KeyError("nobody foresaw this")

    monkeypatch.setattr(worker, "_member", fails)
    pipe = Pipe()
    worker.serve(pipe, path, (), SETTINGS, for_child("would_ko")[VARIABLE])  # type: ignore[arg-type]
    text = "7.json: KeyError: 'nobody foresaw this'; this is an error of this code"
    assert pipe.sent == [("refused", text)]
