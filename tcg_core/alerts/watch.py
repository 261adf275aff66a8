"""Problems of a home that need a person, found in its catalog and files alone: one alert each, closed when it is fixed.

Who found a problem (the nightly audit, `tcg day verify`, a promotion) and how it was fixed makes no difference.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from tcg_core.alerts.deadlines import Missed, missed_now
from tcg_core.alerts.incidents import Incident, IncidentChanges, keep_told
from tcg_core.alerts.links import ui_link
from tcg_core.base.errors import TcgError
from tcg_core.base.home import Home
from tcg_core.base.same_code import CodeChanged
from tcg_core.catalog.connection import catalog
from tcg_core.catalog.kinds import DAY
from tcg_core.nightly.settings import load_nightly
from tcg_core.ops.code_servers import outdated
from tcg_core.ops.maintenance import FILE, Maintenance, load_maintenance
from tcg_core.ops.record import names_of, time_of
from tcg_core.ops.retention import read_retention

#: Keys of these incidents begin with it; those of failed runs are hashes.
SCOPE = "watch/"
#: Hours after which the last backup is too old: two nights.
BACKUP_HOURS = 48
_LATE = {
    "parquet_day": (
        "no new validated day for {hours} h",
        "look at inbox_sensor's last tick and at `tcg day ls`; `tcg day fetch --missing` gets what was published",
    ),
    "tournament": (
        "no clean tournament for {hours} h after a new day",
        "open the last run of `nightly`; if there is none, see whether the daemon runs: `tcg status`",
    ),
    "champion": (
        "no decision about the champion for {hours} h after a clean tournament",
        "open the last run of `nightly` and read why `champion` was not reached; `tcg champion decide` decides by hand",
    ),
}

_WAITS = {
    "parquet_day": "the newest archive was taken",
    "tournament": "a day waits that was taken",
    "champion": "a tournament waits that was played",
}


@dataclass(frozen=True)
class Damaged:
    """A day that is out of selection because its bytes changed on disk. ``since``: when that was found."""

    day: str
    dataset_id: str
    reason: str
    since: str


def damaged_days(home: Home) -> list[Damaged]:
    """Days whose last dataset is damaged and that have no validated one, by date."""
    query = (
        "SELECT day, dataset_id, reason, changed_at FROM datasets d WHERE state = 'damaged'"
        " AND NOT EXISTS (SELECT 1 FROM datasets v WHERE v.day = d.day AND v.state = 'validated')"
        " AND changed_at = (SELECT max(changed_at) FROM datasets v WHERE v.day = d.day AND v.state = 'damaged') ORDER BY day"
    )
    with catalog(home) as connection:
        rows = connection.execute(query).fetchall()
    return [Damaged(row["day"], row["dataset_id"], row["reason"] or "", row["changed_at"]) for row in rows]


def findings(home: Home, nightly: bool) -> list[Incident]:
    """Everything that needs a person, in order of weight. ``nightly``: whether the nightly run is switched on."""
    return [
        *(_code(item) for item in outdated(home)),
        *(_damage(item) for item in damaged_days(home)),
        *_archives(home),
        *_configuration(home),
        *_late(home, nightly),
        *_backup(home),
    ]


def watch(home: Home, nightly: bool) -> IncidentChanges:
    """Sends an alert for each new finding and closes the alerts of those that are fixed."""
    return keep_told(home, SCOPE, findings(home, nightly))


def found(subject: str, title: str, what: str, first: str, page: str) -> Incident:
    """An incident of this scope: one for each subject, even if its text changes between two checks."""
    return Incident(SCOPE + subject, subject, f"tcg: {title}", what, first, ui_link(page))


def _code(changed: CodeChanged) -> Incident:
    """Runs that such a server starts are refused until it is restarted; the night is then tried again by itself."""
    first = "restart `tcg ui` or the services; what was refused meanwhile is started again after it"
    return found("code", "the code changed while the services run", str(changed), first, "deployment")


def _damage(item: Damaged) -> Incident:
    first = f"`tcg day build {item.day}` builds it from its archive; look at the disk; see what was made from it: "
    first += f"`tcg lineage --day {item.day}`"
    page = f"assets/parquet_day?view=partitions&partition={item.day}"
    return found(f"damaged[{item.day}]", f"day {item.day} is damaged and out of training", item.reason, first, page)


def _archives(home: Home) -> Iterator[Incident]:
    query = (
        "SELECT d.day, c.message FROM datasets d JOIN artifact_checks c ON c.kind = ? AND c.id = d.dataset_id"
        " WHERE d.state = 'validated' AND c.name = 'archive_intact' AND NOT c.passed ORDER BY d.day"
    )
    with catalog(home) as connection:
        rows = connection.execute(query, (DAY,)).fetchall()
    for row in rows:
        day = row["day"]
        first = f"its rows are whole and stay in use; restore the archive from a backup, then `tcg day verify {day}`"
        page = f"assets/day_archive?view=partitions&partition={day}"
        yield found(f"archive[{day}]", f"the archive of {day} is not what was taken", row["message"], first, page)


def _configuration(home: Home) -> Iterator[Incident]:
    """A file of the home that cannot be read: what it sets is refused at its next use."""
    for name, load in (("maintenance", load_maintenance), ("retention", read_retention), ("nightly", load_nightly)):
        try:
            load(home)
        except TcgError as error:
            first = f"correct {name}.json in the data home, then reload the code location on the Deployment page"
            yield found(f"{name}.json", f"{name}.json cannot be read", str(error), first, "automation")


def _late(home: Home, nightly: bool) -> Iterator[Incident]:
    for item in missed_now(home, _settings(home), nightly):
        title, first = _LATE[item.asset]
        yield found(f"late[{item.asset}]", title.format(hours=item.hours), _since(item), first, f"assets/{item.asset}")


def _since(item: Missed) -> str:
    return f"{_WAITS[item.asset]} at {item.since:%Y-%m-%d %H:%M} UTC"


def _backup(home: Home) -> Iterator[Incident]:
    destination = _settings(home).destination
    if destination is None:
        return
    try:
        names = names_of(destination)
        last = time_of(names[-1]) if names else None
    except (OSError, ValueError) as error:
        last = None
        problem = f"{destination} cannot be read: {error}"
    else:
        problem = (
            f"the last backup in {destination} is of {last:%Y-%m-%d %H:%M} UTC" if last else f"{destination} holds no backup"
        )
    # Without a first backup, the time counts from its configuration.
    since = last or datetime.fromtimestamp((home.root / FILE).stat().st_mtime, UTC)
    if datetime.now(UTC) - since > timedelta(hours=BACKUP_HOURS):
        first = "is the disk there? start the job `backup`, or see why its last run failed"
        yield found("backup", f"no backup for {BACKUP_HOURS} h", problem, first, "jobs/backup")


def _settings(home: Home) -> Maintenance:
    """The configuration; the defaults if its file is broken, for which there is an incident already."""
    try:
        return load_maintenance(home)
    except TcgError:
        return Maintenance()
