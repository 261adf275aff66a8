"""What a replay's head says: identity, teams, engine generation, decks."""

import re
from collections import Counter
from typing import Any

from tcg_core.replay.decisions import UNNAMED
from tcg_core.replay.errors import Quarantine
from tcg_core.replay.layout import Replay
from tcg_core.replay.picks import NotPicks, normalise

DECK_SIZE = 60
DEFAULT_BEST_OF = 3  # of the v2 environment, when its configuration does not say
MAX_BEST_OF = 9
_FIRST_V2 = (1, 33)  # kaggle-environments 1.33.0 brought engine v2; before 1.33.2 its configuration has no version
_FINISHED, _FORFEITS = "DONE", ("INVALID", "ERROR", "TIMEOUT")


def episode_id(replay: Replay, name: str) -> int:
    """The id that the member's name and ``info.EpisodeId`` agree on; one of them suffices."""
    stem = name.rsplit("/", 1)[-1].removesuffix(".json")
    named = int(stem) if re.fullmatch(r"[0-9]{1,18}", stem) else None
    told = replay.info.get("EpisodeId")
    if told is not None and (type(told) is not int or not 0 <= told < 2**62):
        raise Quarantine("episode_id", f"{name}: info.EpisodeId is {told!r:.40}, expected a positive integer")
    if named is None and told is None:
        raise Quarantine("episode_id", f"{name}: neither the member's name nor info.EpisodeId is an episode id")
    if named is not None and told is not None and named != told:
        raise Quarantine("episode_id", f"{name}: info.EpisodeId is {told}")
    found = named if named is not None else told
    assert isinstance(found, int)
    return found


def team_names(replay: Replay) -> tuple[str, str]:
    """info.TeamNames, else info.Agents[].Name, else UNNAMED for a seat without one."""
    names = replay.info.get("TeamNames")
    if not isinstance(names, list) or len(names) != 2:
        agents = replay.info.get("Agents")
        names = [a.get("Name") if isinstance(a, dict) else None for a in agents] if isinstance(agents, list) else []
    first, second = (name if isinstance(name, str) and name else UNNAMED for name in (*names, None, None)[:2])
    return first, second


def generation(replay: Replay, name: str) -> tuple[str, int]:
    """Engine generation and best-of: ``configuration.version`` decides, else ``bo`` or the module version. With version 1
    one game is played whatever ``bo`` says. Raises :class:`Quarantine` for a version that is neither."""
    configuration = replay.configuration
    version = configuration.get("version")
    if version is None:
        numbers = re.match(r"(\d{1,4})\.(\d{1,4})", replay.module_version or "")
        newer = numbers is not None and (int(numbers[1]), int(numbers[2])) >= _FIRST_V2
        version = 2 if newer or "bo" in configuration else 1
    if type(version) is not int or version not in (1, 2):
        raise Quarantine("unknown_generation", f"{name}: configuration.version is {version!r:.40}, expected 1 or 2")
    if version == 1:
        return "v1", 1
    best_of = configuration.get("bo", DEFAULT_BEST_OF)
    if type(best_of) is not int or not 1 <= best_of <= MAX_BEST_OF:
        raise Quarantine("malformed", f"{name}: configuration.bo is {best_of!r:.40}, expected 1 to {MAX_BEST_OF}")
    return "v2", best_of


def statuses(replay: Replay, name: str) -> tuple[tuple[str, str], bool]:
    """The final statuses, and whether a seat forfeited; others than DONE and the three forfeits are refused."""
    if replay.statuses is None or not isinstance(replay.statuses, list) or len(replay.statuses) != 2:
        raise Quarantine("malformed", f"{name}: statuses are {replay.statuses!r:.80}, expected two")
    for status in replay.statuses:
        if status != _FINISHED and status not in _FORFEITS:
            raise Quarantine("status", f"{name}: final status {status!r:.40}, expected DONE, INVALID, ERROR or TIMEOUT")
    first, second = replay.statuses
    return (first, second), (first, second) != (_FINISHED, _FINISHED)


def deck(action: Any) -> tuple[int, ...]:
    """The 60 card ids of a deck answer, () when it is not one."""
    try:
        ids = normalise(action, Counter())
    except NotPicks:
        return ()
    return ids if len(ids) == DECK_SIZE and all(0 < card < 2**15 for card in ids) else ()
