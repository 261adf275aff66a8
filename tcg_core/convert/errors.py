"""What conversion refuses."""

from tcg_core.base.errors import TcgError


class ConvertError(TcgError):
    """A checkpoint that cannot be converted, or a reference that cannot be made or read; the message names it."""
