"""The index of published days: ``manifest.csv`` of the dataset ``<prefix>-index``, one line a day."""

import csv
import io
import re
from dataclasses import dataclass

from tcg_core.base.home import NotADay, parse_day
from tcg_core.fetch.errors import FetchError

OWNER = "kaggle"
PREFIX = f"{OWNER}/pokemon-tcg-ai-battle-episodes"
INDEX = f"{PREFIX}-index"
INDEX_FILE = "manifest.csv"

_SLUG = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]*/[A-Za-z0-9][A-Za-z0-9-]*")


@dataclass(frozen=True)
class Published:
    """A day as its publisher announces it. ``episodes`` and ``bytes`` (of the JSON, unpacked) are None where not told."""

    day: str
    dataset: str
    episodes: int | None = None
    bytes: int | None = None


def dataset_of(day: str) -> str:
    """The dataset of a day by the publisher's naming rule, for days that the index does not list yet."""
    return f"{PREFIX}-{day}"


def parse_index(text: str) -> tuple[Published, ...]:
    """The days of the index, by date. Columns beyond date, daily_dataset_slug, episode_count and total_bytes are ignored.

    Raises :class:`FetchError` naming line and column for a column that is absent, a day or dataset that is none, a day twice.
    """
    reader = csv.DictReader(io.StringIO(text.removeprefix("\ufeff")))
    absent = {"date", "daily_dataset_slug"} - set(reader.fieldnames or ())
    if absent:
        raise FetchError(f"{INDEX_FILE}: column {', '.join(sorted(absent))} is absent")
    days: dict[str, Published] = {}
    for line, row in enumerate(reader, start=2):
        try:
            day = parse_day((row["date"] or "").strip())
        except NotADay as error:
            raise FetchError(f"{INDEX_FILE} line {line}: {error}") from None
        slug = (row["daily_dataset_slug"] or "").strip()
        slug = slug if "/" in slug else f"{OWNER}/{slug}"
        if not _SLUG.fullmatch(slug):
            raise FetchError(f"{INDEX_FILE} line {line}: daily_dataset_slug {slug!r:.80} is no dataset")
        if day in days:
            raise FetchError(f"{INDEX_FILE} line {line}: day {day} twice")
        days[day] = Published(day, slug, _count(row, "episode_count", line), _count(row, "total_bytes", line))
    return tuple(days[day] for day in sorted(days))


def _count(row: dict[str, str | None], column: str, line: int) -> int | None:
    text = (row.get(column) or "").strip()
    if not text:
        return None
    try:
        return int(float(text))
    except (ValueError, OverflowError):
        raise FetchError(f"{INDEX_FILE} line {line}: {column} {text!r:.40} is no number") from None
