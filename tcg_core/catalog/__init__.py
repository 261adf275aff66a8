"""The SQLite day catalog: what days, datasets, episodes and artifacts there are, and which of them may be used."""

from tcg_core.catalog.connection import catalog, connect, transaction
from tcg_core.catalog.verify import verify

__all__ = ["catalog", "connect", "transaction", "verify"]
