"""Who is champion: the append-only record of what tournaments decided, each against the champion at that time.

The table is mirrored as ``promotions/NNNNNN.json`` in the data home, from which :func:`restore_promotions` fills a new catalog.
"""

import json
import sqlite3
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final, Literal

from tcg_core.base.atomic import write_json
from tcg_core.base.errors import TcgError
from tcg_core.base.home import Home
from tcg_core.catalog.connection import catalog, now, transaction

#: The first incumbent: a baseline that every home has.
BOOTSTRAP = "heuristic"
PROMOTED: Final = "promoted"
REJECTED: Final = "rejected"
INCONCLUSIVE: Final = "inconclusive"
Verdict = Literal["promoted", "rejected", "inconclusive"]
_REIGNING = "SELECT challenger FROM promotions WHERE verdict = 'promoted' ORDER BY sequence DESC LIMIT 1"


class DecisionsLost(TcgError):
    """The catalog does not have decisions that lie in ``promotions/``: a new one would hide them."""


class ChampionMoved(TcgError):
    """A decision against a champion that has been replaced."""


@dataclass(frozen=True)
class Promotion:
    """One decision: submission ``challenger`` against ``incumbent`` (a submission or :data:`BOOTSTRAP`) by a tournament."""

    sequence: int
    challenger: str
    incumbent: str
    tournament: str
    verdict: Verdict
    reason: str
    at: str


def promotions_root(home: Home) -> Path:
    """Where the decisions are mirrored."""
    return home.root / "promotions"


def champion(home: Home) -> str:
    """Id of the submission that was promoted last; :data:`BOOTSTRAP` before the first."""
    with catalog(home) as connection:
        return _champion(connection)


def challenged(home: Home, candidate: str, opponents: tuple[str, ...]) -> tuple[str, ...]:
    """``opponents`` with the champion among them, unless the candidate is that champion."""
    reigning = champion(home)
    return opponents if reigning == candidate or reigning in opponents else (*opponents, reigning)


def history(home: Home) -> tuple[Promotion, ...]:
    """All decisions, the oldest first."""
    with catalog(home) as connection:
        return tuple(_of(row) for row in connection.execute("SELECT * FROM promotions ORDER BY sequence"))


def record(home: Home, challenger: str, incumbent: str, tournament: str, verdict: Verdict, reason: str) -> Promotion:
    """Appends a decision if ``incumbent`` is still champion; a second one of the same tournament and incumbent returns the first.

    Raises :class:`ChampionMoved` if the champion has changed: of two concurrent promotions one wins; :class:`DecisionsLost` if
    earlier decisions lie on disk that the catalog lost.
    """
    with catalog(home) as connection:
        with transaction(connection):
            lost = unknown_decisions(home, connection)
            if lost:
                raise DecisionsLost(
                    f"{lost[0]} is a decision that {home.catalog} does not have: `tcg catalog rebuild` restores it"
                )
            query = "SELECT * FROM promotions WHERE tournament = ? AND incumbent = ?"
            found = connection.execute(query, (tournament, incumbent)).fetchone()
            if found is not None:
                return _of(found)
            reigning = _champion(connection)
            if reigning != incumbent:
                raise ChampionMoved(f"tournament {tournament}: judged against {incumbent}, but the champion is {reigning}")
            connection.execute(
                "INSERT INTO promotions (challenger, incumbent, tournament, verdict, reason, at) VALUES (?, ?, ?, ?, ?, ?)",
                (challenger, incumbent, tournament, verdict, reason, now()),
            )
            decided = _of(connection.execute("SELECT * FROM promotions ORDER BY sequence DESC LIMIT 1").fetchone())
        _mirror(home, connection)
    return decided


def unknown_decisions(home: Home, connection: sqlite3.Connection | None) -> list[Path]:
    """Decisions on disk that the catalog does not have; all of them without a catalog."""
    rows = connection.execute("SELECT sequence FROM promotions") if connection else ()
    known = {f"{row['sequence']:06d}" for row in rows}
    return sorted(path for path in promotions_root(home).glob("[0-9]*.json") if path.stem not in known)


def restore_promotions(connection: sqlite3.Connection, home: Home) -> int:
    """Fills an empty table from the mirror; returns how many decisions it read. Who is champion is never guessed: raises
    :class:`TcgError` naming a bad file, or the first that does not follow from those before it."""
    if connection.execute("SELECT 1 FROM promotions").fetchone():
        return 0
    count = 0
    for path in sorted(promotions_root(home).glob("[0-9]*.json")):
        try:
            found = Promotion(**json.loads(path.read_text()))
        except (OSError, ValueError, TypeError) as error:
            raise TcgError(f"{path} is no recorded decision: {error}") from None
        count += 1
        try:
            connection.execute(
                "INSERT INTO promotions VALUES (:sequence, :challenger, :incumbent, :tournament, :verdict, :reason, :at)",
                asdict(found),
            )
        except sqlite3.IntegrityError as error:
            raise TcgError(f"{path} does not follow from the decisions before it: {error}") from None
        if found.sequence != count:
            raise TcgError(f"{path} is decision {found.sequence}, expected {count}: a decision before it is missing")
    return count


def _champion(connection: sqlite3.Connection) -> str:
    row = connection.execute(_REIGNING).fetchone()
    return BOOTSTRAP if row is None else str(row["challenger"])


def _mirror(home: Home, connection: sqlite3.Connection) -> None:
    """Writes the decisions that are not on disk yet, those of a process that was killed before this point too."""
    for row in connection.execute("SELECT * FROM promotions ORDER BY sequence"):
        path = promotions_root(home) / f"{row['sequence']:06d}.json"
        if not path.is_file():
            write_json(path, asdict(_of(row)))


def _of(row: sqlite3.Row) -> Promotion:
    return Promotion(**dict(row))
