"""A message that is met half written is waited for, and does not end the reader."""

import json
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest
from dagster._utils import tail_file

from tcg_assets.definitions import defs
from tcg_assets.trainer.messages import WholeLineReader, whole_lines

LONG = json.dumps({"built": "x" * 9000})


def test_a_half_written_line_is_read_when_it_is_whole(tmp_path: Path) -> None:
    path, over, found = tmp_path / "messages", Event(), []
    path.touch()
    reader = Thread(target=lambda: found.extend(whole_lines(path, over.is_set)))
    reader.start()
    with path.open("a") as stream:
        stream.write(LONG[:4096])
        stream.flush()
        assert not over.wait(0.2)
        assert found == []
        stream.write(LONG[4096:] + "\n" + LONG + "\n")
    over.set()
    reader.join(timeout=10)
    assert found == [LONG, LONG]


def test_dagsters_own_tail_hands_out_halves(tmp_path: Path) -> None:
    """The reason for a reader of our own: remove it when this fails."""
    path = tmp_path / "messages"
    path.write_text(LONG[:4096])
    assert next(iter(tail_file(str(path), lambda: True))) == LONG[:4096]


class _Handler:
    def __init__(self) -> None:
        self.messages: list[Any] = []
        self.errors: list[str] = []

    def handle_message(self, message: Any) -> None:
        self.messages.append(message)

    def report_pipes_framework_exception(self, origin: str, exc_info: Any) -> None:
        self.errors.append(origin)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_line_that_is_no_message_is_told() -> None:
    handler = _Handler()
    with WholeLineReader().read_messages(handler) as told, Path(told["path"]).open("a") as stream:
        stream.write('{"method": "log"}\nnot JSON\n')
    assert handler.messages == [{"method": "log"}]
    assert handler.errors == ["WholeLineReader"]


def test_the_trainer_is_read_so() -> None:
    assert isinstance(defs.resources["trainer"].message_reader, WholeLineReader)
