"""Which rows are asked together: of like size, since every row of a batch costs as much as the largest."""

from collections.abc import Mapping, Sequence
from typing import Any

from tcg_core.encode.shapes import BatchShape

#: Tokens of padding that cost about as much as one more call of the network.
SPARE_TOKENS = 80
_ANY = {"cards": "card_id", "units": "unit_id", "attached": "attached_id", "options": "option_type"}


def shape_of(rows: Sequence[Mapping[str, Any]]) -> BatchShape:
    """The smallest shape that holds all of ``rows``; at least one item of each kind, so that no axis is empty."""
    return BatchShape(**{size: max(1, *(len(row[name]) for row in rows)) for size, name in _ANY.items()})


def groups(rows: Sequence[Mapping[str, Any]]) -> list[list[int]]:
    """Positions of ``rows``, each once: largest first, a new group where padding would cost more than another call."""
    sizes = [len(row["card_id"]) + len(row["unit_id"]) + len(row["option_type"]) for row in rows]
    found: list[list[int]] = []
    spare = 0
    for place in sorted(range(len(rows)), key=lambda place: (-sizes[place], place)):
        padding = sizes[found[-1][0]] - sizes[place] if found else 0
        if not found or spare + padding > SPARE_TOKENS:
            found.append([place])
            spare = 0
        else:
            found[-1].append(place)
            spare += padding
    return found
