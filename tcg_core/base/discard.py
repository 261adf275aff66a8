"""Removes a published directory that is damaged, at once for every reader: renamed first, then deleted."""

import shutil
from pathlib import Path

from tcg_core.base.atomic import temporary_beside


def discard(directory: Path) -> None:
    """Removes ``directory`` and all in it; nothing happens if it is not there."""
    if directory.is_dir():
        aside = temporary_beside(directory)
        directory.rename(aside)
        shutil.rmtree(aside)
