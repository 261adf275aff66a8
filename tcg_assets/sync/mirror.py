"""Dagster's key set of days is a mirror of the catalog: it is filled from there, never the other way."""

import dagster as dg

from tcg_assets.assets.partitions import days
from tcg_core.base.home import Home


def mirror_days(instance: dg.DagsterInstance, home: Home) -> list[str]:
    """Adds every day of the catalog that Dagster does not know as a partition; returns those, by date.

    A new Dagster home, or a day that a command line took, becomes visible this way.
    """
    if not home.catalog.is_file():
        return []
    from tcg_core.catalog.connection import catalog
    from tcg_core.catalog.days import known_days

    with catalog(home) as connection:
        known = known_days(connection)
    present = set(instance.get_dynamic_partitions(days.name or ""))
    missing = [day for day in known if day not in present]
    if missing:
        instance.add_dynamic_partitions(days.name or "", missing)
    return missing
