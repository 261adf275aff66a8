"""What lies in the inbox: which archives are whole, which still grow, which are none. No Dagster here."""

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from tcg_core.base.errors import TcgError
from tcg_core.base.home import parse_day

#: At most so many days a look; a backlog is taken in several.
MOST_A_LOOK = 50


@dataclass(frozen=True)
class InboxFile:
    """A file as it stood at the last look; ``digest`` is that of its central directory once it was readable and stable."""

    size: int
    modified_ns: int
    inode: int
    digest: str = ""


@dataclass(frozen=True)
class Arrival:
    """A whole archive."""

    day: str
    digest: str


@dataclass(frozen=True)
class Look:
    """One look into the inbox: what is ready, one line for each other file, and the cursor for the next look."""

    ready: tuple[Arrival, ...]
    lines: tuple[str, ...]
    cursor: str


def look(inbox: Path, cursor: str | None, directory_digest: Callable[[Path], str]) -> Look:
    """Compares the inbox with the last look.

    A file is ready when size, time and inode are those of the last look and its central directory can be read: a copy
    under way grows, and an archive whose copy broke off has no directory at its end. ``directory_digest`` raises
    :class:`TcgError` for such a file; it is called once for each state of a file.
    """
    before = {name: InboxFile(**seen) for name, seen in json.loads(cursor).items()} if cursor else {}
    now: dict[str, InboxFile] = {}
    ready: list[Arrival] = []
    lines: list[str] = []
    for path in sorted(inbox.glob("*.zip")):
        if len(ready) == MOST_A_LOOK:
            lines.append(f"more than {MOST_A_LOOK} archives: the rest at the next look")
            now |= {name: seen for name, seen in before.items() if name >= path.name}
            break
        try:
            day = parse_day(path.stem)
        except TcgError as error:
            lines.append(f"{path.name} is ignored: {error}")
            continue
        seen, last = _seen(path), before.get(path.name)
        if last is None or (seen.size, seen.modified_ns, seen.inode) != (last.size, last.modified_ns, last.inode):
            now[path.name] = seen
            lines.append(f"{path.name}: {seen.size} bytes, waiting until it stays as it is")
            continue
        try:
            digest = last.digest or directory_digest(path)
        except TcgError as error:
            now[path.name] = seen
            lines.append(f"{path.name} is not taken: {error}")
            continue
        now[path.name] = InboxFile(seen.size, seen.modified_ns, seen.inode, digest)
        ready.append(Arrival(day, digest))
    return Look(tuple(ready), tuple(lines), json.dumps({name: asdict(seen) for name, seen in now.items()}, sort_keys=True))


def _seen(path: Path) -> InboxFile:
    status = path.stat()
    return InboxFile(status.st_size, status.st_mtime_ns, status.st_ino)
