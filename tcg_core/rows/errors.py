"""Refusals about files of rows."""

from tcg_core.base.errors import TcgError


class SchemaMismatch(TcgError):
    """A file written under another schema, encoder or column layout than this code's."""
