"""Caps on rows: whole episodes, in an order that depends on seed and episode alone, so that a larger cap is a superset."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeVar


@dataclass(frozen=True)
class EpisodeRows:
    """An episode that may be kept, and its rows."""

    episode_id: int
    rows: int


E = TypeVar("E", bound=EpisodeRows)


def episode_order(seed: int | str, episode_id: int) -> bytes:
    """The key by which caps keep episodes: SHA-256 of seed and id."""
    return hashlib.sha256(f"{seed}:{episode_id}".encode()).digest()


def capped(episodes: Iterable[E], rows: int, seed: int | str) -> list[E]:
    """The first episodes by :func:`episode_order` that together have at most ``rows`` rows."""
    chosen: list[E] = []
    total = 0
    for episode in sorted(episodes, key=lambda e: episode_order(seed, e.episode_id)):
        total += episode.rows
        if total > rows:
            break
        chosen.append(episode)
    return chosen
