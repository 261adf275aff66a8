"""Padded shapes of a batch: a small closed set, so that networks see few different shapes."""

from dataclasses import dataclass

from tcg_core.encode.columns import Columns
from tcg_core.encode.errors import EncodeError

#: Sizes a padded dimension may have, by ragged group. The last one is beyond what a game can reach.
BUCKETS: dict[str, tuple[int, ...]] = {
    "card": (32, 48, 64, 104, 512),
    "unit": (6, 10, 18),
    "attached": (8, 24, 64, 256),
    "option": (8, 24, 64, 160, 1024),
}


@dataclass(frozen=True)
class BatchShape:
    """Padded sizes: card tokens, units, attached cards, options."""

    cards: int
    units: int
    attached: int
    options: int

    def of_group(self, group: str) -> int:
        """The size of a ragged group of the schema."""
        return {"card": self.cards, "unit": self.units, "attached": self.attached, "option": self.options}[group]


def shape_for(columns: Columns) -> BatchShape:
    """The smallest shape that holds all rows. Raises :class:`EncodeError` beyond the largest bucket."""
    sizes = {}
    for group, buckets in BUCKETS.items():
        longest = int(columns.lengths(group).max(initial=0))
        if longest > buckets[-1]:
            raise EncodeError(f"a row has {longest} {group} items, the largest bucket holds {buckets[-1]}")
        sizes[group] = next(size for size in buckets if size >= longest)
    return BatchShape(sizes["card"], sizes["unit"], sizes["attached"], sizes["option"])
