"""Which episodes of a day are encoded again to prove it: drawn by hash, then completed until nothing rare is missing.

The draw depends on day, episode and code identity alone: nobody can choose it, and the same proof draws the same episodes.
"""

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import ceil
from pathlib import Path

import numpy as np

from tcg_core.catalog.records import EpisodeRecord
from tcg_core.rows.reader import DayReader

#: Share of the episodes that is drawn, the fewest, and in how many episodes each type must be (or in all that have it).
SHARE, LEAST, TIMES = 0.02, 50, 20
_TYPES = 256


@dataclass(frozen=True)
class Sample:
    """episodes: ids, ascending; of: how many there are; counts: of each type the episodes with it, in the sample and in all."""

    episodes: tuple[int, ...]
    of: int
    counts: dict[str, tuple[int, int]]


def draw(types: Mapping[int, Iterable[str]], day: str, code: str) -> Sample:
    """The sample of the episodes in ``types``, each with the types that occur in it.

    It is SHARE of them, at least LEAST, completed until each type is in TIMES episodes of the sample or in all that have it.
    """
    kinds = {id: frozenset(held) for id, held in types.items()}
    order = sorted(kinds, key=lambda id: hashlib.sha256(f"prove:{day}:{id}:{code}".encode()).digest())
    chosen = set(order[: max(LEAST, ceil(SHARE * len(order)))])
    total = Counter(kind for held in kinds.values() for kind in held)
    have = Counter(kind for id in chosen for kind in kinds[id])
    # The rarest first: an episode that holds one is likely to hold others that are still missing.
    for kind in sorted(total, key=lambda kind: (total[kind], kind)):
        for id in order:
            if have[kind] >= min(TIMES, total[kind]):
                break
            if kind in kinds[id] and id not in chosen:
                chosen.add(id)
                have.update(kinds[id])
    return Sample(tuple(sorted(chosen)), len(order), {kind: (have[kind], total[kind]) for kind in sorted(total)})


def types_of_rows(path: Path) -> dict[int, frozenset[str]]:
    """By episode of a day's file: its engine generation, and the select and option types that occur in its rows."""
    found: dict[int, set[str]] = {}
    with DayReader(path) as reader:
        for rows in reader.batches(("episode_id", "generation", "select_type", "option_type")):
            ids, where = np.unique(rows["episode_id"], return_inverse=True)
            selects = np.unique(where * _TYPES + rows["select_type"])
            options = np.unique(np.repeat(where, rows.lengths("option")) * _TYPES + rows["option_type"])
            for name, pairs in (("select_type", selects), ("option_type", options)):
                for episode, number in zip(*np.divmod(pairs, _TYPES), strict=True):
                    found.setdefault(int(ids[episode]), set()).add(f"{name} {number}")
            for id, generation in {(int(id), str(name)) for id, name in zip(ids[where], rows["generation"], strict=True)}:
                found.setdefault(id, set()).add(f"generation {generation}")
    return {id: frozenset(held) for id, held in found.items()}


def types_of_records(records: Iterable[EpisodeRecord], status: str) -> dict[int, frozenset[str]]:
    """By episode with this status: the reason."""
    return {r.episode_id: frozenset({str(r.reason)}) for r in records if r.status == status and r.episode_id is not None}
