"""Which published days a home that follows the competition wants next: what came after its newest, never the history."""

from collections.abc import Collection, Sequence

from tcg_core.fetch.index import Published


def new_days(index: Sequence[Published], held: Collection[str]) -> list[Published]:
    """Published days later than the newest held, by date; of a home that holds none, the newest published day alone.

    Older days are history: hundreds of gigabytes that a person asks for by name (`tcg day fetch`).
    """
    newest = max(held, default="")
    later = sorted((item for item in index if item.day > newest), key=lambda item: item.day)
    return later if newest else later[-1:]
