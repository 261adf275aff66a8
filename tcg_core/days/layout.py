"""Files of a built day's directory beside ``rows.parquet``, and how they are read and written."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as parquet

from tcg_core.base.atomic import write_bytes
from tcg_core.base.errors import IntegrityError
from tcg_core.base.home import Home
from tcg_core.base.manifest import Manifest
from tcg_core.catalog.records import DatasetRecord, EpisodeRecord
from tcg_core.catalog.registry import relative
from tcg_core.days.members import ExpectedLane
from tcg_core.rows.reader import ROWS

EXPECTED, EPISODES, SHAPE = "expected.parquet", "episodes.json", "shape.png"

_EXPECTED_SCHEMA = pa.schema(
    [
        pa.field("episode_id", pa.int64(), nullable=False),
        pa.field("game", pa.int8(), nullable=False),
        pa.field("side", pa.int8(), nullable=False),
        pa.field("decisions", pa.int32(), nullable=False),
        pa.field("rows", pa.int32(), nullable=False),
        pa.field("plain_decisions", pa.int32()),
        pa.field("plain_rows", pa.int32()),
    ]
)


def dataset_record(home: Home, day: str, path: Path, manifest: Manifest) -> DatasetRecord:
    """The catalog's record of a built day. Raises :class:`IntegrityError` naming what the directory or its manifest lacks."""
    facts = manifest.facts
    try:
        return DatasetRecord(
            dataset_id=manifest.id,
            day=day,
            path=relative(home, path),
            sha256=manifest.files[ROWS],
            bytes=(path / ROWS).stat().st_size,
            rows=facts["rows"],
            episodes=facts["episodes"],
            row_groups=facts["row_groups"],
            generations=tuple(facts["generations"]),
            schema_digest=manifest.config["schema"],
            code=manifest.code,
            archive_sha256=manifest.inputs[0].sha256,
            rows_digest=facts.get("rows_digest"),
        )
    except (OSError, KeyError, IndexError) as error:
        raise IntegrityError(f"{path} is no built day: {type(error).__name__} {error}") from None


def write_expected(directory: Path, lanes: Sequence[ExpectedLane]) -> None:
    """Writes what row coverage is checked against."""
    table = pa.Table.from_pylist([asdict(lane) for lane in lanes], schema=_EXPECTED_SCHEMA)
    parquet.write_table(table, directory / EXPECTED, compression="zstd")


def write_episodes(directory: Path, records: Iterable[EpisodeRecord], decks: Mapping[str, Sequence[int]]) -> None:
    """Writes the catalog's records of the day's episodes: one JSON value, one episode per line."""
    lines = ",\n".join(json.dumps(record.plain(), sort_keys=True, separators=(",", ":")) for record in records)
    held = json.dumps({key: list(decks[key]) for key in sorted(decks)}, separators=(",", ":"))
    write_bytes(directory / EPISODES, f'{{"decks":{held},\n"episodes":[\n{lines}\n]}}\n'.encode())


def read_episodes(directory: Path) -> tuple[list[EpisodeRecord], dict[str, list[int]]]:
    """Inverse of :func:`write_episodes`; raises :class:`IntegrityError` naming the file."""
    path = directory / EPISODES
    try:
        values: dict[str, Any] = json.loads(path.read_text())
        return [EpisodeRecord.from_plain(item) for item in values["episodes"]], values["decks"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise IntegrityError(f"{path} cannot be read: {error}") from None


def write_quarantine(path: Path, records: Iterable[EpisodeRecord]) -> int:
    """Writes the quarantined episodes, one JSON object per line: member, episode_id, reason, detail. Returns how many."""
    lines = [
        json.dumps({"member": r.member, "episode_id": r.episode_id, "reason": r.reason, "detail": r.detail}, sort_keys=True)
        for r in records
        if r.status == "quarantined"
    ]
    write_bytes(path, "".join(f"{line}\n" for line in lines).encode())
    return len(lines)
