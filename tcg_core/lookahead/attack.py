"""One attack option looked ahead: sampled guesses, the attack, the rest of the turn, the prizes it took."""

import hashlib
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tcg_core.encode.observation import Observation
from tcg_core.encode.tracker import Tracker
from tcg_core.engine.search import Lookahead, LookaheadRefused, SearchState
from tcg_core.lookahead.guess import guess
from tcg_core.lookahead.settings import WouldKo


@dataclass(frozen=True)
class Verdict:
    """One attack option. ko: share of samples in which the attacker took a prize or left the opponent without an active unit;
    prizes: mean taken; win: share won, for whatever reason (an empty deck is no knock-out).
    samples: how many came to an end; failed: how many the engine refused or that did not end in time. Without a sample the three
    are None, never 0."""

    option: int
    attack: int
    ko: float | None
    prizes: float | None
    win: float | None
    samples: int
    failed: int


def decision_seed(settings: WouldKo, episode_id: int, game: int, side: int, step_id: int) -> int:
    """Seed of all that is drawn for one decision."""
    text = f"{settings.seed}:{episode_id}:{game}:{side}:{step_id}".encode()
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "big")


def look(
    ahead: Lookahead,
    blob: str,
    observation: Observation,
    tracker: Tracker,
    option: int,
    samples: int,
    lists: Sequence[Counter[int]],
    settings: WouldKo,
    seed: int,
) -> Verdict:
    """Looks ``samples`` times at what the attack of ``option`` does by the end of the turn."""
    state, select = observation.current, observation.select
    assert state is not None and select is not None and tracker.side is not None
    taken: list[int] = []
    wins = knocked = failed = 0
    for sample in range(samples):
        rng = random.Random(f"{seed}:{option}:{sample}")
        try:
            start = ahead.begin(blob, guess(tracker, state, lists, rng))
            end = _play(ahead, start, [option], tracker.side, settings.max_steps, rng)
        except LookaheadRefused:
            failed += 1
            continue
        if end is None:
            failed += 1
            continue
        taken.append(len(state.players[tracker.side].prize) - len(end["players"][tracker.side]["prize"]))
        wins += end["result"] == tracker.side
        beaten = end["result"] == tracker.side and not any(end["players"][1 - tracker.side]["active"])
        knocked += taken[-1] > 0 or beaten
    ahead.end()
    attack = select.option[option].attack_id or 0
    count = len(taken)
    if not count:
        return Verdict(option, attack, None, None, None, 0, failed)
    return Verdict(option, attack, knocked / count, sum(taken) / count, wins / count, count, failed)


def _play(
    ahead: Lookahead, node: SearchState, picks: list[int], side: int, limit: int, rng: random.Random
) -> dict[str, Any] | None:
    """The table at the end of the turn that ``picks`` is answered in; None if it does not end within ``limit`` answers. Whoever
    is asked (a promotion is the opponent's) answers at random, with as few picks as allowed."""
    turn = node.observation["current"]["turn"]
    for _ in range(limit):
        node = ahead.step(node, picks)
        current: dict[str, Any] = node.observation["current"]
        if current["result"] != -1 or current["turn"] != turn:
            return current
        select = node.observation["select"]
        options, least = len(select["option"]), select["minCount"]
        picks = rng.sample(range(options), min(max(least, min(1, select["maxCount"])), options))
    return None
