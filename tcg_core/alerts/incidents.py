"""Alerts: one per incident, with a link and the first thing to do, to every configured channel.

The first failure of its kind opens an incident. Each channel receives it once. The next success of what failed closes it.
``notify/incidents.json`` of the data home records which are open.
"""

import json
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from tcg_core.alerts.channels import Channel, channels
from tcg_core.alerts.redact import redact
from tcg_core.alerts.remedies import first_step
from tcg_core.base.atomic import write_json
from tcg_core.base.digest import sha256_json
from tcg_core.base.errors import IntegrityError
from tcg_core.base.home import Home
from tcg_core.base.lock import hold
from tcg_core.catalog.connection import now

__all__ = [
    "Delivery",
    "Incident",
    "IncidentChanges",
    "Open",
    "channels",
    "incident",
    "keep_told",
    "notify",
    "open_incidents",
    "resolve",
    "resolve_subject",
]
_LONGEST = 600
#: The holder of the lock may be waiting for a webhook that does not answer: ten seconds per incident.
_LOCK_SECONDS = 120.0


@dataclass(frozen=True)
class Incident:
    """Something that needs a person. ``key``: equal for repetitions of the same; ``subject``: what failed, as STEP[DAY]."""

    key: str
    subject: str
    title: str
    what: str
    first: str
    link: str

    @property
    def text(self) -> str:
        """What a channel shows."""
        lines = [self.title, self.what, f"First: {self.first}", self.link]
        return "\n".join(line for line in lines if line)


@dataclass(frozen=True)
class Open:
    """An open incident. ``untold``: channels to which it could not be delivered yet."""

    incident: Incident
    first_at: str
    last_at: str
    count: int
    untold: tuple[str, ...]


@dataclass(frozen=True)
class Delivery:
    """The result of one alert. ``results``: channel name -> "" if delivered, else the error. Channels that already know are
    absent."""

    new: bool
    results: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class IncidentChanges:
    """What :func:`keep_told` did. problems: failed deliveries, as CHANNEL: why."""

    opened: tuple[Incident, ...]
    closed: tuple[Incident, ...]
    still: tuple[Incident, ...]
    problems: tuple[str, ...] = ()


def incident(job: str, step: str, error: str, *, partition: str = "", link: str = "", first: str = "") -> Incident:
    """Makes an incident from a failure; pure. The same failure of the same step and day has the same key, whatever its run,
    job, numbers and hashes. ``job``: Dagster's own names, which begin with two underscores, are not shown."""
    message = " ".join(error.split()) or "no message"
    subject = f"{step or job}[{partition}]" if partition else step or job
    cause = re.sub(r"[0-9a-f]{6,}|\d+", "#", message.lower())
    title = f"tcg: {subject} failed" + (f" in {job}" if step and step != job and not job.startswith("__") else "")
    short = message if len(message) <= _LONGEST else message[: _LONGEST - 1] + "…"
    return Incident(
        sha256_json([subject, cause])[:16], subject, title, short, first or first_step(step or job, partition, message), link
    )


def notify(home: Home, found: Incident, to: Sequence[Channel] | None = None) -> Delivery:
    """Sends the incident to every channel (those configured, or ``to``) that has not received it yet.

    A channel that fails is tried again at the next occurrence; no failure of a channel is raised. Secrets are removed
    before anything is stored or sent.
    """
    safe = replace(found, **{name: redact(str(getattr(found, name))) for name in ("subject", "title", "what", "first", "link")})
    with _state(home) as opened:
        before = opened.get(safe.key)
        targets = tuple(channels(home) if to is None else to)
        told = {} if before is None else {name: "" for name in (c.name for c in targets) if name not in before.untold}
        results = {channel.name: redact(channel.send(safe.title, safe.text)) for channel in targets if channel.name not in told}
        untold = tuple(name for name, problem in results.items() if problem)
        at = now()
        opened[safe.key] = Open(safe, before.first_at if before else at, at, before.count + 1 if before else 1, untold)
    return Delivery(before is None, results)


def keep_told(home: Home, scope: str, found: Sequence[Incident], to: Sequence[Channel] | None = None) -> IncidentChanges:
    """Makes ``found`` the open incidents whose key begins with ``scope``. New ones are sent; open ones that are not in ``found``
    are closed. The rest stay as they are, except that failed deliveries are tried again."""
    held = {item.incident.key: item for item in open_incidents(home) if item.incident.key.startswith(scope)}
    now_open = {item.key: item for item in found}
    closed = [item.incident for key, item in held.items() if key not in now_open and resolve(home, key)]
    opened: list[Incident] = []
    still: list[Incident] = []
    problems: list[str] = []
    for key, item in now_open.items():
        before = held.get(key)
        (still if before else opened).append(item)
        if before is None or before.untold:
            sent = notify(home, item, to)
            problems += [f"{channel}: {problem}" for channel, problem in sent.results.items() if problem]
    return IncidentChanges(tuple(opened), tuple(closed), tuple(still), tuple(problems))


def resolve(home: Home, key: str) -> bool:
    """Closes an incident; True if it was open. The same failure later is a new incident."""
    with _state(home) as opened:
        return opened.pop(key, None) is not None


def resolve_subject(home: Home, subject: str) -> list[Incident]:
    """Closes every incident of a subject that succeeded; returns them."""
    if not _path(home).is_file():
        return []
    with _state(home) as opened:
        gone = [key for key, held in opened.items() if held.incident.subject == subject]
        return [opened.pop(key).incident for key in gone]


def open_incidents(home: Home) -> list[Open]:
    """What is open, the oldest first."""
    return sorted(_read(_path(home)).values(), key=lambda held: (held.first_at, held.incident.key))


def _path(home: Home) -> Path:
    return home.root / "notify" / "incidents.json"


@contextmanager
def _state(home: Home) -> Iterator[dict[str, Open]]:
    """The open incidents, written back if they changed; one process at a time."""
    path = _path(home)
    with hold(path.with_name("lock"), "alert", wait=_LOCK_SECONDS):
        opened = _read(path)
        before = dict(opened)
        yield opened
        if opened != before:
            write_json(path, {key: asdict(held) for key, held in opened.items()})


def _read(path: Path) -> dict[str, Open]:
    if not path.is_file():
        return {}
    try:
        return {
            key: Open(**held | {"incident": Incident(**held["incident"]), "untold": tuple(held["untold"])})
            for key, held in json.loads(path.read_text()).items()
        }
    except (ValueError, KeyError, TypeError) as error:
        raise IntegrityError(f"{path} cannot be read: {error}; remove it to start anew") from None
