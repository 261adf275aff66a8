"""Times and deadlines of the data home, as they stand when the code location loads."""

from datetime import timedelta

import dagster as dg

from tcg_core.base.errors import TcgError
from tcg_core.base.home import Home
from tcg_core.ops.maintenance import Maintenance, load_maintenance


def _when() -> Maintenance:
    """A file that is none must not take the whole graph away: `home_watch` tells of it, each tick refuses it."""
    try:
        return load_maintenance(Home.resolve())
    except TcgError:
        return Maintenance()


WHEN = _when()


def deadline(hours: int) -> dg.FreshnessPolicy | None:
    """Dagster's policy of a deadline, which warns at five sixths of it; None for none."""
    if not hours:
        return None
    return dg.FreshnessPolicy.time_window(fail_window=timedelta(hours=hours), warn_window=timedelta(minutes=hours * 50))
