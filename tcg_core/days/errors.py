"""Refusals about days and what is built of them."""

from tcg_core.base.errors import TcgError


class DayError(TcgError):
    """A day that cannot be taken, built or promoted as it stands."""


class DaysOfOtherCode(TcgError):
    """Validated days that another encoder built, selected for a plan of this one."""
