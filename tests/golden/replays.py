"""The golden replays, read once: real games of both engine generations, best of one and best of three."""

import functools
import json
from pathlib import Path
from typing import Any, NamedTuple

from tcg_core.replay.archive import open_archive
from tcg_core.replay.episode import Episode, parse_episode

HERE = Path(__file__).resolve().parent
ARCHIVES = tuple(sorted(HERE.glob("*.zip")))


class Replay(NamedTuple):
    """One golden member: its archive's day, its name, its bytes."""

    day: str
    name: str
    data: bytes

    def document(self) -> Any:
        """A fresh copy of the JSON, to be changed at will."""
        return json.loads(self.data)

    def episode(self) -> Episode:
        """The parsed episode, shared: do not change its observations."""
        return _episode(self)


@functools.cache
def replays() -> tuple[Replay, ...]:
    """All golden replays in order of day and episode."""
    found = []
    for path in ARCHIVES:
        with open_archive(path) as archive:
            found += [Replay(path.stem, member.name, archive.read(member)) for member in archive.members]
    return tuple(found)


def replay(episode: int) -> Replay:
    """The golden replay of one episode id."""
    return next(item for item in replays() if item.name == f"{episode}.json")


@functools.cache
def _episode(item: Replay) -> Episode:
    return parse_episode(item.data, item.name)


def answer(document: Any, t: int, side: int, action: Any, picks: list[int]) -> None:
    """Writes another answer to steps[t] of seat ``side``, and the ``picks`` that the engine makes of it, into the frames too."""
    game = (document["steps"][t][side]["observation"]["current"].get("round") or 1) - 1
    document["steps"][t + 1][side]["action"] = action
    document["steps"][0][0]["visualize"][t + game]["selected"] = picks


def cut_in_game_3(document: Any) -> None:
    """Makes a best of three at one game each end in its third game after six decisions, as a match that Kaggle's clock ends."""
    steps = document["steps"]
    third = next(t for t, step in enumerate(steps) if t > 1 and step[0]["observation"]["current"]["round"] == 3)
    del steps[third + 6 : -1], steps[0][0]["visualize"]
    steps[-1][0]["observation"]["step"] = len(steps) - 1
    for before, after in zip(steps[-2], steps[-1], strict=True):
        after["action"] = [0] if before["status"] == "ACTIVE" else []
    document["rewards"] = [0, 0]


def dumps(document: Any) -> bytes:
    """A changed document as replay bytes."""
    return json.dumps(document).encode()
