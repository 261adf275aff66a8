"""Refusals of the download. Their texts never quote what a server or a client said: that may hold a signed address or a key."""

from tcg_core.base.errors import TcgError


class FetchError(TcgError):
    """A day or the index could not be fetched; what was downloaded so far stays and is continued."""


class ClientMissing(FetchError):
    """The optional package `kaggle` is not installed."""


class NoCredentials(FetchError):
    """Neither KAGGLE_* variables nor a credentials file."""
