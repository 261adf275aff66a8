"""What of a data home goes into a backup, and which hashes are known before a file is read."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tcg_core.base.atomic import is_hidden
from tcg_core.base.errors import IntegrityError
from tcg_core.base.home import Home
from tcg_core.base.manifest import MANIFEST, read_manifest

#: Written anew by whoever starts Dagster, with this machine's paths.
_DAGSTER_CONFIG = "dagster/dagster.yaml"
_CACHE = "cache/"
_BESIDE_DATABASES = ("-wal", "-shm", "-journal")
RESTORING = ".restoring.json"


@dataclass(frozen=True)
class Listing:
    """Paths relative to the home, sorted. ``runs``: training runs that have not ended; they change while they are copied."""

    databases: tuple[str, ...]
    files: tuple[str, ...]
    runs: tuple[str, ...]


def list_home(home: Home) -> Listing:
    """Everything but temporaries, what was set aside, locks, caches, SQLite's side files and Dagster's written configuration."""
    runs = tuple(sorted(_below(home, run) for run in unfinished_runs(home)))
    databases, files = [], []
    for path in walk(home.root):
        name = _below(home, path)
        if name.startswith(tuple(f"{run}/" for run in runs)):
            continue
        if is_database(path):
            databases.append(name)
        elif wanted(name):
            files.append(name)
    return Listing(tuple(sorted(databases)), tuple(sorted(files)), runs)


def unfinished_runs(home: Home) -> list[Path]:
    """Directories of training runs without a manifest: running, or killed and to be continued."""
    if not home.checkpoints.is_dir():
        return []
    found = (p for p in home.checkpoints.iterdir() if p.is_dir() and not is_hidden(p.name))
    return sorted(path for path in found if not (path / MANIFEST).is_file())


def walk(root: Path) -> Iterator[Path]:
    """Files below ``root`` that are neither temporaries nor set aside. What goes while it is walked is left out."""
    for directory, below, names in os.walk(root):
        below[:] = sorted(name for name in below if not is_hidden(name))
        for name in sorted(names):
            path = Path(directory, name)
            if not is_hidden(name) and path.is_file():
                yield path


def size(path: Path) -> int:
    """Bytes of a file or of all files below a directory."""
    files = path.rglob("*") if path.is_dir() else (path,)
    return sum(file.stat().st_size for file in files if file.is_file())


def wanted(name: str) -> bool:
    """False for what must not travel, and for what is made again when it is missing."""
    last = name.rsplit("/", 1)[-1]
    return not (
        name in (_DAGSTER_CONFIG, RESTORING)
        or name.startswith(_CACHE)
        or last == "lock"
        or last.endswith((".lock", *_BESIDE_DATABASES))
    )


def is_database(path: Path) -> bool:
    """SQLite's, by name; the catalog and Dagster's storage have no others."""
    return path.name.endswith((".sqlite", ".db"))


def known_hashes(root: Path) -> dict[str, str]:
    """SHA-256 by path relative to ``root``, of all files whose manifest or name tells it."""
    known: dict[str, str] = {}
    for file in walk(root):
        if file.name == MANIFEST:
            try:
                manifest = read_manifest(file.parent)
            except IntegrityError:
                continue
            base = file.parent.relative_to(root)
            known |= {(base / name).as_posix(): sha256 for name, sha256 in manifest.files.items()}
        elif file.suffix == ".zip" and len(file.stem) == 64 and file.parent.parent.name == "archives":
            known[file.relative_to(root).as_posix()] = file.stem
    return known


def _below(home: Home, path: Path) -> str:
    return path.relative_to(home.root).as_posix()
