"""Takes a day's archive from the inbox: checked, hashed, moved to ``archives/DATE/<sha256>.zip``, recorded."""

import json
import shutil
import zipfile
from pathlib import Path
from typing import Any

from tcg_core.base.atomic import move, replacing
from tcg_core.base.built import Built
from tcg_core.base.checks import Check
from tcg_core.base.digest import sha256_file
from tcg_core.base.errors import IntegrityError
from tcg_core.base.home import Home, NotADay, parse_day
from tcg_core.catalog import registry
from tcg_core.catalog.connection import catalog, transaction
from tcg_core.catalog.days import DayRow, day_row, known_days, record_archive
from tcg_core.catalog.kinds import ARCHIVE, archive_manifest
from tcg_core.days.errors import DayError
from tcg_core.replay.archive import EPISODE_BYTES_CAP, Archive, open_archive

ARCHIVE_CHECKS = ("no_duplicate_members", "sizes_sane", "archive_complete")
#: Real days hold 30 times their zipped size; a zip bomb holds a thousand times.
_MAX_RATIO = 400


def add_archive(home: Home, file: Path, day: str | None = None) -> Path:
    """Copies an archive into the inbox; the day is that of its name ``YYYY-MM-DD.zip`` unless given. Returns the copy.

    Raises :class:`DayError` if both are days and differ, or if the inbox holds another archive of that day, and
    :class:`ArchiveError` for a file that is no day archive.
    """
    named = _day_of(file)
    if day is None and named is None:
        raise DayError(f"{file}: its name is no day (YYYY-MM-DD.zip); say which day it is")
    day = parse_day(day or str(named))
    if named not in (None, day):
        raise DayError(f"{file} is named for day {named}, but day {day} was asked for")
    with open_archive(file) as archive:
        _require_day(archive, day)
        target = home.inbox / f"{day}.zip"
        if target.is_file() and sha256_file(target) != archive.sha256:
            raise DayError(f"{target} is there already with other content; take it or remove it first")
    if not target.is_file():
        with replacing(target) as temporary:
            shutil.copyfile(file, temporary)
    return target


def take_archive(home: Home, day: str) -> Built:
    """Moves ``inbox/DATE.zip`` to its place and records it; without one, the archive taken before is reused.

    Another archive of a day that was taken before supersedes what was built of it, in the same transaction. Raises
    :class:`ArchiveError` for a file that is no day archive (nothing is moved then), :class:`DayError` for an archive of
    another day and when there is none at all.
    """
    parse_day(day)
    inbox = home.inbox / f"{day}.zip"
    if inbox.is_file():
        with open_archive(inbox) as archive:
            _require_day(archive, day)
            sha256 = archive.sha256
        path = home.archives / day / f"{sha256}.zip"
        reused = path.is_file() and sha256_file(path) == sha256
        if reused:
            inbox.unlink()
        else:
            move(inbox, path)
    else:
        path, reused = _taken(home, day), True
        sha256 = path.stem
    with open_archive(path) as archive:
        if archive.sha256 != sha256:
            raise IntegrityError(f"{path} has SHA-256 {archive.sha256[:12]}, expected {sha256[:12]}")
        manifest = archive_manifest(sha256, path.name)
        with catalog(home) as connection, transaction(connection):
            place = registry.relative(home, path)
            record_archive(connection, day, sha256, place, path.stat().st_size, len(archive.members), archive.directory_digest)
            registry.register_in(connection, home, manifest, path, sha256)
            row = day_row(connection, day)
        checks = archive_checks(archive, row)
        facts = _facts(archive, path)
    # No Stage (tcg_core.base.stage): the artifact is the file that came in, named by its own hash, and it is registered in the
    # transaction that supersedes what was built of the day's former archive.
    registry.record_checks(home, ARCHIVE, manifest.id, checks)
    return Built(ARCHIVE, manifest.id, path, reused, checks, facts)


def archive_checks(archive: Archive, row: DayRow) -> tuple[Check, ...]:
    """ARCHIVE_CHECKS of a taken archive against its catalog row."""
    sizes = [member.size for member in archive.members]
    twice = len(archive.members) - len({member.episode_id for member in archive.members})
    packed = archive.path.stat().st_size
    ratio = sum(sizes) / packed
    over = [member.name for member in archive.members if member.size > EPISODE_BYTES_CAP]
    empty = [member.name for member in archive.members if member.size == 0]
    told = f"{len(sizes)} members of {sum(sizes):,} bytes, the largest {max(sizes):,}, {ratio:.0f} times the zip"
    if over or empty:
        told += f"; {len(over)} over the cap of {EPISODE_BYTES_CAP:,} and {len(empty)} empty will be quarantined"
    same = (packed, len(sizes), archive.sha256, archive.directory_digest) == (
        *(row.archive_bytes, row.members, row.archive_sha256, row.directory_digest),
    )
    complete = f"{packed:,} bytes, SHA-256 {archive.sha256[:12]}, central directory of {len(sizes)} members read back"
    return (
        Check(
            "no_duplicate_members", not twice, f"{twice} episodes occur twice" if twice else f"{len(sizes)} members, each once"
        ),
        Check("sizes_sane", ratio <= _MAX_RATIO, told, facts={"over": over[:20], "empty": empty[:20]}),
        Check("archive_complete", same, complete if same else f"{archive.path} is not what the catalog recorded: {complete}"),
    )


def _taken(home: Home, day: str) -> Path:
    """The archive taken before. One that was moved but not recorded (a crash in between, a lost catalog) counts as taken."""
    held = sorted((home.archives / day).glob("[!.]*.zip"), key=lambda path: path.stat().st_mtime)
    known = {row.id for row in registry.rows_of(home, ARCHIVE)}
    unrecorded = [path for path in held if path.stem[:16] not in known]
    if unrecorded:
        return unrecorded[-1]
    with catalog(home) as connection:
        recorded = home.root / day_row(connection, day).archive_path if day in known_days(connection) else None
    if recorded is None and not held:
        raise DayError(f"day {day}: there is no {home.inbox / f'{day}.zip'} and no archive was taken before")
    path = recorded or held[-1]
    if not path.is_file():
        raise DayError(f"day {day}: its archive {path} is missing; put {day}.zip into {home.inbox} again")
    return path


def _require_day(archive: Archive, day: str) -> None:
    """An archive that was recorded here says of which day it is."""
    try:
        with zipfile.ZipFile(archive.path) as file:
            told: Any = json.loads(file.comment)["settings"]["date"]
    except (ValueError, KeyError, TypeError):
        return
    if told != day:
        raise DayError(f"{archive.path} says that it is of day {told}, expected {day}")


def _day_of(file: Path) -> str | None:
    try:
        return parse_day(file.stem)
    except NotADay:
        return None


def _facts(archive: Archive, path: Path) -> dict[str, Any]:
    return {
        "members": len(archive.members),
        "bytes": path.stat().st_size,
        "json_bytes": sum(member.size for member in archive.members),
        "sha256": archive.sha256,
        "directory_digest": archive.directory_digest,
    }
