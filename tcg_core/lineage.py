"""From a submission back to the days and code that made it, and from a day forward: walking the manifests."""

import json
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tcg_core.atomic import sha256_file
from tcg_core.errors import IntegrityError, TcgError, UnknownId
from tcg_core.home import Home, parse_day
from tcg_core.provenance import MANIFEST, Input, Manifest, read_manifest, verify_files


@dataclass(frozen=True)
class Node:
    """One artifact of a chain. state: "intact" (every hash on disk is the recorded one), "as recorded" (listed in a
    verified manifest, not itself a directory), "missing" or what differs."""

    depth: int
    kind: str
    id: str
    state: str
    where: str


def walk_back(home: Home, path: Path | None) -> list[Node]:
    """The chain behind a submission archive, an artifact directory or, with None, the latest submission."""
    directory = _directory_of(home, path)
    return list(_back(home, directory, None, 0, set()))


def walk_forward(home: Home, day: str) -> list[Node]:
    """Everything built from a day, found through the manifests on disk."""
    parse_day(day)
    manifests = dict(_all_manifests(home))
    promoted = [(where, m) for where, m in manifests.items() if home.days in where.parents]
    roots = [(where, manifest) for where, manifest in promoted if where.parent.name == day]
    if not roots:
        raise UnknownId(f"day {day} has no promoted Parquet under {home.days}")
    nodes: list[Node] = []
    for where, manifest in roots:
        _forward(manifests, where, manifest, 0, nodes)
    return nodes


def _forward(manifests: dict[Path, Manifest], where: Path, manifest: Manifest, depth: int, nodes: list[Node]) -> None:
    if any((node.kind, node.id) == (manifest.kind, manifest.id) for node in nodes):
        return
    nodes.append(Node(depth, manifest.kind, manifest.id, _state(where), str(where)))
    for path, other in manifests.items():
        if any((item.kind, item.id) == (manifest.kind, manifest.id) for item in other.inputs):
            _forward(manifests, path, other, depth + 1, nodes)


def _back(home: Home, directory: Path, expected: Input | None, depth: int, seen: set[str]) -> Iterator[Node]:
    manifest = read_manifest(directory)
    state = _state(directory)
    if state == "intact" and expected and expected.sha256 != manifest.content:
        state = f"changed: expected content {expected.sha256[:12]}, found {manifest.content[:12]}"
    yield Node(depth, manifest.kind, manifest.id, state, str(directory))
    for item in manifest.inputs:
        key = f"{item.kind}:{item.id}"
        if key in seen:
            continue
        seen.add(key)
        if item.kind == "day_archive":
            yield _archive_node(home, item, depth + 1)
            continue
        try:
            where = locate(home, item.kind, item.id)
        except UnknownId:
            yield Node(depth + 1, item.kind, item.id, "missing", "")
        else:
            yield from _back(home, where, item, depth + 1, seen)


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
    roots = (home.days, home.cards, home.plans, home.checkpoints, home.artifacts, home.submissions, home.tournaments)
    for root in roots:
        for path in sorted(root.rglob(MANIFEST)):
            if not any(part.startswith(".tmp-") for part in path.parts):
                yield path.parent, read_manifest(path.parent)


def _directory_of(home: Home, path: Path | None) -> Path:
    if path is None:
        from tcg_core.catalog.registry import find, latest_passed

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
