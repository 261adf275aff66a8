"""What a backup says it holds: ``backups/TIME.json``, one line for each file, and a hash over all lines."""

import json
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tcg_core.base.atomic import write_json
from tcg_core.base.digest import sha256_json
from tcg_core.base.manifest import package_version
from tcg_core.ops.errors import BackupError

RECORDS = "backups"
VERSION = 1


@dataclass(frozen=True)
class BackupEntry:
    """One file: its path below the home, content hash, size and modification time."""

    path: str
    sha256: str
    bytes: int
    modified_ns: int


@dataclass(frozen=True)
class BackupRecord:
    """One backup. ``damaged``: files of the home that could not be stored as they should be, and why."""

    made_at: str
    entries: tuple[BackupEntry, ...]
    damaged: tuple[str, ...]
    package_version: str = field(default_factory=package_version)
    version: int = VERSION

    @property
    def content(self) -> str:
        """Hex SHA-256 over all entries."""
        return sha256_json([asdict(entry) for entry in self.entries])

    @property
    def bytes(self) -> int:
        """Size of the home as it was backed up."""
        return sum(entry.bytes for entry in self.entries)

    @property
    def name(self) -> str:
        """Name by which the backup is asked for; later ones sort later."""
        return f"{self.made_at.replace('-', '').replace(':', '')}-{self.content[:8]}"


def stamp() -> str:
    """UTC time of a backup, to the microsecond: two within one second keep their order."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def time_of(name: str) -> datetime:
    """When a backup was made, by its name; raises :class:`ValueError` for another name."""
    return datetime.strptime(name.rsplit("-", 1)[0], "%Y%m%dT%H%M%S.%fZ").replace(tzinfo=UTC)


def write_record(root: Path, record: BackupRecord) -> Path:
    """Writes the record: from now on the backup exists."""
    path = root / RECORDS / f"{record.name}.json"
    write_json(path, asdict(record) | {"content": record.content})
    return path


def names_of(root: Path) -> list[str]:
    """Names of the finished backups, oldest first."""
    return sorted(path.stem for path in (root / RECORDS).glob("[!.]*.json"))


def read_record(root: Path, name: str = "") -> BackupRecord:
    """A backup by name, the last without; raises :class:`BackupError` naming the file if there is none or it was changed."""
    names = names_of(root)
    if not names:
        raise BackupError(f"{root} holds no finished backup")
    if name and name not in names:
        raise BackupError(f"{root} holds no backup {name}; it holds {', '.join(names)}")
    path = root / RECORDS / f"{name or names[-1]}.json"
    try:
        values: dict[str, Any] = json.loads(path.read_text())
        content = values.pop("content")
        entries = tuple(BackupEntry(**entry) for entry in values["entries"])
        record = BackupRecord(**values | {"entries": entries, "damaged": tuple(values["damaged"])})
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise BackupError(f"{path} is not a backup's record: {error}") from None
    if record.version > VERSION:
        raise BackupError(f"{path} has version {record.version}, this tcg knows up to {VERSION}: use the newer tcg")
    if record.content != content:
        raise BackupError(f"{path} was changed: its entries have SHA-256 {record.content[:12]}, recorded {content[:12]}")
    return record
