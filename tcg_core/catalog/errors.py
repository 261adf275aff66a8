"""Refusals of the catalog."""

from tcg_core.base.errors import TcgError


class CatalogError(TcgError):
    """The catalog cannot be used as it stands: another version, a network file system, no SQLite file."""


class EpisodeConflict(TcgError):
    """One episode id with two different contents."""


class SelectionEmpty(TcgError):
    """A selection with nothing left; the message names the filter that emptied it."""


class DatasetChanged(TcgError):
    """A validated day whose file is missing or is not the one that was validated."""


class ChecksNotPassed(TcgError):
    """An artifact whose blocking checks failed or were never run."""


class RatingsStale(TcgError):
    """Ratings that were computed from other days than are validated now."""


class LeaderboardError(TcgError):
    """A leaderboard snapshot that cannot be read; the message names file and line."""
