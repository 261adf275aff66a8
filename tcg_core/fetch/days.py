"""Which days to fetch, and one day into the inbox: downloaded aside, verified, then renamed to ``inbox/DATE.zip``."""

import logging
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path

from tcg_core.base.atomic import move
from tcg_core.base.home import Home, NotADay, parse_day
from tcg_core.base.lock import hold
from tcg_core.catalog.connection import catalog
from tcg_core.catalog.days import known_days
from tcg_core.fetch.errors import FetchError
from tcg_core.fetch.index import INDEX, INDEX_FILE, Published, dataset_of, parse_index
from tcg_core.fetch.progress import watching
from tcg_core.fetch.remote import Remote
from tcg_core.replay.archive import ArchiveError, open_archive

LOG = logging.getLogger("tcg")
_MARKER = ".kaggle-partial"


@dataclass(frozen=True)
class Fetched:
    """A day that is in the inbox now."""

    day: str
    path: Path
    bytes: int
    members: int


@dataclass(frozen=True)
class FetchReport:
    """What became of a request: days fetched, days held already, and (day, why) of those that could not be."""

    fetched: tuple[Fetched, ...]
    held: tuple[str, ...]
    failed: tuple[tuple[str, str], ...]


def published_days(home: Home, remote: Remote) -> tuple[Published, ...]:
    """The index, fetched anew."""
    folder = _workshop(home, "index")
    path = remote.file(INDEX, INDEX_FILE, folder)
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise FetchError(f"{INDEX}/{INDEX_FILE} is no UTF-8 text: {error.reason}") from None
    return parse_index(text)


def held_days(home: Home) -> dict[str, str]:
    """Days that need no download, with where they are: ``inbox`` or ``archives``."""
    with catalog(home) as connection:
        held = dict.fromkeys(known_days(connection), "archives")
    return held | {path.stem: "inbox" for path in home.inbox.glob("*.zip") if _is_day(path.stem)}


def _is_day(name: str) -> bool:
    try:
        return bool(parse_day(name))
    except NotADay:
        return False


def named(index: Sequence[Published], days: Sequence[str]) -> list[Published]:
    """The days asked for by name; one that the index does not list yet goes by the publisher's naming rule."""
    listed = {item.day: item for item in index}
    return [listed.get(day) or Published(day, dataset_of(day)) for day in sorted({parse_day(day) for day in days})]


def in_range(index: Sequence[Published], first: str, last: str) -> list[Published]:
    """The index's days from ``first`` to ``last``, both included; days between that it does not list are logged.

    Raises :class:`FetchError` for an empty or reversed range.
    """
    start, end = date.fromisoformat(parse_day(first)), date.fromisoformat(parse_day(last))
    if start > end:
        raise FetchError(f"range {first} to {last} is reversed")
    found = [item for item in index if first <= item.day <= last]
    if not found:
        raise FetchError(f"the index lists no day from {first} to {last}{_span(index)}")
    listed = {item.day for item in found}
    days = ((start + timedelta(days=n)).isoformat() for n in range((end - start).days + 1))
    absent = [day for day in days if day not in listed]
    if absent:
        LOG.info("not in the index: %s%s", ", ".join(absent[:10]), " …" if len(absent) > 10 else "")
    return found


def fetch_days(home: Home, remote: Remote, wanted: Sequence[Published], again: bool = False) -> FetchReport:
    """Fetches every wanted day that is not held (with ``again``, also those in the archives); a failed one does not end the
    others."""
    fetched: list[Fetched] = []
    held: list[str] = []
    failed: list[tuple[str, str]] = []
    alone = hold(_workshop(home, ".") / "lock", "fetch", refused=FetchError, rule=f"another fetch is at work in {home.inbox}")
    with alone:
        have = held_days(home)
        for item in wanted:
            if have.get(item.day) == "inbox" or (item.day in have and not again):
                held.append(item.day)
                continue
            try:
                fetched.append(_fetch(home, remote, item))
            except FetchError as error:
                LOG.warning("fetch %s: %s", item.day, error)
                failed.append((item.day, str(error)))
    return FetchReport(tuple(fetched), tuple(held), tuple(failed))


def _fetch(home: Home, remote: Remote, item: Published) -> Fetched:
    folder = _workshop(home, item.day)
    file = folder / f"{item.dataset.rpartition('/')[2]}.zip"
    with watching(f"fetch {item.day}", file, file.with_name(file.name + _MARKER)):
        path = remote.archive(item.dataset, folder)
    members = _verified(path, item)
    target = home.inbox / f"{item.day}.zip"
    size = path.stat().st_size
    move(path, target)
    shutil.rmtree(folder, ignore_errors=True)
    return Fetched(item.day, target, size, members)


def _verified(path: Path, item: Published) -> int:
    """How many members the archive has; a file that is no whole archive is removed, since continuing it would keep the fault."""
    try:
        with open_archive(path) as archive:
            members = len(archive.members)
    except ArchiveError as error:
        path.unlink()
        raise FetchError(f"{item.dataset}: the download is no day archive and was dropped: {error}") from None
    if item.episodes is not None and members < item.episodes:
        path.unlink()
        raise FetchError(f"{item.dataset}: {members} episodes, the index announces {item.episodes}; the download was dropped")
    return members


def _workshop(home: Home, name: str) -> Path:
    """Where unfinished downloads wait: beside the inbox's archives, on the same file system, invisible to the sensor."""
    folder = home.inbox / ".fetch" / name
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _span(index: Sequence[Published]) -> str:
    return f"; it goes from {index[0].day} to {index[-1].day}" if index else "; it is empty"
