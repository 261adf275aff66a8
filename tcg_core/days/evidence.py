"""The evidence of a proof on disk: a file that never changes, its circumstances beside it, and how a catalog finds it again."""

import json
import sqlite3
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from tcg_core.base.atomic import write_json
from tcg_core.base.digest import sha256_file
from tcg_core.base.home import Home
from tcg_core.base.manifest import recorded
from tcg_core.catalog.connection import catalog, now, transaction
from tcg_core.catalog.datasets import DatasetRow
from tcg_core.catalog.proofs import ProofRow, record_proof
from tcg_core.catalog.registry import relative
from tcg_core.days.errors import DayError
from tcg_core.days.sample import Sample

VERSION = 1
_BESIDE = ".recorded.json"


def evidence_file(home: Home, day: str, dataset_id: str, code: str) -> Path:
    """Where the evidence lies that a dataset is what ``code`` would build."""
    return home.proofs / day / f"{dataset_id}.{code}.json"


def store_proof(
    home: Home,
    row: DatasetRow,
    code: str,
    versions: Mapping[str, Any],
    samples: Mapping[str, Sample],
    digests: Mapping[str, str],
    seconds: float,
) -> ProofRow:
    """Writes the evidence, then records the proof in one transaction. A crash in between leaves whole evidence, which the same
    command, or a rebuild of the catalog, records. Raises :class:`DayError` if other evidence lies there."""
    path = evidence_file(home, row.day, row.dataset_id, code)
    content = {
        "evidence_version": VERSION,
        "day": row.day,
        "dataset_id": row.dataset_id,
        "code": code,
        "built_by": row.code,
        "archive_sha256": row.archive_sha256,
        "rows_sha256": row.sha256,
        "rows_digest": row.rows_digest,
        "versions": dict(versions),
        "samples": {name: asdict(sample) for name, sample in samples.items()},
        "digests": dict(digests),
    }
    plain = json.loads(json.dumps(content))
    if not path.is_file():
        write_json(path, plain)
    elif json.loads(path.read_text()) != plain:
        raise DayError(f"{path} is evidence of something else: look at it, and remove it if it is of no use")
    write_json(path.with_suffix(_BESIDE), recorded() | {"seconds": round(seconds, 2)})
    proof = _proof(home, path, plain, now())
    with catalog(home) as connection, transaction(connection):
        record_proof(connection, proof)
    return proof


def restore_proofs(connection: sqlite3.Connection, home: Home) -> tuple[int, list[str]]:
    """Records every proof below ``proofs/`` again, and which rows its dataset holds, within the caller's transaction: after the
    catalog was lost. Returns how many proofs, and what could not be read and why."""
    count, problems = 0, []
    for path in sorted(home.proofs.glob("*/[!.]*.json")):
        if path.name.endswith(_BESIDE):
            continue
        try:
            content = json.loads(path.read_text())
            beside = path.with_suffix(_BESIDE)
            at = str(json.loads(beside.read_text())["at"]) if beside.is_file() else now()
            proof = _proof(home, path, content, at)
            if path != evidence_file(home, proof.day, proof.dataset_id, proof.code):
                raise ValueError(f"it is of dataset {proof.dataset_id} of {proof.day} under code {proof.code}")
            count += record_proof(connection, proof)
            known = (proof.rows_digest, proof.day, proof.sha256)
            connection.execute("UPDATE datasets SET rows_digest = ? WHERE day = ? AND sha256 = ? AND rows_digest IS NULL", known)
        except (OSError, ValueError, KeyError, TypeError, sqlite3.IntegrityError) as error:
            problems.append(f"{path} is no evidence of a proof: {error}")
    return count, problems


def _proof(home: Home, path: Path, content: dict[str, Any], at: str) -> ProofRow:
    if content["evidence_version"] != VERSION:
        raise ValueError(f"evidence version {content['evidence_version']}, expected {VERSION}")
    samples = content["samples"].values()
    return ProofRow(
        day=content["day"],
        dataset_id=content["dataset_id"],
        code=content["code"],
        built_by=content["built_by"],
        sha256=content["rows_sha256"],
        rows_digest=content["rows_digest"],
        episodes=sum(len(sample["episodes"]) for sample in samples),
        of_episodes=sum(sample["of"] for sample in samples),
        evidence=relative(home, path),
        evidence_sha256=sha256_file(path),
        proven_at=at,
    )
