"""What goes wrong in the season: processes that are killed at a known point, writes that find no room."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil  # type: ignore[import-untyped]

from tcg_core.base.atomic import TEMP_PREFIX
from tcg_core.base.home import Home
from tcg_core.rows.reader import ROWS
from tcg_core.train.runs.pointers import LATEST
from tests.season.deployment import soon

_ROOT = Path(__file__).resolve().parents[2]
#: Bytes that a day's rows, and a checkpoint's weights, exceed; all that is written before them is smaller.
ROOM_FOR_ROWS, ROOM_FOR_A_CHECKPOINT = 10_000, 60_000


def kill_in_the_midst_of_rows(home: Home, day: str, seconds: float) -> int:
    """SIGKILL for the process that writes the rows of ``day``, while it does; returns its id."""
    [half, *_] = soon(lambda: list((home.staging / day).glob(f"{TEMP_PREFIX}*/{ROWS}")), seconds, f"rows of {day} being written")
    pid = int(half.parent.name.removeprefix(TEMP_PREFIX).split("-")[0])
    os.kill(pid, signal.SIGKILL)
    return pid


def kill_trainer_after_a_checkpoint(home: Home, seconds: float) -> str:
    """SIGKILL for the trainer once a run that is not finished has a checkpoint; returns the run."""

    def written() -> list[Path]:
        return [
            path.parent for path in home.checkpoints.glob(f"*/{LATEST}.json") if not (path.parent / "manifest.json").is_file()
        ]

    run: Path
    [run, *_] = soon(written, seconds, "the first checkpoint of a run")
    trainer_of(home, 5.0).kill()
    assert not (run / "manifest.json").is_file(), "the run ended before it could be killed: give it more updates"
    return run.name


def no_room_for_a_checkpoint(home: Home, seconds: float) -> None:
    """Limits the files of the trainer, as soon as it lives, to less than the weights of a checkpoint."""
    trainer = trainer_of(home, seconds)
    _, hard = trainer.rlimit(psutil.RLIMIT_FSIZE)
    trainer.rlimit(psutil.RLIMIT_FSIZE, (ROOM_FOR_A_CHECKPOINT, hard))


def backfill(day: str, *, full_disk: bool) -> subprocess.CompletedProcess[str]:
    """`tcg backfill` of one day, with or without room for its rows."""
    with_room = [sys.executable, "-m", "tcg_assets.cli"]
    without = [sys.executable, "-m", "tests.season.full_disk", str(ROOM_FOR_ROWS)]
    command = [*(without if full_disk else with_room), "backfill", day, day, "--workers", "1"]
    return subprocess.run(command, cwd=_ROOT, check=False, capture_output=True, text=True)


def trainer_of(home: Home, seconds: float) -> psutil.Process:
    """The living trainer of a home."""
    found: psutil.Process = soon(lambda: _trainer(home), seconds, "a trainer")
    return found


def _trainer(home: Home) -> psutil.Process | None:
    for process in psutil.process_iter(["cmdline"]):
        line = process.info["cmdline"] or []
        if "tcg_assets.trainer" in line and str(home.root) in line:
            return process
    return None
