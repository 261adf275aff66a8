"""What can go wrong with a match or tournament, for people to read."""

from tcg_core.base.errors import TcgError


class ArenaError(TcgError):
    """A schedule, opponent or tournament that cannot be used as it stands."""


class ScheduleError(ArenaError):
    """A schedule that is not balanced or not complete."""


class OpponentError(ArenaError):
    """An opponent that does not exist or cannot be played."""
