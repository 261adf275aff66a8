"""What became of a submission on Kaggle: when it was sent, its scores with their dates, in ``ladder/ID.json``.

The submission's own directory is immutable; the ladder's file lies next to it in the data home.
"""

import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from tcg_core.base.atomic import write_json
from tcg_core.base.errors import TcgError
from tcg_core.base.home import Home, parse_day
from tcg_core.catalog import registry
from tcg_core.catalog.connection import now
from tcg_core.fetch.competition import ListedSubmission
from tcg_core.submission.names import KIND

#: Standard deviation, and largest difference, of ladder scores of the very same bytes as the field saw them.
NOISE = (28, 173)
NOISE_TEXT = (
    f"the same bytes were seen {NOISE[0]} (standard deviation) to {NOISE[1]} points apart: smaller differences say nothing"
)


class LadderError(TcgError):
    """A score or a record that cannot be kept."""


@dataclass(frozen=True)
class Push:
    """One sending: UTC time and Kaggle's reference."""

    at: str
    ref: str


@dataclass(frozen=True)
class Score:
    """A ladder score on a date; source: ``entered`` or ``fetched``."""

    date: str
    score: float
    source: str
    noted_at: str


@dataclass(frozen=True)
class LadderRecord:
    """All that is known of one submission on the ladder, in order of time."""

    submission: str
    pushes: tuple[Push, ...] = ()
    scores: tuple[Score, ...] = ()


def ladder_path(home: Home, submission: str) -> Path:
    """Where a submission's record is."""
    return home.root / "ladder" / f"{submission}.json"


def read_record(home: Home, submission: str) -> LadderRecord:
    """The record, empty if there is none; raises :class:`LadderError` naming a file that is none."""
    path = ladder_path(home, submission)
    if not path.is_file():
        return LadderRecord(submission)
    try:
        values = json.loads(path.read_text())
        pushes = tuple(Push(**item) for item in values["pushes"])
        return LadderRecord(values["submission"], pushes, tuple(Score(**item) for item in values["scores"]))
    except (ValueError, KeyError, TypeError) as error:
        raise LadderError(f"{path} is no ladder record: {error}") from None


def records(home: Home) -> list[LadderRecord]:
    """All records, by submission."""
    return [read_record(home, path.stem) for path in sorted((home.root / "ladder").glob("[!.]*.json"))]


def add_push(home: Home, submission: str, reference: str) -> LadderRecord:
    """Notes that a submission was sent."""
    found = read_record(home, submission)
    return _write(home, LadderRecord(submission, (*found.pushes, Push(now(), reference)), found.scores))


def add_score(home: Home, submission: str, score: float, date: str, source: str = "entered") -> LadderRecord:
    """Keeps a score with its date; the same date and score again changes nothing.

    Raises :class:`~tcg_core.base.errors.UnknownId` for an unknown submission, :class:`LadderError` for a score that is no number,
    :class:`~tcg_core.base.home.NotADay` for a date that is none.
    """
    registry.find(home, KIND, submission)
    parse_day(date)
    if not math.isfinite(score):
        raise LadderError(f"ladder score {score} is no number")
    found = read_record(home, submission)
    if any((item.date, item.score) == (date, score) for item in found.scores):
        return found
    scores = sorted((*found.scores, Score(date, float(score), source, now())), key=lambda item: (item.date, item.noted_at))
    return _write(home, LadderRecord(submission, found.pushes, tuple(scores)))


def take_scores(home: Home, sent: Sequence[ListedSubmission]) -> list[LadderRecord]:
    """Keeps today's listed scores of what was sent from here; returns the records that gained one."""
    listed = {item.ref: item for item in sent}
    changed = []
    for record in records(home):
        for push in record.pushes:
            item = listed.get(push.ref)
            if item is not None and item.score is not None:
                updated = add_score(home, record.submission, item.score, now()[:10], "fetched")
                if updated != record:
                    changed.append(updated)
    return changed


def _write(home: Home, record: LadderRecord) -> LadderRecord:
    write_json(ladder_path(home, record.submission), asdict(record))
    return record
