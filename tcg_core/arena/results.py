"""What came of one scheduled match (under best of one: a game), and the columns of the game table."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import pyarrow as pa

Outcome = Literal["win", "loss", "draw", "none"]
#: Reasons by the engine's RESULT log.
ENGINE_REASONS = {1: "prizes", 2: "deck_out", 3: "no_pokemon", 4: "effect"}


@dataclass(frozen=True)
class Round:
    """One game of the engine within a match, seen from the candidate (``current.round`` is the engine's word for it).

    The last one of a match that ended by a fault, a cap or an engine failure has the outcome and reason of that end.
    decisions: of (candidate, opponent).
    """

    outcome: Outcome
    reason: str
    turns: int
    decisions: tuple[int, ...]


@dataclass(frozen=True)
class MatchResult:
    """One finished match, seen from the candidate. Pairs (candidate, opponent) hold one value for each.

    outcome: of the match, ``none`` where it has no winner that counts (decision cap, engine failure); reason: of the last
    game's end, or the fault; offender: who committed the fault, "" for none; turns, decisions, seconds: of all games
    together, seconds shared evenly where the network was asked for several games at once; rounds: its games in order,
    empty where a best of one was stored before there was a choice (:attr:`each` then has the one).
    """

    index: int
    pair: int
    opponent: str
    candidate_seat: int
    outcome: Outcome
    reason: str
    offender: Literal["", "candidate", "opponent", "engine"]
    detail: str
    turns: int
    decisions: tuple[int, ...]
    seconds: tuple[float, ...]
    slowest: tuple[float, ...]
    fallbacks: tuple[int, ...]
    wall: float
    rounds: tuple[Round, ...] = ()

    @property
    def each(self) -> tuple[Round, ...]:
        """The match's games: at least one."""
        return self.rounds or (Round(self.outcome, self.reason, self.turns, self.decisions),)

    @property
    def clean(self) -> bool:
        """Whether the match is evidence: it has a result, and no seat had an error, a timeout or a fallback."""
        return not self.offender and self.outcome != "none" and not any(self.fallbacks)

    @property
    def points(self) -> float:
        """The candidate's score: 1, 1/2 or 0."""
        return {"win": 1.0, "draw": 0.5}.get(self.outcome, 0.0)


_ROUND = pa.struct(
    [
        pa.field("outcome", pa.string(), nullable=False),
        pa.field("reason", pa.string(), nullable=False),
        pa.field("turns", pa.int32(), nullable=False),
        pa.field("candidate_decisions", pa.int32(), nullable=False),
        pa.field("opponent_decisions", pa.int32(), nullable=False),
    ]
)
SCHEMA = pa.schema(
    [
        pa.field("index", pa.int32(), nullable=False),
        pa.field("pair", pa.int32(), nullable=False),
        pa.field("generation", pa.string(), nullable=False),
        pa.field("candidate", pa.string(), nullable=False),
        pa.field("opponent", pa.string(), nullable=False),
        pa.field("candidate_seat", pa.int8(), nullable=False),
        pa.field("candidate_deck", pa.string(), nullable=False),
        pa.field("opponent_deck", pa.string(), nullable=False),
        pa.field("candidate_seed", pa.int64(), nullable=False),
        pa.field("opponent_seed", pa.int64(), nullable=False),
        pa.field("outcome", pa.string(), nullable=False),
        pa.field("reason", pa.string(), nullable=False),
        pa.field("offender", pa.string(), nullable=False),
        pa.field("detail", pa.string(), nullable=False),
        pa.field("clean", pa.bool_(), nullable=False),
        pa.field("turns", pa.int32(), nullable=False),
        pa.field("candidate_decisions", pa.int32(), nullable=False),
        pa.field("opponent_decisions", pa.int32(), nullable=False),
        pa.field("candidate_seconds", pa.float64(), nullable=False),
        pa.field("opponent_seconds", pa.float64(), nullable=False),
        pa.field("candidate_slowest", pa.float64(), nullable=False),
        pa.field("opponent_slowest", pa.float64(), nullable=False),
        pa.field("candidate_fallbacks", pa.int32(), nullable=False),
        pa.field("opponent_fallbacks", pa.int32(), nullable=False),
        pa.field("wall_seconds", pa.float64(), nullable=False),
        pa.field("rounds", pa.list_(pa.field("item", _ROUND, nullable=False)), nullable=False),
    ]
)


def table_row(
    game: MatchResult, generation: str, names: tuple[str, str], decks: tuple[str, str], seeds: tuple[int, int]
) -> dict[str, Any]:
    """One row of :data:`SCHEMA`; names, decks and seeds are those of (candidate, opponent)."""
    row: dict[str, Any] = {
        "index": game.index,
        "pair": game.pair,
        "generation": generation,
        "candidate": names[0],
        "opponent": names[1],
        "candidate_seat": game.candidate_seat,
        "outcome": game.outcome,
        "reason": game.reason,
        "offender": game.offender,
        "detail": game.detail,
        "clean": game.clean,
        "turns": game.turns,
        "wall_seconds": game.wall,
        "rounds": [
            {
                "outcome": played.outcome,
                "reason": played.reason,
                "turns": played.turns,
                "candidate_decisions": played.decisions[0],
                "opponent_decisions": played.decisions[1],
            }
            for played in game.each
        ],
    }
    for place, who in enumerate(("candidate", "opponent")):
        row |= {
            f"{who}_deck": decks[place],
            f"{who}_seed": seeds[place],
            f"{who}_decisions": game.decisions[place],
            f"{who}_seconds": game.seconds[place],
            f"{who}_slowest": game.slowest[place],
            f"{who}_fallbacks": game.fallbacks[place],
        }
    return row


def game_of(row: Mapping[str, Any]) -> MatchResult:
    """The match of one row of :data:`SCHEMA`; inverse of :func:`table_row`. A table written before matches of several games
    has no ``rounds``: each match is its one game."""
    values = {
        name: row[name] for name in ("index", "pair", "opponent", "candidate_seat", "outcome", "reason", "offender", "detail")
    }
    for name in ("decisions", "seconds", "slowest", "fallbacks"):
        values[name] = tuple(row[f"{who}_{name}"] for who in ("candidate", "opponent"))
    rounds = tuple(
        Round(item["outcome"], item["reason"], item["turns"], (item["candidate_decisions"], item["opponent_decisions"]))
        for item in row.get("rounds") or ()
    )
    return MatchResult(**values, turns=row["turns"], wall=row["wall_seconds"], rounds=rounds)
