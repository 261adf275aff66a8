"""`tcg train RUN --again`: a run whose files are damaged is set aside, so that its plan is trained anew."""

from pathlib import Path

from tcg_core.base.atomic import set_aside
from tcg_core.base.errors import IntegrityError, UnknownId
from tcg_core.base.home import Home
from tcg_core.base.manifest import MANIFEST, verify_files
from tcg_core.train.errors import TrainError
from tcg_core.train.lock import trainer_lock
from tcg_core.train.runs import pointers


def set_aside_damaged(home: Home, run: str) -> Path | None:
    """Where the damaged run lies from now on; None if there was none.

    Raises :class:`TrainError` for a run that is whole: hours of work are not repeated because somebody asked, and
    :class:`TrainerBusy` while something trains.
    """
    directory = home.checkpoints / run
    with trainer_lock(home, f"setting aside of run {run}"):
        if not directory.is_dir():
            return None
        if _whole(directory):
            raise TrainError(f"{directory} is as recorded: `tcg train {run}` continues or reuses it")
        return set_aside(directory)


def _whole(directory: Path) -> bool:
    """True for a finished run as its manifest says, and for an unfinished one whose ``latest`` is."""
    try:
        verify_files(directory if (directory / MANIFEST).is_file() else pointers.require(directory, pointers.LATEST))
    except IntegrityError:
        return False
    except UnknownId:
        # A run that died before its first checkpoint holds nothing: the plain command begins it.
        return True
    return True
