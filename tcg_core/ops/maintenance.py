"""What runs by itself beside the training, and when: ``maintenance.json`` of the data home, or the defaults."""

import json
import re
from dataclasses import dataclass, replace
from pathlib import Path
from zoneinfo import available_timezones

from tcg_core.base.errors import ConfigError
from tcg_core.base.home import Home
from tcg_core.base.settings import from_dict

FILE = "maintenance.json"


@dataclass(frozen=True)
class Maintenance:
    """Times are HH:MM in ``zone``; hours and minutes of 0 mean: none.

    audit_at: when days are read again; audit_nights: every validated day is read once in so many nights; audit_minutes: no
    further day is begun after so long, the rest comes first in the next night. backup_to: a directory outside the home,
    empty for no backup; backup_keep: older backups than the last so many are forgotten. retention_at: when it is told what
    may go; retention_apply: and removed. history_days: Dagster's runs younger than this stay. day_hours: without a new
    validated day for so long there is an alert; evaluation_hours: the same for a validated day that no clean tournament
    and no decision about the champion has followed.
    """

    zone: str = "UTC"
    audit_at: str = "01:00"
    audit_nights: int = 7
    audit_minutes: int = 60
    backup_at: str = "13:00"
    backup_to: str = ""
    backup_keep: int = 14
    retention_at: str = "02:15"
    retention_apply: bool = False
    history_days: int = 30
    day_hours: int = 36
    evaluation_hours: int = 60

    def __post_init__(self) -> None:
        for name in ("audit_at", "backup_at", "retention_at"):
            if not re.fullmatch(r"([01]\d|2[0-3]):[0-5]\d", getattr(self, name)):
                raise ConfigError(f"{FILE}: {name} {getattr(self, name)!r} is no time of day, expected HH:MM as in 01:00")
        if self.zone not in available_timezones():
            raise ConfigError(f"{FILE}: zone {self.zone!r} is unknown, expected a name as in Europe/Berlin")
        lowest = {
            "audit_nights": 1,
            "audit_minutes": 0,
            "backup_keep": 1,
            "history_days": 1,
            "day_hours": 0,
            "evaluation_hours": 0,
        }
        for name, least in lowest.items():
            if getattr(self, name) < least:
                raise ConfigError(f"{FILE}: {name} is {getattr(self, name)}, expected {least} or more")
        if self.backup_to and not Path(self.backup_to).expanduser().is_absolute():
            raise ConfigError(f"{FILE}: backup_to {self.backup_to!r} is not absolute: a service has no directory of its own")

    @property
    def destination(self) -> Path | None:
        """Where backups go; None: nowhere."""
        return Path(self.backup_to).expanduser() if self.backup_to else None


def cron_of(at: str) -> str:
    """A time of day as the cron line of every day."""
    hour, minute = at.split(":")
    return f"{int(minute)} {int(hour)} * * *"


def load_maintenance(home: Home) -> Maintenance:
    """The home's file, else the defaults; raises :class:`ConfigError` naming file and key."""
    path = home.root / FILE
    if not path.is_file():
        return Maintenance()
    try:
        values = json.loads(path.read_text())
    except ValueError as error:
        raise ConfigError(f"{path} is not JSON: {error}") from None
    return from_dict(Maintenance, values, FILE)


def backing_up_to(configured: Maintenance, destination: str) -> Maintenance:
    """The configuration with another destination, for one backup by hand; empty leaves it as it is."""
    return replace(configured, backup_to=destination) if destination else configured
