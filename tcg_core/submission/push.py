"""Sends a submission to Kaggle: shown first, counted against the day's five, on a typed confirmation only.

No asset, job or schedule calls this; it needs a person who types.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tcg_core.base.errors import TcgError
from tcg_core.base.home import Home
from tcg_core.base.manifest import Manifest, verify_files
from tcg_core.catalog import registry
from tcg_core.catalog.connection import now
from tcg_core.catalog.promotions import champion, history
from tcg_core.fetch.competition import Competition
from tcg_core.submission.ladder import NOISE_TEXT, LadderRecord, add_push, read_record
from tcg_core.submission.names import ARCHIVE, KIND

#: Submissions that Kaggle takes a day (UTC), and how many of the latest stay active.
A_DAY, ACTIVE = 5, 2
_TYPED = 8


class PushRefused(TcgError):
    """A submission that was not sent, and why."""


@dataclass(frozen=True)
class Proposal:
    """What is about to be sent: facts for a person, how many of the day's submissions are left, what must be typed."""

    submission: str
    archive: Path
    left: int
    facts: dict[str, Any]

    @property
    def typed(self) -> str:
        """What confirms it: the head of the submission's id."""
        return self.submission[:_TYPED]


def propose(home: Home, submission: str, competition: Competition) -> Proposal:
    """Reads what would be sent. Raises :class:`PushRefused` when the day's submissions are used up, and what
    :func:`~tcg_core.catalog.registry.require_passed` raises."""
    directory = registry.require_passed(home, KIND, submission)
    manifest = verify_files(directory)
    today = now()[:10]
    used = sum(item.at.startswith(today) for item in competition.recent())
    if used >= A_DAY:
        raise PushRefused(
            f"{used} submissions were sent on {today} (UTC): Kaggle takes {A_DAY} a day; the next day starts at 00:00"
        )
    return Proposal(submission, directory / ARCHIVE, A_DAY - used, _facts(home, manifest, directory))


def push(home: Home, proposal: Proposal, competition: Competition, typed: str) -> LadderRecord:
    """Sends it if ``typed`` is what the proposal asks for; returns the ladder's record. Raises :class:`PushRefused`."""
    if typed.strip() != proposal.typed:
        raise PushRefused(f"not sent: {proposal.typed} was asked for, {typed.strip()[:40]!r} was typed")
    reference = competition.send(proposal.archive, f"tcg {proposal.submission}")
    return add_push(home, proposal.submission, reference)


def confirm_and_push(home: Home, submission: str, competition: Competition, show: Callable[[Proposal], str]) -> LadderRecord:
    """The whole of it; ``show`` presents the proposal to a person and returns what was typed."""
    proposal = propose(home, submission, competition)
    return push(home, proposal, competition, show(proposal))


def _facts(home: Home, manifest: Manifest, directory: Path) -> dict[str, Any]:
    decisions = [item for item in history(home) if item.challenger == manifest.id]
    before = read_record(home, manifest.id)
    return {
        "archive": str(directory / ARCHIVE),
        "bytes": (directory / ARCHIVE).stat().st_size,
        "sha256": manifest.files[ARCHIVE],
        "deck": f"{manifest.config['deck']} ({manifest.config['deck_sha256'][:12]})",
        "generations": ", ".join(manifest.config["generations"]),
        "artifact": manifest.inputs[0].id,
        "champion": "it reigns" if champion(home) == manifest.id else f"no: {champion(home)} reigns",
        "last verdict": f"{decisions[-1].verdict}: {decisions[-1].reason}" if decisions else "no tournament has judged it",
        "sent before": ", ".join(item.at for item in before.pushes) or "never",
        "scores so far": ", ".join(f"{item.score:g} ({item.date})" for item in before.scores) or "none",
        "note": f"the latest {ACTIVE} submissions stay active; {NOISE_TEXT}",
    }
