"""The SQLite day catalog: what days, datasets, episodes and artifacts there are, and which of them may be used."""

from tcg_core.catalog.audit import verify
from tcg_core.catalog.connection import catalog, connect, transaction

__all__ = ["catalog", "connect", "transaction", "verify"]
