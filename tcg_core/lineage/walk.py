"""From a submission back to the days and code that made it, and from a day forward: walking the manifests."""

import json
import tarfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tcg_core.base.atomic import sha256_file
from tcg_core.base.errors import IntegrityError, TcgError, UnknownId
from tcg_core.base.home import Home, parse_day
from tcg_core.base.manifest import MANIFEST, Input, Manifest, read_manifest, verify_files
from tcg_core.catalog.connection import catalog
from tcg_core.catalog.datasets import DatasetRow, datasets_of
from tcg_core.catalog.kinds import DAY, STAGED
from tcg_core.catalog.registry import find, latest_passed, rows_of
from tcg_core.lineage.days import DayMark, Key, changed_days, inputs_of_all, marks, promotions
from tcg_core.lineage.imported import recorded_elsewhere


@dataclass(frozen=True)
class Node:
    """One artifact of a chain. state: "intact" (every hash on disk is the recorded one), "as recorded" (listed in a
    verified manifest or in the catalog, not itself a directory), "missing" or what differs. note: what a person should know of
    it, as that it was built from a day that was superseded since."""

    depth: int
    kind: str
    id: str
    state: str
    where: str
    note: str = ""


def walk_back(home: Home, path: Path | None) -> list[Node]:
    """The chain behind a submission archive, an artifact directory or, with None, the latest submission."""
    directory = _directory_of(home, path)
    places = {(manifest.kind, manifest.id): where for where, manifest in _all_manifests(home)}
    with catalog(home) as connection:
        changed = changed_days(connection)
    return list(_back(home, places, changed, directory, None, 0, set()))


def walk_forward(home: Home, day: str) -> list[Node]:
    """Everything built from a day, from the catalog's inputs of artifacts: each build of the day, and below it plans,
    checkpoints, artifacts, submissions, tournaments, and whether a submission was promoted. What is on disk is hashed.

    ``note`` says what is built from a day that changed since. Raises :class:`UnknownId` for a day that was never built.
    """
    parse_day(day)
    with catalog(home) as connection:
        datasets = datasets_of(connection, day)
        inputs = inputs_of_all(connection)
        promoted = promotions(connection)
    if not datasets:
        raise UnknownId(f"day {day} has no dataset in the catalog: it was never built")
    known = {(row.kind, row.id): row.path for row in rows_of(home)}
    users: dict[Key, list[Key]] = {}
    for key, edges in inputs.items():
        for edge in edges:
            users.setdefault(edge.source, []).append(key)
    forward = _Forward(known, users, marks(home), promoted)
    for dataset in datasets:
        node = _dataset_node(home, dataset)
        forward.nodes.append(node)
        forward.below((DAY, dataset.dataset_id), 1)
    return forward.nodes


def _dataset_node(home: Home, dataset: DatasetRow) -> Node:
    path = home.root / dataset.path
    gone = "as recorded" if dataset.state in ("superseded", "failed") else "missing"
    state = _state(path) if path.is_dir() else gone
    reason = f": {dataset.reason}" if dataset.reason else ""
    note = f"{dataset.state}{reason}" + ("" if path.is_dir() else "; its files are gone")
    return Node(0, STAGED if dataset.state in ("staged", "failed") else DAY, dataset.dataset_id, state, str(path), note)


@dataclass
class _Forward:
    """One walk: where artifacts are, what is made from each, what marks them, and the nodes found so far."""

    known: dict[Key, Path]
    users: dict[Key, list[Key]]
    marks: dict[Key, tuple[DayMark, ...]]
    promoted: list[str]
    nodes: list[Node] = field(default_factory=list)
    seen: set[Key] = field(default_factory=set)

    def below(self, key: Key, depth: int) -> None:
        for user in self.users.get(key, ()):
            if user in self.seen:
                continue
            self.seen.add(user)
            kind, id = user
            path = self.known[user]
            note = "; ".join(str(mark) for mark in self.marks.get(user, ()))
            self.nodes.append(Node(depth, kind, id, _state(path) if path.exists() else "missing", str(path), note))
            if kind == "submission" and id in self.promoted:
                reigns = "reigns" if self.promoted[-1] == id else "was promoted, another reigns"
                self.nodes.append(Node(depth + 1, "champion", id, "as recorded", reigns, note))
            self.below(user, depth + 1)


def _back(
    home: Home,
    places: Mapping[Key, Path],
    changed: Mapping[str, DayMark],
    directory: Path,
    expected: Input | None,
    depth: int,
    seen: set[str],
) -> Iterator[Node]:
    manifest = read_manifest(directory)
    state = _state(directory)
    if state == "intact" and expected and expected.sha256 != manifest.content:
        state = f"changed: expected content {expected.sha256[:12]}, found {manifest.content[:12]}"
    note = str(changed[manifest.id].why) if manifest.kind == DAY and manifest.id in changed else ""
    yield Node(depth, manifest.kind, manifest.id, state, str(directory), note)
    for item in manifest.inputs:
        key = f"{item.kind}:{item.id}"
        if key in seen:
            continue
        seen.add(key)
        if item.kind == "day_archive":
            yield _archive_node(home, item, depth + 1)
            continue
        where = places.get((item.kind, item.id))
        if where is None:
            yield from _elsewhere(home, item, depth + 1, seen)
        else:
            yield from _back(home, places, changed, where, item, depth + 1, seen)


def _elsewhere(home: Home, item: Input, depth: int, seen: set[str]) -> Iterator[Node]:
    """What is not here: missing, or, of a run that was brought in, recorded by its manifest, down to the archives."""
    manifest, source = recorded_elsewhere(home).get((item.kind, item.id), (None, ""))
    if manifest is None or manifest.content != item.sha256:
        yield Node(depth, item.kind, item.id, "missing", "")
        return
    yield Node(depth, item.kind, item.id, "as recorded", f"in {source}", "brought in without it")
    for below in manifest.inputs:
        if f"{below.kind}:{below.id}" not in seen:
            seen.add(f"{below.kind}:{below.id}")
            here = _archive_node(home, below, depth + 1)
            yield here if here.state == "intact" else Node(depth + 1, below.kind, below.id, "as recorded", f"in {source}")


def _archive_node(home: Home, item: Input, depth: int) -> Node:
    found = sorted(home.archives.glob(f"*/{item.sha256}.zip"))
    if not found:
        return Node(depth, item.kind, item.id, "missing", f"{home.archives}/*/{item.sha256[:12]}….zip")
    actual = sha256_file(found[0])
    state = "intact" if actual == item.sha256 else f"changed: expected {item.sha256[:12]}, found {actual[:12]}"
    return Node(depth, item.kind, item.id, state, str(found[0]))


def _state(directory: Path) -> str:
    try:
        verify_files(directory)
    except IntegrityError as error:
        return f"changed: {error}"
    return "intact"


def locate(home: Home, kind: str, id: str) -> Path:
    """The directory of an artifact by kind and id, found by its manifest; raises :class:`UnknownId`."""
    for where, manifest in _all_manifests(home):
        if (manifest.kind, manifest.id) == (kind, id):
            return where
    raise UnknownId(f"no {kind} {id} under {home.root}")


def _all_manifests(home: Home) -> Iterator[tuple[Path, Manifest]]:
    roots = (
        *(home.days, home.cards, home.ratings, home.plans, home.checkpoints),
        *(home.artifacts, home.submissions, home.tournaments, home.drift),
    )
    for root in roots:
        for path in sorted(root.rglob(MANIFEST)):
            if not any(part.startswith(".tmp-") for part in path.parts):
                yield path.parent, read_manifest(path.parent)


def _directory_of(home: Home, path: Path | None) -> Path:
    if path is None:
        return find(home, "submission", latest_passed(home, "submission"))
    if path.is_dir():
        return path
    if not path.is_file():
        raise UnknownId(f"{path}: no such file")
    try:
        with tarfile.open(path) as archive:
            member = archive.extractfile(MANIFEST)
            values = json.loads(member.read()) if member else {}
        return locate(home, "submission", values["id"])
    except (tarfile.TarError, KeyError, ValueError) as error:
        raise TcgError(f"{path} is not a submission of this project: {error}") from None
