"""The lineage graph of a home, loaded: all that is registered, from the catalog; all that lies there, from the manifests."""

import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tcg_core.base.atomic import is_hidden
from tcg_core.base.errors import IntegrityError
from tcg_core.base.graph import Graph
from tcg_core.base.home import Home
from tcg_core.base.manifest import MANIFEST, Input, Key, Manifest, read_manifest


def registered(connection: sqlite3.Connection) -> Graph:
    """Every registered artifact that was made from something."""
    found: dict[Key, list[Input]] = {}
    for row in connection.execute("SELECT * FROM artifact_inputs ORDER BY kind, id, position"):
        item = Input(row["input_kind"], row["input_id"], row["input_sha256"])
        found.setdefault((row["kind"], row["id"]), []).append(item)
    return Graph({key: tuple(items) for key, items in found.items()})


@dataclass(frozen=True)
class StoredArtifact:
    """Where an artifact lies, and its manifest."""

    path: Path
    manifest: Manifest


@dataclass(frozen=True)
class OnDisk:
    """What lies in a home. unreadable: by the directory's path below the home, what is wrong with the manifest in it."""

    artifacts: dict[Key, StoredArtifact]
    unreadable: dict[str, str]

    @property
    def notes(self) -> tuple[str, ...]:
        """One line for each manifest that cannot be read, whatever it belongs to."""
        return tuple(why for _, why in sorted(self.unreadable.items()))


def on_disk(home: Home) -> OnDisk:
    """All artifacts by their manifests; of two of the same id that of the later path. A staged day is not among them.

    A manifest that cannot be read stops nothing: it is listed, as it may be of something else than what is asked for.
    """
    found = OnDisk({}, {})
    for path in _places(home):
        try:
            manifest = read_manifest(path)
        except IntegrityError as error:
            found.unreadable[path.relative_to(home.root).as_posix()] = str(error)
        else:
            found.artifacts[manifest.key] = StoredArtifact(path, manifest)
    return found


def _places(home: Home) -> Iterator[Path]:
    roots = (
        *(home.days, home.cards, home.ratings, home.plans, home.checkpoints),
        *(home.artifacts, home.submissions, home.tournaments, home.drift),
    )
    for root in roots:
        for path in sorted(root.rglob(MANIFEST)):
            if not any(is_hidden(part) for part in path.relative_to(root).parts):
                yield path.parent
