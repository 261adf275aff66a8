"""A day archive: a zip of ``<EpisodeId>.json`` members, streamed one at a time and never extracted."""

import functools
import hashlib
import re
import zipfile
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from tcg_core.replay.errors import ArchiveError, Quarantine

__all__ = ["EPISODE_BYTES_CAP", "Archive", "ArchiveError", "Member", "open_archive"]

#: Largest member that is read. A real episode is 2.7-4.2 MB; an endless game once made 813 MB.
EPISODE_BYTES_CAP = 192 * 2**20
_MEMBERS_CAP = 100_000
_BLOCK = 2**20


@dataclass(frozen=True, slots=True)
class Member:
    """One episode's entry: name in the zip, EpisodeId from its stem, uncompressed bytes, CRC-32."""

    name: str
    episode_id: int
    size: int
    crc: int


class Archive:
    """An open day archive; close it or use it as a context manager. One thread at a time."""

    def __init__(self, path: Path, file: zipfile.ZipFile, members: tuple[Member, ...]) -> None:
        self.path = path
        self.members = members
        self._file = file

    def read(self, member: Member) -> bytes:
        """The member's bytes, CRC checked. Raises :class:`Quarantine` (``oversize`` above EPISODE_BYTES_CAP,
        ``unreadable`` when its bytes are damaged): one bad member does not end its day."""
        if member.size > EPISODE_BYTES_CAP:
            raise Quarantine("oversize", f"{member.name}: {member.size} bytes, the cap is {EPISODE_BYTES_CAP}")
        try:
            with self._file.open(member.name) as stream:
                data = stream.read(member.size + 1)
        except Exception as error:  # each compression has errors of its own, and not all are named by zipfile
            raise Quarantine("unreadable", f"{member.name}: {type(error).__name__}: {error}") from error
        if len(data) != member.size:
            raise Quarantine("unreadable", f"{member.name}: {len(data)} bytes, its entry says {member.size}")
        return data

    @functools.cached_property
    def sha256(self) -> str:
        """Hex SHA-256 of the whole file."""
        total = hashlib.sha256()
        with self.path.open("rb") as stream:
            while block := stream.read(_BLOCK):
                total.update(block)
        return total.hexdigest()

    @functools.cached_property
    def directory_digest(self) -> str:
        """Hex SHA-256 over names, sizes and CRCs of all members: what the archive holds, read without its content."""
        total = hashlib.sha256()
        for member in self.members:
            total.update(f"{member.name}|{member.size}|{member.crc}\n".encode())
        return total.hexdigest()

    def close(self) -> None:
        """Closes the file."""
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


def open_archive(path: Path) -> Archive:
    """Opens and checks a day archive: a zip with a readable central directory and at least one member, every file in it
    named ``<digits>.json``, no name or episode twice. Members are in order of episode id.

    Raises :class:`ArchiveError` naming the file and what is wrong with it.
    """
    try:
        file = zipfile.ZipFile(path)
    except FileNotFoundError:
        raise ArchiveError(f"{path}: no such file") from None
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as error:
        raise ArchiveError(f"{path}: not a readable zip archive ({error})") from error
    try:
        return Archive(path, file, _members(path, file))
    except ArchiveError:
        file.close()
        raise


def _members(path: Path, file: zipfile.ZipFile) -> tuple[Member, ...]:
    entries = [info for info in file.infolist() if not info.is_dir()]
    if not entries:
        raise ArchiveError(f"{path}: no members, expected one <EpisodeId>.json each episode")
    if len(entries) > _MEMBERS_CAP:
        raise ArchiveError(f"{path}: {len(entries)} members, the cap is {_MEMBERS_CAP}")
    members: dict[int, Member] = {}
    for info in entries:
        stem = re.fullmatch(r"([0-9]{1,18})\.json", info.filename.rsplit("/", 1)[-1])
        if stem is None:
            raise ArchiveError(f"{path}: member {info.filename!r:.80} is not named <EpisodeId>.json")
        identity = int(stem[1])
        if identity in members:
            raise ArchiveError(f"{path}: episode {identity} twice ({members[identity].name}, {info.filename})")
        members[identity] = Member(info.filename, identity, info.file_size, info.CRC)
    return tuple(members[identity] for identity in sorted(members))
