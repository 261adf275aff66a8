"""Refusals about card and attack tables."""

from tcg_core.base.errors import TcgError


class CardTableError(TcgError):
    """Card and attack tables that contradict themselves."""


class CardCsvError(TcgError):
    """An ``EN_Card_Data.csv`` that cannot be joined as it stands."""
