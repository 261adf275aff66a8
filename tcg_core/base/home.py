"""The data home: where every kind of file lives, and nothing else knows."""

import os
import re
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from tcg_core.base.atomic import make_directory
from tcg_core.base.errors import HomeError, TcgError

OUTSIDE_IDENTITY = "where files lie changes nothing of what is in them"

VARIABLE = "TCG_DATA"
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")


class NotADay(TcgError):
    """A day name that is no calendar date."""


def parse_day(text: str) -> str:
    """Returns ``text`` if it is a calendar date ``YYYY-MM-DD``; raises :class:`NotADay` otherwise."""
    if _DAY.fullmatch(text):
        try:
            date.fromisoformat(text)
        except ValueError as error:
            raise NotADay(f"day {text!r}: {error}") from None
        return text
    raise NotADay(f"day {text!r} is not a date: expected YYYY-MM-DD, as in 2026-08-03")


@dataclass(frozen=True)
class Home:
    """The data home at ``root``. Paths only; :meth:`prepare` makes the directories."""

    root: Path

    @classmethod
    def resolve(cls, root: Path | str | None = None) -> "Home":
        """``root``, else ``$TCG_DATA``, else ``data/`` of the project (beside the package)."""
        chosen = root or os.environ.get(VARIABLE) or Path(__file__).resolve().parents[2] / "data"
        return cls(Path(chosen).expanduser().resolve())

    def prepare(self) -> "Home":
        """Makes the directories and proves that they can be written; raises :class:`HomeError` naming the path."""
        try:
            for path in (self.inbox, self.archives, self.days, self.staging, self.quarantine, self.decks):
                make_directory(path)
            probe = self.root / f".tmp-{os.getpid()}-probe"
            probe.write_bytes(b"")
            probe.unlink()
        except OSError as error:
            raise HomeError(
                f"data home {self.root} cannot be written: {error.strerror or error}; set {VARIABLE} to a directory of yours"
            ) from None
        return self

    @property
    def inbox(self) -> Path:
        """Archives as they arrive: ``inbox/DATE.zip``."""
        return self.root / "inbox"

    @property
    def archives(self) -> Path:
        """Taken archives: ``archives/DATE/<sha256>.zip``."""
        return self.root / "archives"

    @property
    def staging(self) -> Path:
        """Days that have not passed their checks: ``staging/DATE/<sha12>/``."""
        return self.root / "staging"

    @property
    def days(self) -> Path:
        """Promoted days: ``days/DATE/<sha12>/rows.parquet`` and ``manifest.json``."""
        return self.root / "days"

    @property
    def proofs(self) -> Path:
        """Evidence that days of other code are what this code would build: ``proofs/DATE/<dataset>.<code>.json``."""
        return self.root / "proofs"

    @property
    def quarantine(self) -> Path:
        """What could not be used of a day and why: ``quarantine/DATE.jsonl``."""
        return self.root / "quarantine"

    @property
    def decisions(self) -> Path:
        """What a person decided about a day last, an exclusion or a restored build: ``decisions/DATE.json``."""
        return self.root / "decisions"

    @property
    def leaderboards(self) -> Path:
        """Snapshots of Kaggle's leaderboard: ``leaderboards/DATE.csv``, the table as it stood at the start of DATE."""
        return self.root / "leaderboards"

    @property
    def ratings(self) -> Path:
        """Ratings of agents by day: ``ratings/<id>/``."""
        return self.root / "ratings"

    @property
    def drift(self) -> Path:
        """What each day's field looked like: ``drift/DATE/<id>/``."""
        return self.root / "drift"

    @property
    def decks(self) -> Path:
        """Deck registry: ``decks/NAME.csv``, 60 card ids, one a line."""
        return self.root / "decks"

    @property
    def cards(self) -> Path:
        """Static card and attack tables: ``cards/<id>/``."""
        return self.root / "cards"

    @property
    def card_csv(self) -> Path:
        """Card data that a user may drop in, joined into the static tables when there: ``EN_Card_Data.csv``."""
        return self.root / "EN_Card_Data.csv"

    @property
    def plans(self) -> Path:
        """TBPTT work plans: ``plans/<id>/``."""
        return self.root / "plans"

    @property
    def checkpoints(self) -> Path:
        """Training runs: ``checkpoints/RUN/step_N/`` and the pointers ``latest.json``, ``best.json``."""
        return self.root / "checkpoints"

    @property
    def curricula(self) -> Path:
        """Which run each phase of a curriculum is executing: ``curricula/<key of its recipe>.json``; and what was
        launched in Dagster: ``curricula/launched/<key>.json``."""
        return self.root / "curricula"

    @property
    def nights(self) -> Path:
        """Runs that a nightly began and that have not ended: ``nights/RUN.json``."""
        return self.root / "nights"

    @property
    def brought(self) -> Path:
        """Training runs that came from another data home: ``brought/RUN.json``."""
        return self.root / "brought"

    @property
    def spill(self) -> Path:
        """Row groups that a training run put out of memory: ``cache/spill/RUN/``; of no use once it has ended."""
        return self.root / "cache" / "spill"

    @property
    def runs(self) -> Path:
        """TensorBoard event files: ``runs/RUN/``."""
        return self.root / "runs"

    @property
    def artifacts(self) -> Path:
        """Converted PyTorch artifacts: ``artifacts/<id>/``."""
        return self.root / "artifacts"

    @property
    def submissions(self) -> Path:
        """Packed submissions: ``submissions/<id>/submission.tar.gz``."""
        return self.root / "submissions"

    @property
    def tournaments(self) -> Path:
        """Tournaments: ``tournaments/<id>/``."""
        return self.root / "tournaments"

    @property
    def catalog(self) -> Path:
        """The SQLite day catalog."""
        return self.root / "catalog.sqlite"

    @property
    def dagster(self) -> Path:
        """Dagster's own storage, apart from the catalog; never the only copy of anything."""
        return self.root / "dagster"

    @property
    def trainer_lock(self) -> Path:
        """Held by the one trainer of this home."""
        return self.root / "trainer.lock"
