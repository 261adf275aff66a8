"""A snapshot of the competition's leaderboard through the official client, kept as ``leaderboards/DATE.csv``.

What is downloaded during a day (UTC) shows results of that day, so it is a snapshot of the next one: a rating never knows
games of the day that it rates.
"""

import tempfile
import zipfile
from datetime import date, timedelta
from pathlib import Path
from typing import Protocol

from tcg_core.base.home import Home
from tcg_core.catalog.connection import now
from tcg_core.fetch.competition import COMPETITION
from tcg_core.fetch.errors import FetchError
from tcg_core.fetch.remote import _authenticated, _call
from tcg_core.ratings.leaderboards import Leaderboard, import_leaderboard


class LeaderboardSource(Protocol):
    """Where the present leaderboard comes from."""

    def table(self, folder: Path) -> Path:
        """Downloads it into ``folder``, as a zip with one CSV."""


class KaggleLeaderboard:
    """:class:`LeaderboardSource` over the official client. Raises :class:`~tcg_core.fetch.errors.FetchError` and what it is
    raised as without client or credentials."""

    def __init__(self, competition: str = COMPETITION) -> None:
        self._competition = competition
        self._api = _authenticated()

    def table(self, folder: Path) -> Path:
        target = folder / f"{self._competition}.zip"
        what = f"leaderboard of {self._competition}"
        _call(what, lambda: self._api.competition_leaderboard_download(self._competition, str(folder), quiet=True))
        if not target.is_file():
            raise FetchError(f"{what}: the client left no {target.name}")
        return target


def fetch_leaderboard(home: Home, source: LeaderboardSource, replace: bool = False) -> Leaderboard:
    """Downloads the present table and keeps it as the snapshot of the day after the download ended (UTC).

    The zip's checksum must hold, since a table that was cut off is still a table. Raises :class:`FetchError` for a failed
    or damaged download, and what :func:`~tcg_core.ratings.leaderboards.import_leaderboard` raises: nothing is kept then.
    """
    with tempfile.TemporaryDirectory(prefix="tcg-leaderboard-") as name:
        file = source.table(Path(name))
        as_of = (date.fromisoformat(now()[:10]) + timedelta(days=1)).isoformat()
        try:
            with zipfile.ZipFile(file) as archive:
                broken = archive.testzip()
        except (zipfile.BadZipFile, OSError, EOFError):
            broken = file.name
        if broken is not None:
            raise FetchError(f"leaderboard: the download is no whole zip ({broken}); nothing was kept, try again")
        return import_leaderboard(home, file, as_of, replace)
