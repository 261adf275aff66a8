"""Which code turns an archive into rows, and that all days of a plan were built by it."""

import sqlite3
from collections.abc import Sequence

from tcg_core.base.code import code_version
from tcg_core.catalog.selection import SelectedDay
from tcg_core.days.errors import DaysOfOtherCode

_NAMED = 5


def build_code() -> str:
    """Identity of the code that turns an archive into rows; another one makes built days stale."""
    return code_version("staged_day")


def require_present_code(connection: sqlite3.Connection, days: Sequence[SelectedDay]) -> None:
    """Refuses days whose rows another encoder wrote: one plan never mixes them, neither with each other nor with the encoder
    that a submission packs. Raises :class:`DaysOfOtherCode` naming them."""
    code = build_code()
    built = {row["dataset_id"]: row["code"] for row in connection.execute("SELECT dataset_id, code FROM datasets")}
    other = [day for day in days if built[day.dataset_id] != code]
    if other:
        named = ", ".join(f"{day.day} ({built[day.dataset_id]})" for day in other[:_NAMED])
        more = f" and {len(other) - _NAMED} more" if len(other) > _NAMED else ""
        raise DaysOfOtherCode(
            f"{len(other)} of {len(days)} selected days were built by other code than this ({code}): {named}{more};"
            " `tcg backfill` builds them again"
        )
