"""The schedule of a tournament: made first, stored, then executed and compared with what was executed.

What is scheduled is a *match*: one game where ``best_of`` is 1, else as many as decide it, from the same seats. Matches
come in *pairs*: the same two players and decks, seats swapped. The nonce makes a new schedule of equal settings,
since the engine cannot be seeded and a finished tournament is never played again.
"""

import json
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tcg_core.arena.errors import ScheduleError
from tcg_core.base.atomic import write_json
from tcg_core.base.digest import sha256_bytes, sha256_json
from tcg_core.base.settings import from_dict, to_dict
from tcg_core.replay.record_format import check_best_of

SCHEDULE_VERSION = 1


@dataclass(frozen=True)
class Contestant:
    """Who plays: its name in the report, its kind (baseline, submission, foreign), how it is found again (``spec``), the
    hash over all its files, its deck's name and cards."""

    name: str
    kind: str
    spec: str
    sha256: str
    deck: str
    cards: tuple[int, ...]


@dataclass(frozen=True)
class ScheduledGame:
    """One match: seats hold indices into the schedule's players, for all its games; seeds are those of the agents, by seat."""

    index: int
    pair: int
    seats: tuple[int, ...]
    seeds: tuple[int, ...]


@dataclass(frozen=True)
class TournamentSchedule:
    """All matches of a tournament. Contestant 0 is the candidate; it plays every other player.

    best_of: games of a match at most; decision_cap: of both seats together in a game; seconds_budget: of a seat in a game.
    """

    generation: str
    players: tuple[Contestant, ...]
    games: tuple[ScheduledGame, ...]
    seed: int
    nonce: str
    decision_cap: int
    seconds_budget: float
    best_of: int = 1
    version: int = SCHEDULE_VERSION

    @property
    def digest(self) -> str:
        """Hex SHA-256 of the whole schedule."""
        return sha256_json(_stored(self))

    @property
    def unit(self) -> str:
        """What is counted, for people: games, or matches of several."""
        return unit_of(self.best_of)

    def opponent_of(self, game: ScheduledGame) -> int:
        """Index of the player that is not the candidate."""
        return max(game.seats)

    def candidate_seat(self, game: ScheduledGame) -> int:
        """Seat of the candidate."""
        return game.seats.index(0)


def make_schedule(
    generation: str,
    players: tuple[Contestant, ...],
    games: int,
    seed: int,
    nonce: str,
    decision_cap: int = 3000,
    seconds_budget: float = 600.0,
    best_of: int = 1,
) -> TournamentSchedule:
    """``games`` games, or matches where ``best_of`` is more than 1, of player 0 against each other player, both seats equally.

    Pairs of all opponents are interleaved, so that a schedule cut short has met everybody. Raises
    :class:`ScheduleError` for an odd or non-positive number, fewer than two players or two of one name, and
    :class:`~tcg_core.base.errors.ConfigError` for a ``best_of`` that the generation does not play.
    """
    check_best_of(generation, best_of)
    if games < 2 or games % 2:
        raise ScheduleError(
            f"{unit_of(best_of)} per opponent is {games}: expected an even number of at least 2 (both seats play equally)"
        )
    if len(players) < 2:
        raise ScheduleError("a tournament needs at least one opponent")
    doubled = [name for name, count in Counter(player.name for player in players).items() if count > 1]
    if doubled:
        raise ScheduleError(f"two players are called {doubled[0]!r}")
    planned: list[ScheduledGame] = []
    for _pair in range(games // 2):
        for opponent in range(1, len(players)):
            number = len(planned) // 2
            for seats in ((0, opponent), (opponent, 0)):
                index = len(planned)
                planned.append(ScheduledGame(index, number, seats, (_seed(seed, nonce, index, 0), _seed(seed, nonce, index, 1))))
    schedule = TournamentSchedule(generation, players, tuple(planned), seed, nonce, decision_cap, float(seconds_budget), best_of)
    check_schedule(schedule)
    return schedule


def check_schedule(schedule: TournamentSchedule) -> None:
    """Raises :class:`ScheduleError` naming the first fault: indices, pairs not swapped, seats not balanced; and
    :class:`~tcg_core.base.errors.ConfigError` for a ``best_of`` that the generation does not play."""
    check_best_of(schedule.generation, schedule.best_of)
    if [game.index for game in schedule.games] != list(range(len(schedule.games))):
        raise ScheduleError("the schedule's games are not numbered 0, 1, 2, ...")
    pairs: dict[int, list[tuple[int, ...]]] = {}
    for game in schedule.games:
        if len(game.seats) != 2 or len(game.seeds) != 2 or 0 not in game.seats or not 0 < max(game.seats) < len(schedule.players):
            raise ScheduleError(f"game {game.index}: seats {game.seats} are not the candidate and one opponent")
        pairs.setdefault(game.pair, []).append(game.seats)
    for pair, seats in pairs.items():
        if len(seats) != 2 or seats[0] != seats[1][::-1]:
            raise ScheduleError(f"pair {pair}: seats {seats} are not one game and the same with seats swapped")


def store_schedule(path: Path, schedule: TournamentSchedule) -> None:
    """Writes the schedule as JSON, atomically."""
    write_json(path, _stored(schedule) | {"digest": schedule.digest})


def load_schedule(path: Path) -> TournamentSchedule:
    """Reads a stored schedule; raises :class:`ScheduleError` if it is missing, is none or does not match its digest."""
    try:
        values: dict[str, Any] = json.loads(path.read_text())
        digest = values.pop("digest")
    except (OSError, ValueError, KeyError) as error:
        raise ScheduleError(f"{path} is not a schedule: {error}") from None
    schedule = from_dict(TournamentSchedule, values)
    if schedule.digest != digest:
        raise ScheduleError(f"{path}: digest {digest[:12]} recorded, {schedule.digest[:12]} found: the schedule was changed")
    check_schedule(schedule)
    return schedule


def unit_of(best_of: int) -> str:
    """What a schedule counts, for people: games, or matches of several."""
    return "games" if best_of == 1 else "matches"


def _stored(schedule: TournamentSchedule) -> dict[str, Any]:
    """As it is written. Best of one is not: schedules stored before there was a choice keep their digests."""
    values = to_dict(schedule)
    if schedule.best_of == 1:
        del values["best_of"]
    return values


def _seed(seed: int, nonce: str, index: int, seat: int) -> int:
    return int(sha256_bytes(f"{seed}|{nonce}|{index}|{seat}".encode())[:12], 16)
