"""What is overdue: a new day, a clean tournament, a decision about the champion. Pure functions of times, and their reading.

The clock of tournament and champion runs only while something waits for them: where nothing new comes, nothing is late.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from tcg_core.base.home import Home
from tcg_core.catalog.connection import catalog
from tcg_core.catalog.promotions import champion
from tcg_core.catalog.registry import rows_of
from tcg_core.ops.maintenance import Maintenance


@dataclass(frozen=True)
class Times:
    """days: when the archive of each validated day was taken; tournament: when the last clean one was made, None: never;
    undecided: the same time, if nothing was decided by that tournament."""

    days: tuple[datetime, ...] = ()
    tournament: datetime | None = None
    undecided: datetime | None = None


@dataclass(frozen=True)
class Missed:
    """A deadline that passed. asset: what is late; since: what has waited so long; hours: the limit."""

    asset: str
    since: datetime
    hours: int


def missed(times: Times, now: datetime, day_hours: int, evaluation_hours: int, nightly: bool) -> Iterator[Missed]:
    """Deadlines that passed at ``now``; a home without a day has none.

    ``nightly``: whether the nightly run is on; without it nobody promised a tournament.
    """
    if times.days and day_hours and now - max(times.days) > timedelta(hours=day_hours):
        yield Missed("parquet_day", max(times.days), day_hours)
    if not nightly or not evaluation_hours:
        return
    waits = min((day for day in times.days if times.tournament is None or day > times.tournament), default=None)
    for asset, since in (("tournament", waits), ("champion", times.undecided)):
        if since is not None and now - since > timedelta(hours=evaluation_hours):
            yield Missed(asset, since, evaluation_hours)


def times_of(home: Home) -> Times:
    """The times of a home, from its catalog alone."""
    reigning = champion(home)
    clean = next((row for row in rows_of(home, "tournament") if row.state == "passed"), None)
    with catalog(home) as connection:
        days = connection.execute(
            "SELECT y.taken_at AS at FROM datasets d JOIN days y USING (day) WHERE d.state = 'validated'"
        ).fetchall()
        decided = (
            clean is None
            or connection.execute(
                "SELECT 1 FROM promotions WHERE tournament = ?1 UNION SELECT 1 FROM artifact_inputs"
                " WHERE kind = 'tournament' AND id = ?1 AND input_kind = 'submission' AND position = 0 AND input_id = ?2",
                (clean.id, reigning),
            ).fetchone()
        )
    played = datetime.fromisoformat(clean.registered_at) if clean else None
    return Times(tuple(datetime.fromisoformat(row["at"]) for row in days), played, None if decided else played)


def missed_now(home: Home, configured: Maintenance, nightly: bool) -> list[Missed]:
    """Deadlines that passed by now."""
    now = datetime.now(UTC)
    return list(missed(times_of(home), now, configured.day_hours, configured.evaluation_hours, nightly))
