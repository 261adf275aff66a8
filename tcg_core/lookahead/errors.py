"""Refusals about looking ahead."""

from tcg_core.base.errors import TcgError


class LookaheadError(TcgError):
    """Look-ahead that could not be done at all: no engine, or a worker that dies before it was asked anything."""
