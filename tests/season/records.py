"""The archives of the season: thirty small days of real games, recorded once, and what can be wrong with one."""

import multiprocessing
import shutil
import zipfile
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from tcg_core.base.home import Home
from tcg_core.replay.record_day import record_day

#: No archive of this date ever comes.
GAP = "2026-08-12"
DAYS = tuple(day for day in (f"2026-08-{number:02d}" for number in range(1, 32)) if day != GAP)
#: So long that its build can be met at work, and that one episode of it may break off: at most one in a hundred.
LARGE = "2026-08-03"
#: Published a second time, with other games.
AGAIN = "2026-08-02"
#: What lies in the inbox first is half of the file.
HALF = "2026-08-09"
#: Published first with episodes that break off, then whole.
BROKEN = "2026-08-10"
EPISODES, _LARGE_EPISODES = 4, 104
_SEED, _SEED_AGAIN = 13, 14


def record_season(root: Path) -> dict[str, Path]:
    """Records all days below ``root``, two at a time; returns their archives. In that of ``LARGE`` one episode breaks off."""
    longest_first = sorted(DAYS, key=lambda day: day != LARGE)
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as pool:
        paths = pool.map(_record, [root] * len(DAYS), longest_first)
        archives = dict(zip(longest_first, paths, strict=True))
    return archives | {LARGE: broken(archives[LARGE], root / "one_broken", episodes=1)}


def record_again(root: Path) -> Path:
    """The day ``AGAIN`` as it is published later: other games, one more."""
    return record_day(Home(root / "again").prepare(), AGAIN, EPISODES + 1, seed=_SEED_AGAIN)


def broken(archive: Path, folder: Path, episodes: int) -> Path:
    """A copy of a day's archive of which the first ``episodes`` break off in the middle; the zip itself is a whole one."""
    folder.mkdir(exist_ok=True)
    target = folder / archive.name
    with zipfile.ZipFile(archive) as whole, zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as copy:
        copy.comment = whole.comment
        for number, info in enumerate(whole.infolist()):
            data = whole.read(info)
            copy.writestr(info.filename, data[: len(data) // 2] if number < episodes else data)
    return target


def deliver(home: Home, *archives: Path) -> None:
    """Puts archives into the inbox as a person should: under another name first, then renamed."""
    for archive in archives:
        arriving = home.inbox / f"{archive.name}.part"
        shutil.copyfile(archive, arriving)
        arriving.replace(home.inbox / archive.name)


def deliver_half(home: Home, archive: Path) -> None:
    """A copy into the inbox that broke off."""
    data = archive.read_bytes()
    (home.inbox / archive.name).write_bytes(data[: len(data) // 2])


def _record(root: Path, day: str) -> Path:
    home = Home(root / "recorded").prepare()
    return record_day(home, day, _LARGE_EPISODES if day == LARGE else EPISODES, seed=_SEED)
