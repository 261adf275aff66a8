"""Which code turns an archive into rows, and which builds of days count as its own: built by it or proven equal under it."""

import sqlite3
from collections.abc import Sequence

from tcg_core.base.code import code_version
from tcg_core.catalog import proofs
from tcg_core.catalog.selection import SelectedDay
from tcg_core.days.errors import DaysOfOtherCode

_NAMED = 5
REMEDY = "`tcg day prove --all` carries over those whose rows are the same, `tcg backfill` builds the others again"


def build_code() -> str:
    """Identity of the code that turns an archive into rows; another one makes built days stale."""
    return code_version("staged_day")


def of_other_code(connection: sqlite3.Connection) -> dict[tuple[str, str], str]:
    """By day and dataset id, the code of every build that this code neither made nor was proven to make equally.

    This is the one answer to "is this day built by today's code": what is not a key is.
    """
    return proofs.of_other_code(connection, build_code())


def counted_codes(connection: sqlite3.Connection) -> dict[str, str]:
    """By dataset id the code as whose build it counts: the present one where that built it or is proven to build it equally."""
    other, code = of_other_code(connection), build_code()
    rows = connection.execute("SELECT day, dataset_id FROM datasets")
    return {row["dataset_id"]: other.get((row["day"], row["dataset_id"]), code) for row in rows}


def require_present_code(connection: sqlite3.Connection, days: Sequence[SelectedDay]) -> None:
    """Refuses days whose rows another encoder wrote: one plan never mixes them, neither with each other nor with the encoder
    that a submission packs. Raises :class:`DaysOfOtherCode` naming them."""
    stale = of_other_code(connection)
    other = [(day.day, stale[day.day, day.dataset_id]) for day in days if (day.day, day.dataset_id) in stale]
    if other:
        named = ", ".join(f"{day} ({code})" for day, code in other[:_NAMED])
        more = f" and {len(other) - _NAMED} more" if len(other) > _NAMED else ""
        raise DaysOfOtherCode(
            f"{len(other)} of {len(days)} selected days were built by other code than this ({build_code()}): {named}{more};"
            f" {REMEDY}"
        )
