"""Settings of the look-ahead that a day keeps when it is built again: its look-ahead results are not lost by a rebuild."""

from dataclasses import fields, replace

from tcg_core.base.home import Home
from tcg_core.base.manifest import MANIFEST, read_manifest
from tcg_core.catalog.connection import catalog
from tcg_core.catalog.datasets import datasets_of
from tcg_core.lookahead.settings import VERSION, WouldKo


def kept_settings(home: Home, day: str) -> WouldKo | None:
    """Settings of the look-ahead of the day's validated dataset; None without a look-ahead, without files or without a dataset.

    Raises :class:`~tcg_core.base.errors.IntegrityError` for a manifest that is not one.
    """
    with catalog(home) as connection:
        rows = datasets_of(connection, day, "validated")
    directory = home.root / rows[0].path if rows else None
    if directory is None or not (directory / MANIFEST).is_file():
        return None
    config = read_manifest(directory).config.get("would_ko")
    if config is None:
        return None
    return replace(WouldKo(**{field.name: config[field.name] for field in fields(WouldKo)}), version=VERSION)
