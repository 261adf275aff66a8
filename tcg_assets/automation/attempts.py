"""How often an arrival has been tried, and whether it is time to try it again."""

from dataclasses import dataclass

import dagster as dg

from tcg_assets.automation.inbox import Arrival

DAY_TAG, ARCHIVE_TAG = "tcg/day", "tcg/archive"
MOST_ATTEMPTS = 3
#: Seconds before the second attempt; each later one waits four times as long.
FIRST_PAUSE = 300.0


@dataclass(frozen=True)
class Attempt:
    """The next attempt of an arrival, 1-based, and why it is not made now ("" when it is)."""

    number: int
    held: str


def tags_of(arrival: Arrival) -> dict[str, str]:
    """Run tags by which later looks find the attempts of an arrival."""
    return {DAY_TAG: arrival.day, ARCHIVE_TAG: arrival.digest[:16]}


def next_attempt(instance: dg.DagsterInstance, arrival: Arrival, now: float) -> Attempt:
    """The next attempt. A run that failed is tried again after a pause, at most three times in all.

    A run that succeeded or was cancelled does not raise the number: Dagster knows its run key and starts nothing.
    """
    failed = instance.get_run_records(
        dg.RunsFilter(tags=tags_of(arrival), statuses=[dg.DagsterRunStatus.FAILURE]), limit=MOST_ATTEMPTS
    )
    number = len(failed) + 1
    if not failed:
        return Attempt(number, "")
    if len(failed) >= MOST_ATTEMPTS:
        return Attempt(number, f"failed {MOST_ATTEMPTS} times; materialize the day by hand when the cause is gone")
    wait = max(record.end_time or 0.0 for record in failed) + FIRST_PAUSE * 4 ** (len(failed) - 1) - now
    return Attempt(number, f"attempt {number} in {wait:.0f} s" if wait > 0 else "")
