"""Counts the rows that an episode must give, without the encoder: the expected side of the row coverage check."""

import itertools
import json
from collections import Counter
from typing import Any

from tcg_core.replay.decisions import Episode

Lane = tuple[int, int]  # game, side
Counts = tuple[int, int]  # decisions, rows


def recount(episode: Episode) -> dict[Lane, Counts]:
    """Decisions and rows of each lane of the kept games."""
    totals: dict[Lane, list[int]] = {}
    for game in episode.kept:
        for decision in game.decisions:
            select = decision.observation.select
            assert select is not None
            lane = totals.setdefault((game.index, decision.side), [0, 0])
            lane[0] += 1
            lane[1] += rows_of(len(decision.picks), select.min_count, select.max_count)
    return {lane: (decisions, rows) for lane, (decisions, rows) in totals.items()}


def recount_plain(data: bytes) -> dict[Lane, Counts]:
    """The same for all games of a finished replay, by plain ``json`` and code of its own; compare the lanes of kept games."""
    replay = json.loads(data, parse_int=_whole)
    steps = replay["steps"] if "steps" in replay else replay["replay"]["steps"]
    decisions: Counter[Lane] = Counter()
    rows: Counter[Lane] = Counter()
    for before, after in itertools.pairwise(steps):
        for side in (0, 1):
            seen = before[side]["observation"]
            select = seen.get("select")
            if before[side]["status"] != "ACTIVE" or not select:
                continue
            lane = ((seen["current"].get("round") or 1) - 1, side)
            decisions[lane] += 1
            rows[lane] += rows_of(len(_answer(after[side]["action"])), select["minCount"], select["maxCount"])
    return {lane: (decisions[lane], rows[lane]) for lane in decisions}


def _whole(digits: str) -> int:
    # Python converts no number of more than 4,300 digits. The parser refuses such a number wherever it is read.
    return int(digits) if len(digits) < 100 else 0


def _answer(action: Any) -> list[Any]:
    picks = action["action"] if isinstance(action, dict) else action
    assert isinstance(picks, list)
    return picks


def rows_of(picked: int, low: int, high: int) -> int:
    """Rows of a decision: one a pick, and one for STOP when the answer ended before ``high``."""
    return picked + (low <= picked < high)
