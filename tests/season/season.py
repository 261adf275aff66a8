"""The state of the season's test: where it runs, what went wrong so far, and what the catalog says."""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import dagster as dg

from tcg_core.base.home import Home
from tcg_core.catalog.connection import catalog
from tcg_core.catalog.datasets import DatasetRow, datasets_of
from tests.season.deployment import Deployment
from tests.season.records import deliver
from tests.ui.conftest import Served
from tests.ui.driving import until

#: Seconds that anything may take on a busy machine.
PATIENCE = 600.0


@dataclass(frozen=True)
class Fault:
    """Something that went wrong: what, on which page of the UI a person finds it, and the reason that is told there."""

    what: str
    page: str
    reason: str
    told: Callable[[], str]


@dataclass
class Season:
    """One deployment on one home, the recorded archives by day, and the list of what went wrong."""

    deployment: Deployment
    instance: dg.DagsterInstance
    folder: Path
    archives: dict[str, Path] = field(default_factory=dict)
    faults: list[Fault] = field(default_factory=list)
    began: float = field(default_factory=time.monotonic)

    @property
    def home(self) -> Home:
        """The data home."""
        return self.deployment.home

    @property
    def served(self) -> Served:
        """Where the UI is served now."""
        return self.deployment.served

    def arrive(self, *days: str) -> None:
        """Archives of these days, in this order, into the inbox."""
        deliver(self.home, *(self.archives[day] for day in days))

    def validated(self) -> dict[str, DatasetRow]:
        """The validated dataset of each day that has one."""
        with catalog(self.home) as connection:
            return {row.day: row for row in datasets_of(connection, state="validated")}

    def states(self, day: str) -> list[str]:
        """States of all datasets of a day, sorted."""
        with catalog(self.home) as connection:
            return sorted(row.state for row in datasets_of(connection, day))

    def await_days(self, *days: str) -> None:
        """Waits until these days are validated."""
        until(lambda: self.validated().keys() >= set(days), PATIENCE, f"days {', '.join(days)}")

    def must_tell(self, what: str, page: str, reason: str, told: Callable[[], str]) -> None:
        """A fault whose reason must be on its page, now (soon) and still at the end of the season."""
        until(lambda: reason in told(), 90.0, f"{page} tells of {what}: {reason!r}")
        self.faults.append(Fault(what, page, reason, told))
        self.say(f"the UI tells of it on {page}: {reason}")

    def say(self, line: str) -> None:
        """A line of progress: seconds since the beginning, load, text."""
        print(f"{time.monotonic() - self.began:6.0f} s  load {os.getloadavg()[0]:4.1f}  {line}", flush=True)

    @contextmanager
    def act(self, title: str) -> Iterator[None]:
        """Tells how long a part of the season took."""
        self.say(f"--- {title}")
        began = time.monotonic()
        yield
        self.say(f"    took {time.monotonic() - began:.0f} s")
