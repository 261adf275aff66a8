"""Training or validation: by episode content, so that an episode never changes sides when days are added."""

import hashlib
from collections.abc import Mapping

from tcg_core.recipe import Split

_WHOLE = float(2**64)


def position(split_seed: int, content_hash: str) -> float:
    """Where an episode falls in [0, 1): the first 8 bytes of SHA-256 over ``split_seed:content_hash``."""
    digest = hashlib.sha256(f"{split_seed}:{content_hash}".encode()).digest()
    return int.from_bytes(digest[:8], "big") / _WHOLE


def validation_episodes(split: Split, day: str, content_hashes: Mapping[int, str]) -> set[int]:
    """Episodes of ``day`` (id -> content hash) that are validation: all of a hold-out day, else those below ``val_frac``."""
    if day in split.holdout_days:
        return set(content_hashes)
    return {episode for episode, content in content_hashes.items() if position(split.split_seed, content) < split.val_frac}
