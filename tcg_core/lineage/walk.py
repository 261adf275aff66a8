"""From a submission back to the days and code that made it, and from a day forward: walking the manifests."""

import json
import tarfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from tcg_core.base.digest import sha256_file
from tcg_core.base.errors import IntegrityError, TcgError, UnknownId
from tcg_core.base.graph import Visit, back
from tcg_core.base.home import Home, parse_day
from tcg_core.base.manifest import MANIFEST, Input, Key, Manifest, read_manifest, verify_files
from tcg_core.catalog.connection import catalog
from tcg_core.catalog.datasets import DatasetRow, datasets_of
from tcg_core.catalog.kinds import ARCHIVE, DAY, STAGED
from tcg_core.catalog.proofs import ProofRow, proofs_by_dataset
from tcg_core.catalog.registry import find, latest_passed, rows_of
from tcg_core.lineage.days import DayMark, changed_days, marks, promotions
from tcg_core.lineage.graph import OnDisk, StoredArtifact, on_disk, registered
from tcg_core.lineage.imported import recorded_elsewhere
from tcg_core.lineage.recorded import CatalogRecord, catalog_records, edited


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


def walk_back(home: Home, path: Path | None, found: OnDisk | None = None) -> list[Node]:
    """The chain behind a submission archive, an artifact directory or, with None, the latest submission. found: what lies in
    the home, where the caller has read it."""
    found = found or on_disk(home)
    directory = _directory_of(home, path, found)
    root = read_manifest(directory)
    # Of two directories of one id the walk begins with the one that was asked for.
    here = found.artifacts | {root.key: StoredArtifact(directory, root)}
    with catalog(home) as connection:
        changed, proven, records = changed_days(connection), proofs_by_dataset(connection), catalog_records(connection)
    paths = {(row.kind, row.id): row.path for row in rows_of(home)}
    broken = {home.root / name: why for name, why in found.unreadable.items()}
    behind = _Behind(home, here, recorded_elsewhere(home), changed, proven, records, paths, broken)
    return [behind.node(visit) for visit in back([root.key], behind.inputs_of)]


def walk_forward(home: Home, day: str) -> list[Node]:
    """Everything built from a day, from the catalog's inputs of artifacts: each build of the day, and below it plans,
    checkpoints, artifacts, submissions, tournaments, and whether a submission was promoted. What is on disk is hashed.

    ``note`` says what is built from a day that changed since. Raises :class:`UnknownId` for a day that was never built.
    """
    parse_day(day)
    with catalog(home) as connection:
        datasets = {(DAY, row.dataset_id): row for row in datasets_of(connection, day)}
        graph = registered(connection)
        promoted = promotions(connection)
        proven = proofs_by_dataset(connection, day)
        records = catalog_records(connection)
    if not datasets:
        raise UnknownId(f"day {day} has no dataset in the catalog: it was never built")
    known = {(row.kind, row.id): row.path for row in rows_of(home)}
    noted = {key: "; ".join(str(mark) for mark in held) for key, held in marks(home).items()}
    nodes = []
    for visit in graph.forward(*datasets):
        kind, id = visit.key
        if visit.key in datasets:
            nodes.append(_dataset_node(home, datasets[visit.key], proven.get(id, ()), records))
            continue
        path, note = known[visit.key], noted.get(visit.key, "")
        state = _state(path, records.get(visit.key)) if path.exists() else "missing"
        nodes.append(Node(visit.depth, kind, id, state, str(path), note))
        if kind == "submission" and id in promoted:
            reigns = "reigns" if promoted[-1] == id else "was promoted, another reigns"
            nodes.append(Node(visit.depth + 1, "champion", id, "as recorded", reigns, note))
    return nodes


def _dataset_node(home: Home, dataset: DatasetRow, proofs: Iterable[ProofRow], records: Mapping[Key, CatalogRecord]) -> Node:
    path = home.root / dataset.path
    gone = "as recorded" if dataset.state in ("superseded", "failed") else "missing"
    state = _state(path, records.get((DAY, dataset.dataset_id))) if path.is_dir() else gone
    reason = f": {dataset.reason}" if dataset.reason else ""
    told = [f"{dataset.state}{reason}", *([] if path.is_dir() else ["its files are gone"]), *map(str, proofs)]
    return Node(
        0, STAGED if dataset.state in ("staged", "failed") else DAY, dataset.dataset_id, state, str(path), "; ".join(told)
    )


@dataclass(frozen=True)
class _Behind:
    """What a walk back reads: artifacts that lie here, manifests of those that lie in another home only, days that changed,
    builds that were proven equal under other code; what the catalog says of each artifact, and where; broken: by directory, what
    is wrong with its manifest."""

    home: Home
    here: Mapping[Key, StoredArtifact]
    elsewhere: Mapping[Key, tuple[Manifest, str]]
    changed: Mapping[str, DayMark]
    proven: Mapping[str, tuple[ProofRow, ...]]
    records: Mapping[Key, CatalogRecord]
    paths: Mapping[Key, Path]
    broken: Mapping[Path, str]

    def inputs_of(self, visit: Visit) -> tuple[Input, ...]:
        """Inputs of an artifact by its manifest, here or elsewhere."""
        if visit.key in self.here:
            return self.here[visit.key].manifest.inputs
        found = self._recorded(visit)
        return found[0].inputs if found else ()

    def node(self, visit: Visit) -> Node:
        """What there is to say of one artifact of the chain."""
        (kind, id), item = visit.key, visit.item
        if item and kind == ARCHIVE:
            return self._archive(visit, item)
        if visit.key not in self.here:
            found = self._recorded(visit)
            path = self.paths.get(visit.key)
            if path and path in self.broken and not found:
                return Node(visit.depth, kind, id, f"changed: {self.broken[path]}", str(path))
            where = ("as recorded", f"in {found[1]}", "brought in without it") if found else ("missing", "", "")
            return Node(visit.depth, kind, id, *where)
        place = self.here[visit.key]
        state, content = _state(place.path, self.records.get(visit.key)), place.manifest.content
        if state == "intact" and item and item.sha256 != content:
            state = f"changed: expected content {item.sha256[:12]}, found {content[:12]}"
        told = [self.changed[id].why] if kind == DAY and id in self.changed else []
        told += map(str, self.proven.get(id, ())) if kind == DAY else ()
        return Node(visit.depth, kind, id, state, str(place.path), "; ".join(told))

    def _recorded(self, visit: Visit) -> tuple[Manifest, str] | None:
        """Its manifest in the home that it is from, if that is of the content that was read."""
        found = self.elsewhere.get(visit.key)
        return found if found and visit.item and found[0].content == visit.item.sha256 else None

    def _archive(self, visit: Visit, item: Input) -> Node:
        found = sorted(self.home.archives.glob(f"*/{item.sha256}.zip"))
        actual = sha256_file(found[0]) if found else ""
        if actual == item.sha256:
            return Node(visit.depth, *item.key, "intact", str(found[0]))
        sources = [source for manifest, source in self.elsewhere.values() if item in manifest.inputs]
        if sources:
            return Node(visit.depth, *item.key, "as recorded", f"in {sources[0]}")
        if not found:
            return Node(visit.depth, *item.key, "missing", f"{self.home.archives}/*/{item.sha256[:12]}….zip")
        return Node(visit.depth, *item.key, f"changed: expected {item.sha256[:12]}, found {actual[:12]}", str(found[0]))


def _state(directory: Path, record: CatalogRecord | None) -> str:
    try:
        manifest = verify_files(directory)
    except IntegrityError as error:
        return f"changed: {error}"
    why = edited(manifest, record)
    return f"changed: {directory / MANIFEST}: {why}" if why else "intact"


def _directory_of(home: Home, path: Path | None, found: OnDisk) -> Path:
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
        key = ("submission", str(values["id"]))
    except (tarfile.TarError, KeyError, ValueError) as error:
        raise TcgError(f"{path} is not a submission of this project: {error}") from None
    if key not in found.artifacts:
        raise UnknownId(f"no submission {key[1]} under {home.root}")
    return found.artifacts[key].path
