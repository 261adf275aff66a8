"""A match process: plays games of a stored schedule and leaves one file a finished game.

Run as ``python -m tcg_core.arena.worker JOB.json``; it ends when its standard input closes, so that it never outlives the
tournament that started it. A file is written whole or not at all: a killed tournament goes on from what is there.
"""

import ctypes
import json
import os
import sys
import threading
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from tcg_core.arena.errors import ArenaError
from tcg_core.arena.playing import play_games
from tcg_core.arena.results import MatchResult
from tcg_core.arena.schedule import ScheduledGame, load_schedule
from tcg_core.base.atomic import write_json
from tcg_core.base.errors import TcgError
from tcg_core.base.home import Home
from tcg_core.base.same_code import require_same
from tcg_core.base.settings import from_dict
from tcg_core.submission.host.child import PR_SET_DUMPABLE

SCHEDULE, GAMES, CURRENT, SCRATCH = "schedule.json", "games", "current", "scratch"


@dataclass(frozen=True)
class Job:
    """What one worker plays: the data home, the tournament's directory, game indices, games in play at once, and the name
    under which it notes the game it is at (one at a time only: it tells which game the engine died of)."""

    home: str
    directory: str
    indices: tuple[int, ...]
    together: int
    name: str


def game_path(directory: Path, index: int) -> Path:
    """Where a finished game is."""
    return directory / GAMES / f"{index:06d}.json"


def note_path(directory: Path, name: str) -> Path:
    """Where a worker notes the game it is at."""
    return directory / CURRENT / f"{name}.json"


def read_games(directory: Path) -> dict[int, MatchResult]:
    """Finished games by index; raises :class:`ArenaError` naming a file that is none."""
    found = {}
    for path in _files(directory / GAMES):
        try:
            game = from_dict(MatchResult, json.loads(path.read_text()))
        except (ValueError, TcgError) as error:
            raise ArenaError(f"{path} is no finished game: {error}; delete it to have the game played again") from None
        found[game.index] = game
    return found


def _files(directory: Path) -> Iterator[Path]:
    yield from sorted(path for path in directory.glob("*.json") if path.stem.isdigit()) if directory.is_dir() else ()


def work(job: Job) -> None:
    """Plays the job's games."""
    directory = Path(job.directory)
    schedule = load_schedule(directory / SCHEDULE)

    def sink(game: MatchResult) -> None:
        write_json(game_path(directory, game.index), asdict(game))

    def starting(game: ScheduledGame) -> None:
        if job.together == 1:
            write_json(note_path(directory, job.name), {"index": game.index})

    scratch = directory / SCRATCH
    scratch.mkdir(exist_ok=True)
    play_games(Home(Path(job.home)), schedule, job.indices, sink, job.together, starting, scratch)


def _die_with_parent() -> None:
    sys.stdin.buffer.read()
    os._exit(1)


def main(path: str) -> None:
    """Reads the job and works; a refusal is one line on standard error and exit code 2. Other processes of this user cannot
    read its memory and environment, where the system offers that."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_DUMPABLE, 0)
    threading.Thread(target=_die_with_parent, daemon=True).start()
    try:
        require_same("tournament")
        work(from_dict(Job, json.loads(Path(path).read_text())))
    except TcgError as error:
        print(error, file=sys.stderr)
        sys.stderr.flush()
        os._exit(2)
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1])
