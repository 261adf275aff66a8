"""Which code the running Dagster services have loaded: each code server notes it, and whoever looks compares it with the disk."""

import json
import os
from collections.abc import Iterator
from pathlib import Path

import psutil  # type: ignore[import-untyped]  # no stubs are pinned

from tcg_core.base.atomic import write_json
from tcg_core.base.code import PRODUCERS, code_version
from tcg_core.base.home import Home
from tcg_core.base.same_code import CodeChanged, versions_on_disk


def announce(home: Home) -> None:
    """Notes this process as a code server: its process id, when it began, and the code versions that it serves."""
    versions = {asset: code_version(asset) for asset in PRODUCERS}
    began = psutil.Process().create_time()
    write_json(_notes(home) / f"{os.getpid()}.json", {"began": began, "versions": versions})


def outdated(home: Home) -> list[CodeChanged]:
    """The living code servers whose code is not that on disk, by process id. Notes of dead ones are removed."""
    return [CodeChanged(pid) for pid, versions in _living(home) if versions != versions_on_disk()]


def _living(home: Home) -> Iterator[tuple[int, dict[str, str]]]:
    for note in sorted(_notes(home).glob("*.json")):
        values, pid = json.loads(note.read_text()), int(note.stem)
        try:
            alive = psutil.Process(pid).create_time() == values["began"]
        except psutil.NoSuchProcess:
            alive = False
        if alive:
            yield pid, values["versions"]
        else:
            note.unlink(missing_ok=True)


def _notes(home: Home) -> Path:
    return home.dagster / "code_servers"
