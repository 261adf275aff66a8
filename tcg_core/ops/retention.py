"""What is kept, as configuration: ``retention.json`` of the data home, or the defaults."""

from dataclasses import dataclass

from tcg_core.base.home import Home
from tcg_core.base.settings import read_config
from tcg_core.ops.errors import RetentionError

FILE = "retention.json"


@dataclass(frozen=True)
class Retention:
    """Ages in days, counted from when a thing was last materialized or changed.

    Whatever was sent to the ladder stays for good with its whole lineage, and so does what ``keep`` names: ids of submissions
    or of any artifact. recent_days: everything
    younger stays. failed_days: the same for what failed its checks or was never checked. superseded_days: for day
    versions that are no longer selected. past_champions: submissions that were ever promoted stay. latest: how many of
    each kind stay whatever their age, counted among those whose checks passed. running_days: a tournament that nobody
    plays is resumable for so long, an abandoned training run for ``recent_days``. archives: superseded zips may go too.
    """

    keep: tuple[str, ...] = ()
    recent_days: int = 30
    failed_days: int = 7
    superseded_days: int = 7
    past_champions: bool = True
    latest: int = 3
    running_days: int = 2
    archives: bool = False

    def __post_init__(self) -> None:
        for name in ("recent_days", "failed_days", "superseded_days", "running_days"):
            if getattr(self, name) < 0:
                raise RetentionError(f"{name} is {getattr(self, name)}, expected 0 or more")
        if self.latest < 1:
            raise RetentionError(f"latest is {self.latest}, expected 1 or more: the last of each kind always stays")


def read_retention(home: Home) -> Retention:
    """The home's ``retention.json``, else the defaults; raises :class:`~tcg_core.base.errors.ConfigError` naming file and key."""
    return read_config(home.root / FILE, Retention, Retention())
