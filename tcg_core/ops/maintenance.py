"""What runs by itself beside the training, and when: ``maintenance.json`` of the data home, or the defaults."""

from dataclasses import dataclass, replace
from pathlib import Path

from tcg_core.base.clock import TimeOfDay
from tcg_core.base.errors import ConfigError
from tcg_core.base.home import Home
from tcg_core.base.settings import read_config

FILE = "maintenance.json"


@dataclass(frozen=True)
class Maintenance:
    """Times are HH:MM in ``zone``. 0 hours or minutes switch that limit or alert off.

    audit_at: when days are read again; audit_nights: every validated day is read once in this many nights; audit_minutes:
    after this time no further day is begun, and the rest comes first in the next night. backup_to: a directory outside the
    home, empty for no backup; backup_keep: how many backups are kept. retention_at: when files that may be removed are
    reported; retention_apply: whether they are removed too. history_days: Dagster's runs younger than this stay. day_hours:
    an alert after this time without a new validated day; evaluation_hours: the same for a validated day without a clean
    tournament, or a clean tournament without a decision about the champion.
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
            TimeOfDay.parse(getattr(self, name), self.zone, name)
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
                raise ConfigError(f"{name} is {getattr(self, name)}, expected {least} or more")
        if self.backup_to and not Path(self.backup_to).expanduser().is_absolute():
            raise ConfigError(f"backup_to {self.backup_to!r} is not absolute: a service has no directory of its own")

    @property
    def audit(self) -> TimeOfDay:
        """When days are read again."""
        return TimeOfDay.parse(self.audit_at, self.zone, "audit_at")

    @property
    def backup(self) -> TimeOfDay:
        """When the home is backed up."""
        return TimeOfDay.parse(self.backup_at, self.zone, "backup_at")

    @property
    def retention(self) -> TimeOfDay:
        """When files that nothing needs are reported or removed."""
        return TimeOfDay.parse(self.retention_at, self.zone, "retention_at")

    @property
    def destination(self) -> Path | None:
        """Where backups go; None: nowhere."""
        return Path(self.backup_to).expanduser() if self.backup_to else None


def load_maintenance(home: Home) -> Maintenance:
    """The home's file, else the defaults; raises :class:`ConfigError` naming file and key."""
    return read_config(home.root / FILE, Maintenance, Maintenance())


def backing_up_to(configured: Maintenance, destination: str) -> Maintenance:
    """The configuration with another destination, for one backup by hand; empty leaves it as it is."""
    return replace(configured, backup_to=destination) if destination else configured
