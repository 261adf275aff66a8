"""Refusals of the operator's commands."""

from tcg_core.base.errors import TcgError


class BackupError(TcgError):
    """A backup that cannot be made or used; the message names the file."""


class HomeNotEmpty(TcgError):
    """A restore into a home that holds something."""


class OpsBusy(TcgError):
    """Another backup or clean-up is at work in this home."""


class RetentionError(TcgError):
    """A clean-up that cannot be made as asked."""


class ServiceError(TcgError):
    """Service files that cannot be rendered."""
