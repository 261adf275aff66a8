"""What became of the builds of a day, as far as their files say: which is the validated one, and why the others are not.

The catalog decides; this is asked only where the catalog is lost. A build was validated if it was promoted (it lies below
``days/``) and its ``intact`` check was recorded, which the promotion does last.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Literal

from tcg_core.base.atomic import write_json
from tcg_core.base.errors import IntegrityError
from tcg_core.base.home import Home
from tcg_core.catalog.connection import now
from tcg_core.catalog.records import DatasetRecord
from tcg_core.catalog.registry import RecordedChecks


@dataclass(frozen=True)
class Build:
    """A build on disk. staged, promoted: its recorded checks, None where none are recorded of this content; made_at: when its
    files were written (UTC)."""

    record: DatasetRecord
    below_days: bool
    staged: RecordedChecks | None
    promoted: RecordedChecks | None
    made_at: str

    @property
    def changed_at(self) -> str:
        """When it was checked last (UTC)."""
        last = self.promoted if self.below_days and self.promoted else self.staged
        return last.at if last else self.made_at


@dataclass(frozen=True)
class DayDecision:
    """What a person decided about a day last: this build of it is out of training, or is the validated one again."""

    day: str
    dataset_id: str
    state: Literal["excluded", "validated"]
    reason: str
    at: str


@dataclass(frozen=True)
class DatasetState:
    """A dataset's state, why, and when it was entered (UTC)."""

    state: str
    reason: str | None
    at: str


def decide(home: Home, day: str, dataset_id: str, state: Literal["excluded", "validated"], reason: str = "") -> None:
    """Writes ``decisions/DAY.json``: no build and no check says what a person decided, so that a lost catalog would lose it."""
    write_json(home.decisions / f"{day}.json", asdict(DayDecision(day, dataset_id, state, reason, now())))


def decision_about(home: Home, day: str) -> DayDecision | None:
    """The last decision about a day; None if there is none on disk. Raises :class:`IntegrityError` for a file that is none."""
    path = home.decisions / f"{day}.json"
    if not path.is_file():
        return None
    try:
        return DayDecision(**json.loads(path.read_text()))
    except (OSError, ValueError, TypeError) as error:
        raise IntegrityError(f"{path} is no decision about a day: {error}") from None


def states_of(builds: Iterable[Build], archive_sha256: str, decision: DayDecision | None) -> Mapping[str, DatasetState]:
    """By dataset id, the state of each build of a day whose present archive is this one; pure.

    The build that was validated last is it still, unless it was found damaged, or a person decided otherwise since.
    """
    found: dict[str, DatasetState] = {}
    was_validated: list[Build] = []
    for build in builds:
        found[build.record.dataset_id] = _before_promotion(build)
        if build.record.archive_sha256 != archive_sha256:
            found[build.record.dataset_id] = DatasetState("superseded", "the day has another archive", build.changed_at)
        elif build.below_days and build.promoted:
            was_validated.append(build)
    was_validated.sort(key=lambda build: (build.changed_at, build.record.dataset_id))
    for build, later in zip(was_validated, [*was_validated[1:], None], strict=False):
        damage = [check.message for check in build.promoted.checks if check.blocks] if build.promoted else []
        superseded = (
            DatasetState("superseded", None, later.changed_at) if later else DatasetState("validated", None, build.changed_at)
        )
        found[build.record.dataset_id] = DatasetState("damaged", damage[0], build.changed_at) if damage else superseded
    return found | _decided(found, was_validated, decision) if decision and decision.dataset_id in found else found


def _decided(found: Mapping[str, DatasetState], was_validated: list[Build], decision: DayDecision) -> dict[str, DatasetState]:
    """What a decision changes. A build that was promoted after it stands beside an exclusion, and instead of a build that was
    made the validated one again."""
    others = [build.changed_at for build in was_validated if build.record.dataset_id != decision.dataset_id]
    overtaken = decision.at < max(others, default="")
    if overtaken and decision.state == "validated":
        return {}
    changed = (
        {}
        if overtaken
        else {id: DatasetState("superseded", None, decision.at) for id, s in found.items() if s.state == "validated"}
    )
    return changed | {decision.dataset_id: DatasetState(decision.state, decision.reason or None, decision.at)}


def _before_promotion(build: Build) -> DatasetState:
    """Staged, or failed by its checks; a build that no promotion finished is staged wherever it lies."""
    failed = sorted(check.name for check in build.staged.checks if check.blocks) if build.staged else []
    if failed:
        return DatasetState("failed", f"check {', '.join(failed)} failed", build.changed_at)
    return DatasetState("staged", None, build.changed_at)
