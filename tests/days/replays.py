"""Archives made of the golden replays, with one thing changed."""

import json
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tcg_core.base.home import Home
from tests.days.conftest import GOLDEN, V1


def members(day: str = V1) -> dict[str, bytes]:
    with zipfile.ZipFile(GOLDEN / f"{day}.zip") as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def put(home: Home, day: str, content: Mapping[str, bytes]) -> Path:
    """Writes an archive of these members into the inbox."""
    path = home.inbox / f"{day}.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in content.items():
            archive.writestr(name, data)
    return path


def changed(data: bytes, change: Callable[[dict[str, Any]], None]) -> bytes:
    replay = json.loads(data)
    change(replay)
    return json.dumps(replay).encode()


def renamed(data: bytes, episode_id: int) -> bytes:
    """The same game under another id."""
    return changed(data, lambda replay: replay["info"].update(EpisodeId=episode_id))
