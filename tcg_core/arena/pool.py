"""Runs a schedule in worker processes until every game is accounted for, whatever happens to a worker."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import IO

from tcg_core.arena.errors import ArenaError
from tcg_core.arena.match import Match
from tcg_core.arena.opponents import FOREIGN
from tcg_core.arena.playing import TOGETHER
from tcg_core.arena.results import MatchResult
from tcg_core.arena.schedule import TournamentSchedule
from tcg_core.arena.worker import CURRENT, SCRATCH, Job, game_path, note_path, read_games
from tcg_core.base.atomic import write_json
from tcg_core.base.home import Home
from tcg_core.base.progress import phase
from tcg_core.base.same_code import for_child

_ROOT = Path(__file__).resolve().parent.parent.parent
_POLL = 0.05
#: A game that ended this many workers by itself has no result.
_DEATHS = 2
_KILLED = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


@dataclass
class _Worker:
    process: subprocess.Popen[bytes]
    errors: IO[bytes]
    job: Job
    deaths: dict[int, int] = field(default_factory=dict)


def run_schedule(
    home: Home, schedule: TournamentSchedule, directory: Path, workers: int, title: str = "tournament", only: Sequence[int] = ()
) -> dict[int, MatchResult]:
    """Plays what is missing of ``schedule`` in ``directory`` (where it is stored) and returns all games by index; of the
    games ``only``, if any are named.

    A worker that dies is started again and plays one game at a time; a game that the engine dies of twice is recorded
    without a result. Raises :class:`ArenaError` when a worker refuses its job.
    """
    wanted = list(only) or [game.index for game in schedule.games]
    missing = [index for index in wanted if not game_path(directory, index).is_file()]
    shutil.rmtree(directory / SCRATCH, ignore_errors=True)  # of workers that were killed
    with phase(title, len(wanted), schedule.unit) as advance, contextlib.ExitStack() as stack:
        seen = len(wanted) - len(missing)
        advance(seen)
        running: list[_Worker] = []
        stack.callback(_stop, running)
        for number, indices in enumerate(_shares(schedule, missing, workers)):
            running.append(_start(Job(str(home.root), str(directory), tuple(indices), TOGETHER, f"worker{number}")))
        while running:
            time.sleep(_POLL)
            for worker in list(running):
                if worker.process.poll() is not None:
                    running.remove(worker)
                    again = _ended(schedule, directory, worker)
                    if again is not None:
                        running.append(again)
            count = sum(game_path(directory, index).is_file() for index in wanted)
            advance(count - seen)
            seen = count
    return read_games(directory)


def _shares(schedule: TournamentSchedule, indices: Sequence[int], workers: int) -> list[list[int]]:
    """Missing games by worker, whole pairs together."""
    shares: list[list[int]] = [[] for _ in range(max(1, workers))]
    pairs = sorted({schedule.games[index].pair for index in indices})
    place = {pair: number % len(shares) for number, pair in enumerate(pairs)}
    for index in indices:
        shares[place[schedule.games[index].pair]].append(index)
    return [share for share in shares if share]


def _start(job: Job) -> _Worker:
    path = Path(job.directory) / CURRENT / f"job-{job.name}.json"
    write_json(path, asdict(job))
    errors = tempfile.TemporaryFile()  # noqa: SIM115  # closed with the worker
    environment = os.environ | for_child("tournament") | {"PYTHONPATH": str(_ROOT), "OMP_NUM_THREADS": "1"}
    process = subprocess.Popen(
        [sys.executable, "-m", "tcg_core.arena.worker", str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=errors,
        env=environment,
        start_new_session=True,
    )
    return _Worker(process, errors, job)


def _ended(schedule: TournamentSchedule, directory: Path, worker: _Worker) -> _Worker | None:
    """What to do after a worker ended: nothing, or a cautious one in its place."""
    code, said = worker.process.returncode, _said(worker)
    _release(worker)
    remaining = tuple(index for index in worker.job.indices if not game_path(directory, index).is_file())
    if not remaining:
        return None
    if code == 2:
        raise ArenaError(said or "a match process refused its job")
    deaths = dict(worker.deaths)
    note = note_path(directory, worker.job.name)
    if worker.job.together == 1 and note.is_file():
        index = int(json.loads(note.read_text())["index"])
        deaths[index] = deaths.get(index, 0) + 1
        if deaths[index] >= _DEATHS and index in remaining:
            _record(schedule, directory, index, code, f"the match process ended twice in this game, with code {code}: {said}")
            remaining = tuple(other for other in remaining if other != index)
    elif worker.job.together == 1:
        raise ArenaError(f"a match process ended with code {code} before its first game: {said}")
    if not remaining:
        return None
    started = _start(Job(worker.job.home, worker.job.directory, remaining, 1, worker.job.name))
    started.deaths = deaths
    return started


def _record(schedule: TournamentSchedule, directory: Path, index: int, code: int, detail: str) -> None:
    """The game's result: the engine aborts or faults by itself, but only somebody else kills; an agent that is not ours can."""
    match = Match(schedule, schedule.games[index])
    opponent = schedule.players[schedule.opponent_of(match.game)]
    if -code in _KILLED and opponent.kind == FOREIGN:
        match.killed(detail)
    else:
        match.void("engine", detail)
    assert match.result is not None
    write_json(game_path(directory, index), asdict(match.result))


def _said(worker: _Worker) -> str:
    worker.errors.seek(0)
    lines = worker.errors.read().decode(errors="replace").strip().splitlines()
    return lines[-1][:300] if lines else ""


def _release(worker: _Worker) -> None:
    if worker.process.stdin is not None:
        worker.process.stdin.close()
    worker.errors.close()


def _stop(running: list[_Worker]) -> None:
    for worker in running:
        worker.process.kill()
        worker.process.wait()
        _release(worker)
