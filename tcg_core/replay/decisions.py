"""An episode as decisions: what the rest of the project reads, whatever the replay's layout was."""

from collections.abc import Mapping
from dataclasses import dataclass

from tcg_core.replay.outcome import relative
from tcg_core.replay.structs import Observation

UNNAMED = "unnamed"  # team of a replay whose info has no name for the seat


@dataclass(frozen=True, slots=True)
class Decision:
    """One ACTIVE (t, seat) with a select, and its answer: step_id is t of steps[t]; picks are distinct option indexes."""

    step_id: int
    side: int
    observation: Observation
    picks: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Game:
    """One game of an episode.

    decisions: both seats, in order of time; empty where the episode was aborted. outcome: seat 0's, +1, -1 or 0, None if
    nothing tells it. reason: engine's RESULT.reason (1 no prizes left, 2 deck out, 3 no Pokémon, 4 card effect).
    prizes: prizes left of both seats at the end, None without a terminal frame. excluded: the rule by which the game gives
    no training rows (``draw``, ``aborted``, ``illegal_deck``, ``unfinished``), None when it does.
    """

    index: int
    decisions: tuple[Decision, ...]
    outcome: int | None
    reason: int | None
    prizes: tuple[int, int] | None
    excluded: str | None

    def outcome_for(self, side: int) -> int:
        """The outcome as seen by ``side``; raises ValueError when it is not known."""
        if self.outcome is None:
            raise ValueError(f"the outcome of game {self.index} is not known (excluded: {self.excluded})")
        return relative(self.outcome, side)


@dataclass(frozen=True, slots=True)
class Episode:
    """One replay.

    decks: the two lists of card ids; empty for a seat that gave no 60 integers (only in excluded episodes).
    content_hash: hex SHA-256 over decks and decisions, so equal play under two ids is found; clocks, ids and engine blobs
    do not enter. caveats: counts of answers that were normalised as the engine does it.
    """

    episode_id: int
    generation: str
    module_version: str
    best_of: int
    team_names: tuple[str, str]
    decks: tuple[tuple[int, ...], tuple[int, ...]]
    games: tuple[Game, ...]
    content_hash: str
    caveats: Mapping[str, int]
    statuses: tuple[str, str]
    rewards: tuple[float | None, float | None]

    @property
    def kept(self) -> tuple[Game, ...]:
        """Games that give training rows."""
        return tuple(game for game in self.games if game.excluded is None)
