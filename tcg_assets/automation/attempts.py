"""When what failed is tried again: the one back-off of the sensors, and the tags by which they find the failures."""

from dataclasses import dataclass

import dagster as dg

from tcg_assets.automation.inbox import Arrival

DAY_TAG, ARCHIVE_TAG = "tcg/day", "tcg/archive"
#: After so many failures a pause grows no further: nobody waits for its end, and the power would overflow.
_MOST_STEPS = 16


@dataclass(frozen=True)
class Backoff:
    """first: seconds before the second attempt; each later one waits four times as long, at most ``longest`` seconds.
    most: attempts in all, 0 for no limit; afterwards: what a person does then."""

    first: float
    longest: float = float("inf")
    most: int = 0
    afterwards: str = ""

    def pause(self, failures: int) -> float:
        """Seconds between the last of ``failures`` (1 or more) and the next attempt."""
        return min(self.first * 4.0 ** min(failures - 1, _MOST_STEPS), self.longest)

    def held(self, failures: int, last: float, now: float) -> str:
        """Why there is no attempt now, "" if there is one. last: end of the last failure; both in seconds since the epoch."""
        if not failures:
            return ""
        if self.most and failures >= self.most:
            return f"failed {failures} times; {self.afterwards}"
        wait = last + self.pause(failures) - now
        return f"failed {failures} times, tried again in {wait:.0f} s" if wait > 0 else ""


#: An archive of the inbox that could not be taken.
ARRIVALS = Backoff(300.0, most=3, afterwards="materialize the day by hand when the cause is gone")


@dataclass(frozen=True)
class Attempt:
    """The next attempt, 1-based, and why it is not made now ("" when it is)."""

    number: int
    held: str


def tags_of(arrival: Arrival) -> dict[str, str]:
    """Run tags by which later looks find the attempts of an arrival."""
    return {DAY_TAG: arrival.day, ARCHIVE_TAG: arrival.digest[:16]}


def next_attempt(instance: dg.DagsterInstance, tags: dict[str, str], backoff: Backoff, now: float) -> Attempt:
    """The next attempt of what the runs with ``tags`` tried. now: seconds since the epoch.

    Only failures count: a run that succeeded or was cancelled does not raise the number, for Dagster knows its run key and
    starts nothing.
    """
    asked = dg.RunsFilter(tags=tags, statuses=[dg.DagsterRunStatus.FAILURE])
    failed = instance.get_run_records(asked, limit=backoff.most or None)
    last = max((record.end_time or 0.0 for record in failed), default=0.0)
    return Attempt(len(failed) + 1, backoff.held(len(failed), last, now))
