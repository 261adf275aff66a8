"""Snapshots of Kaggle's leaderboard: CSV files that a person drops into ``leaderboards/DATE.csv`` or imports.

DATE is the day at whose start the table held. A table downloaded during a day shows results of that day, so it is of the next
one: as-of never reaches into the day it rates.
"""

import csv
import io
import math
import zipfile
from dataclasses import dataclass
from pathlib import Path

from tcg_core.base.atomic import write_bytes
from tcg_core.base.digest import sha256_bytes
from tcg_core.base.home import Home, NotADay, parse_day
from tcg_core.catalog.errors import LeaderboardError

NAME, SCORE = "TeamName", "Score"


@dataclass(frozen=True)
class Leaderboard:
    """One snapshot: score by team name. ``unscored``: teams without a score, left out; ``repeated``: names that occur again
    (the best score counts)."""

    as_of: str
    scores: dict[str, float]
    sha256: str
    unscored: int
    repeated: int


def leaderboards(home: Home) -> list[Leaderboard]:
    """All snapshots of the home by date; raises :class:`LeaderboardError` naming file and line."""
    found = []
    for path in sorted(home.leaderboards.glob("[!.]*.csv")):
        try:
            as_of = parse_day(path.stem)
        except NotADay as error:
            raise LeaderboardError(f"{path}: its name is no day: {error}") from None
        found.append(parse_leaderboard(path.read_bytes(), as_of, str(path)))
    return found


def import_leaderboard(home: Home, file: Path, as_of: str, replace: bool = False) -> Leaderboard:
    """Checks a snapshot (a CSV, or the zip with one CSV that Kaggle serves) and puts it at its place.

    Raises :class:`LeaderboardError` if it cannot be read or another snapshot of that date is there and ``replace`` is not given.
    """
    parse_day(as_of)
    data = _bytes(file)
    board = parse_leaderboard(data, as_of, str(file))
    target = home.leaderboards / f"{as_of}.csv"
    if target.is_file() and target.read_bytes() != data and not replace:
        raise LeaderboardError(f"{target} is there already with other content; say --replace to put {file} in its place")
    write_bytes(target, data)
    return board


def parse_leaderboard(data: bytes, as_of: str, where: str) -> Leaderboard:
    """A snapshot from its bytes; columns other than TeamName and Score are ignored."""
    try:
        reader = csv.DictReader(io.StringIO(data.decode("utf-8-sig"), newline=""))
        absent = {NAME, SCORE} - set(reader.fieldnames or ())
        if absent:
            raise LeaderboardError(f"{where}: column {', '.join(sorted(absent))} is absent")
        scores: dict[str, float] = {}
        unscored = repeated = 0
        for line, row in enumerate(reader, start=2):
            name, text = (row[NAME] or "").strip(), (row[SCORE] or "").strip()
            if not name:
                raise LeaderboardError(f"{where} line {line}: no {NAME}")
            if not text:
                unscored += 1
                continue
            repeated += name in scores
            scores[name] = max(_score(text, where, line), scores.get(name, -math.inf))
    except (UnicodeDecodeError, csv.Error) as error:
        raise LeaderboardError(f"{where} is no CSV text: {error}") from None
    if not scores:
        raise LeaderboardError(f"{where}: no team has a score")
    return Leaderboard(as_of, scores, sha256_bytes(data), unscored, repeated)


def _score(text: str, where: str, line: int) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise LeaderboardError(f"{where} line {line}: {SCORE} {text!r:.40} is no number")
    return value


def _bytes(file: Path) -> bytes:
    try:
        if not zipfile.is_zipfile(file):
            return file.read_bytes()
        with zipfile.ZipFile(file) as archive:
            tables = [name for name in archive.namelist() if name.endswith(".csv")]
            if len(tables) != 1:
                raise LeaderboardError(f"{file} holds {len(tables)} CSV files, expected one")
            return archive.read(tables[0])
    except (OSError, zipfile.BadZipFile) as error:
        raise LeaderboardError(f"{file} cannot be read: {error}") from None
