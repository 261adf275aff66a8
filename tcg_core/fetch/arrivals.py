"""Which published days a home that follows the competition wants next: what is new, and what failed lately; never the history."""

from collections.abc import Collection, Sequence
from datetime import date, timedelta

from tcg_core.fetch.index import Published

#: Days before the newest one held in which a day that is not here was missed, and is no history.
MISSED_DAYS = 14


def new_days(index: Sequence[Published], held: Collection[str]) -> list[Published]:
    """Published days that are not held, by date: those later than the newest held, and those of the two weeks before it that are
    later than the oldest held. Of a home that holds none, the newest published day alone.

    Older days are history: hundreds of gigabytes that a person asks for by name (`tcg day fetch`).
    """
    wanted = sorted((item for item in index if item.day not in held), key=lambda item: item.day)
    if not held:
        return wanted[-1:]
    missed = (date.fromisoformat(max(held)) - timedelta(days=MISSED_DAYS)).isoformat()
    return [item for item in wanted if item.day > max(min(held), missed)]
