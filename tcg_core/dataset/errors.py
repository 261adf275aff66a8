"""Refusals about days and what is built of them."""

from tcg_core.errors import TcgError


class DayError(TcgError):
    """A day that cannot be taken, built or promoted as it stands."""


class SchemaMismatch(TcgError):
    """A file written under another schema, encoder or column layout than this code's."""


class DaysOfOtherCode(TcgError):
    """Validated days that another encoder built, selected for a plan of this one."""


class CardCsvError(TcgError):
    """An ``EN_Card_Data.csv`` that cannot be joined as it stands."""
