"""What dead processes left: temporaries, tournaments half played, checkpoint directories that no pointer names."""

import os
import time
from collections.abc import Iterator
from pathlib import Path

import psutil  # type: ignore[import-untyped]

from tcg_core.base.atomic import ASIDE_PREFIX, TEMP_PREFIX, is_hidden
from tcg_core.base.errors import IntegrityError
from tcg_core.base.home import Home
from tcg_core.base.lock import is_held
from tcg_core.base.manifest import MANIFEST, read_manifest
from tcg_core.ops.listing import unfinished_runs
from tcg_core.train.runs.pointers import pointed

DAY_SECONDS = 86_400.0


def temporaries(root: Path) -> list[Path]:
    """Temporaries whose writer no longer lives; of nested ones the outermost."""
    found: list[Path] = []
    for directory, below, names in os.walk(root):
        for name in sorted(n for n in (*below, *names) if n.startswith(TEMP_PREFIX)):
            owner = name.removeprefix(TEMP_PREFIX).split("-", 1)[0]
            if not (owner.isdigit() and psutil.pid_exists(int(owner))):
                found.append(Path(directory, name))
        below[:] = [name for name in below if not name.startswith(TEMP_PREFIX)]
    return sorted(found)


def set_aside(home: Home, days: float) -> Iterator[tuple[Path, str]]:
    """Damaged directories that a stage set aside and made again, after so many days; with the reason."""
    for path in sorted(path for root in home.root.iterdir() if root.is_dir() for path in root.glob(f"{ASIDE_PREFIX}*")):
        age = max(0.0, time.time() - path.stat().st_ctime) / DAY_SECONDS
        if age >= days:
            yield path, f"it was damaged, and was set aside {age:.0f} days ago"


def half_played(home: Home, idle_days: float) -> Iterator[tuple[Path, str]]:
    """Running tournaments without a living owner: those that were finished, and those idle for so long; with the reason."""
    for path in sorted(home.tournaments.glob("*.running")) if home.tournaments.is_dir() else ():
        if is_held(path / "lock"):
            continue
        idle = idle_for(path)
        if (home.tournaments / path.stem / MANIFEST).is_file():
            yield path, "its tournament is finished"
        elif idle >= idle_days:
            yield path, f"nobody has played it for {idle:.0f} days"


def abandoned_runs(home: Home, idle_days: float) -> Iterator[tuple[Path, str]]:
    """Training runs that have not ended and that nobody continued for so long; with the reason."""
    for path in unfinished_runs(home):
        idle = idle_for(path)
        if idle >= idle_days:
            yield path, f"not finished, and not continued for {idle:.0f} days"


def unpointed_steps(home: Home, referred: set[str]) -> Iterator[Path]:
    """``step_N`` directories that no pointer of their run names, that the run's manifest does not list and that no
    artifact was made from (``referred``: ids ``RUN/step_N`` in the registry)."""
    runs = sorted(p for p in home.checkpoints.iterdir() if p.is_dir()) if home.checkpoints.is_dir() else []
    for run in runs:
        if is_hidden(run.name):
            continue
        try:
            named = pointed(run)
            listed = read_manifest(run).files if (run / MANIFEST).is_file() else {}
        except (IntegrityError, ValueError, KeyError):
            # A run whose pointers cannot be read is for a person to look at.
            continue
        named |= {name.split("/", 1)[0] for name in listed}
        for step in sorted(run.glob("step_*")):
            if step.is_dir() and step.name not in named and f"{run.name}/{step.name}" not in referred:
                yield step


def idle_for(path: Path) -> float:
    """Days since anything in a directory was written."""
    times = [p.stat().st_mtime for p in (path, *path.rglob("*")) if p.exists()]
    return max(0.0, time.time() - max(times)) / DAY_SECONDS
