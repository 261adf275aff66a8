"""A time of day in a time zone: its cron line, and its moment in each night, whatever the clock does in it."""

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo, available_timezones

from tcg_core.base.errors import ConfigError

_SECOND = timedelta(seconds=1)


@dataclass(frozen=True)
class TimeOfDay:
    """``hour`` and ``minute`` of every day in ``zone``, one moment a day: where a clock is set back over it, the second time
    that it shows it; where a clock is set forward over it, the moment of the jump. So Dagster's scheduler has it too."""

    hour: int
    minute: int
    zone: str

    @classmethod
    def parse(cls, text: str, zone: str, key: str = "at") -> "TimeOfDay":
        """From HH:MM and the name of a zone; raises :class:`ConfigError` naming ``key`` or ``zone``."""
        if not re.fullmatch(r"([01]\d|2[0-3]):[0-5]\d", text):
            raise ConfigError(f"{key} {text!r} is no time of day, expected HH:MM as in 03:00")
        if zone not in available_timezones():
            raise ConfigError(f"zone {zone!r} is unknown, expected a name as in Europe/Berlin")
        hour, minute = text.split(":")
        return cls(int(hour), int(minute), zone)

    def __str__(self) -> str:
        return f"{self.hour:02}:{self.minute:02} {self.zone}"

    @property
    def cron(self) -> str:
        """The cron line of every day."""
        return f"{self.minute} {self.hour} * * *"

    @property
    def tzinfo(self) -> ZoneInfo:
        """The time zone."""
        return ZoneInfo(self.zone)

    def day_of(self, moment: datetime) -> date:
        """The calendar day of a moment, in the zone."""
        return moment.astimezone(self.tzinfo).date()

    def today(self) -> date:
        """The calendar day, in the zone."""
        return self.day_of(datetime.now(UTC))

    def on(self, day: date) -> datetime:
        """The moment of a day, in the zone."""
        shown = datetime.combine(day, time(self.hour, self.minute), self.tzinfo)
        first, second = (shown.replace(fold=fold).astimezone(UTC) for fold in (0, 1))
        if first <= second:
            return second.astimezone(self.tzinfo)
        # The clock never shows it: by the offset before the jump it would be ``first``, later than the jump, and by the offset
        # after it ``second``, earlier than the jump.
        after = shown.replace(fold=1).utcoffset()
        before, jumped = second, first
        while jumped - before > _SECOND:
            middle = before + (jumped - before) // 2
            if middle.astimezone(self.tzinfo).utcoffset() == after:
                jumped = middle
            else:
                before = middle
        return jumped.replace(microsecond=0).astimezone(self.tzinfo)

    def next_after(self, moment: datetime) -> datetime:
        """The first moment later than ``moment``."""
        day = self.day_of(moment)
        ahead = (self.on(day + timedelta(days=number)) for number in (0, 1, 2))
        return next(found for found in ahead if found.astimezone(UTC) > moment.astimezone(UTC))
