"""Runs that were brought in from another data home, and the manifests of what was not brought with them (their days)."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tcg_core.base.atomic import write_json
from tcg_core.base.errors import IntegrityError
from tcg_core.base.home import Home
from tcg_core.base.manifest import Manifest, manifest_from
from tcg_core.catalog.connection import now


@dataclass(frozen=True)
class ImportedLineage:
    """One run: the home it is from, when it came, and manifests of its lineage that lie there only."""

    run: str
    source: str
    at: str
    manifests: tuple[Manifest, ...]


def record(home: Home, run: str, source: Path, manifests: tuple[Manifest, ...]) -> None:
    """Writes ``brought/RUN.json``; one that is there stays, so that it says when and from where the run came first."""
    path = home.brought / f"{run}.json"
    if not path.is_file():
        write_json(path, {"source": str(source), "at": now(), "manifests": [manifest.to_dict() for manifest in manifests]})


def brought_runs(home: Home) -> Iterator[ImportedLineage]:
    """All records, by run; raises :class:`IntegrityError` for one that is none."""
    for path in sorted(home.brought.glob("*.json")):
        try:
            values: dict[str, Any] = json.loads(path.read_text())
            manifests = tuple(manifest_from(manifest) for manifest in values["manifests"])
            yield ImportedLineage(path.stem, values["source"], values["at"], manifests)
        except (ValueError, KeyError, TypeError) as error:
            raise IntegrityError(f"{path} is no record of a run that was brought in: {error}") from None


def recorded_elsewhere(home: Home) -> dict[tuple[str, str], tuple[Manifest, str]]:
    """By kind and id: manifests of what lies in other homes only, and in which one."""
    return {(m.kind, m.id): (m, brought.source) for brought in brought_runs(home) for m in brought.manifests}
