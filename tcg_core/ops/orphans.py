"""Directories that no row of the catalog names: what a crash between publishing and registering leaves."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from tcg_core.base.atomic import is_hidden
from tcg_core.base.errors import IntegrityError
from tcg_core.base.home import Home
from tcg_core.base.manifest import MANIFEST, Input, Key, read_manifest, verify_files
from tcg_core.catalog.datasets import DatasetRow
from tcg_core.catalog.registry import Registered


@dataclass(frozen=True)
class Orphan:
    """manifest_key: kind and id by its manifest, None without one; inputs: what it was made from; day: of a day's
    directory, else ""; awaited: the catalog knows such a build of the day; twin: the registry has this very id elsewhere;
    problem: what is wrong with it."""

    path: Path
    manifest_key: Key | None
    inputs: tuple[Input, ...]
    day: str
    awaited: bool
    twin: bool
    problem: str

    @property
    def intact(self) -> bool:
        """True if it is what its manifest says."""
        return self.manifest_key is not None and not self.problem.startswith("damaged")


def find(home: Home, rows: Iterable[Registered], datasets: Iterable[DatasetRow]) -> Iterator[Orphan]:
    """All orphans, by path. A training run without manifest is none: it has not ended."""
    builds, where = list(datasets), {(row.kind, row.id): row.path for row in rows}
    known = set(where.values()) | {home.root / row.path for row in builds}
    awaited = {row.dataset_id for row in builds if row.state in ("staged", "validated")}
    for path, day in places(home):
        if path in known or is_hidden(path.name) or path.suffix == ".running":
            continue
        if not (path / MANIFEST).is_file():
            if path.parent != home.checkpoints:
                yield Orphan(path, None, (), day, False, False, "no manifest")
            continue
        try:
            manifest = read_manifest(path)
        except IntegrityError as error:
            yield Orphan(path, ("unreadable", path.name), (), day, False, False, f"damaged: {error}")
            continue
        try:
            verify_files(path)
            problem = "not registered"
        except IntegrityError as error:
            problem = f"damaged: {error}"
        key = manifest.key
        twin = key in where and where[key] != path and where[key].exists()
        yield Orphan(path, key, manifest.inputs, day, manifest.id in awaited, twin, problem)


def places(home: Home) -> Iterator[tuple[Path, str]]:
    """Directories where artifacts lie, with the day of those that belong to one, temporaries among them."""
    for root in (home.cards, home.plans, home.checkpoints, home.artifacts, home.submissions, home.tournaments, home.ratings):
        yield from ((path, "") for path in sorted(root.glob("*")) if path.is_dir())
    yield from ((path, "") for path in sorted(home.drift.glob("*/*")) if path.is_dir())
    for root in (home.staging, home.days):
        yield from ((path, path.parent.name) for path in sorted(root.glob("*/*")) if path.is_dir())
