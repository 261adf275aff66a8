"""Submissions of the competition through the official client: what was sent, and sending one more."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol, TypeVar

from tcg_core.fetch.errors import FetchError
from tcg_core.fetch.remote import _authenticated, _quiet

COMPETITION = "pokemon-tcg-ai-battle"
_PAGE = 100
T = TypeVar("T")


@dataclass(frozen=True)
class ListedSubmission:
    """One submission as Kaggle lists it. ``at``: UTC time as ``YYYY-MM-DDTHH:MM:SSZ``; score: None while there is none."""

    ref: str
    at: str
    description: str
    status: str
    score: float | None


class Competition(Protocol):
    """Where submissions go."""

    def recent(self) -> tuple[ListedSubmission, ...]:
        """The submissions of this account, the newest first."""

    def send(self, archive: Path, message: str) -> str:
        """Sends one; returns its reference."""


class KaggleCompetition:
    """:class:`Competition` over the official client. Raises :class:`~tcg_core.fetch.errors.FetchError`, whose text quotes
    neither addresses nor keys."""

    def __init__(self, name: str = COMPETITION) -> None:
        self._name = name
        self._api = _authenticated()

    def recent(self) -> tuple[ListedSubmission, ...]:
        found = _call("the list of submissions", lambda: self._api.competition_submissions(self._name, page_size=_PAGE))
        listed = [_sent(item) for item in found or () if item is not None]
        return tuple(sorted(listed, key=lambda item: item.at, reverse=True))

    def send(self, archive: Path, message: str) -> str:
        answer = _call(archive.name, lambda: self._api.competition_submit(str(archive), message, self._name, quiet=True))
        reference = str(getattr(answer, "ref", "") or "")
        if reference in ("", "0"):
            raise FetchError(f"{archive.name}: the upload did not complete; nothing was submitted")
        return reference


def _sent(item: Any) -> ListedSubmission:
    at = item.date
    if isinstance(at, datetime):
        at = (at if at.tzinfo else at.replace(tzinfo=UTC)).astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    score = str(item.public_score or "").strip()
    status = getattr(item.status, "name", item.status)
    return ListedSubmission(str(item.ref), str(at), str(item.description or ""), str(status), float(score) if score else None)


def _call(what: str, request: Callable[[], T]) -> T:
    """Class and HTTP status only: the text of a client's error may quote what was sent."""
    try:
        with _quiet():
            return request()
    except Exception as error:  # the client raises bare Exceptions too
        status = getattr(getattr(error, "response", None), "status_code", None)
        said = f"HTTP {status}" if status is not None else type(error).__name__
        raise FetchError(f"{what}: Kaggle answered {said}; look at the competition's page before sending again") from None
