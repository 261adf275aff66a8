"""Plays scheduled games: several at once where the seats allow it, each finished game handed to a sink."""

import tempfile
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Literal

from tcg_core.arena.match import Match
from tcg_core.arena.results import MatchResult, Outcome
from tcg_core.arena.schedule import ScheduledGame, TournamentSchedule
from tcg_core.arena.seats import Seat, open_seat
from tcg_core.base.home import Home

#: Games in play at once where every seat takes many: enough that rows of like size can be asked together.
TOGETHER = 32

Sink = Callable[[MatchResult], None]
Starting = Callable[[ScheduledGame], None]


def play_games(
    home: Home,
    schedule: TournamentSchedule,
    indices: Sequence[int],
    sink: Sink,
    together: int = TOGETHER,
    starting: Starting | None = None,
    scratch: Path | None = None,
) -> None:
    """Plays the games ``indices`` of the schedule. ``starting`` is told of each game before it begins; ``scratch`` is where
    private copies of players are made (default: the system's place)."""
    wanted = [schedule.games[index] for index in indices]
    used = sorted({player for game in wanted for player in game.seats})
    with ExitStack() as stack:
        private = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="tcg-arena-", dir=scratch)))
        private.chmod(0o711)  # agents that are not ours run as other users, each with a folder of its own in here
        seats: dict[int, Seat] = {}
        for player in used:
            seats[player] = open_seat(home, schedule.players[player], schedule.generation, private, schedule.best_of)
            stack.callback(seats[player].close)
        many = [game for game in wanted if all(seats[player].together for player in game.seats)]
        single = [game for game in wanted if game not in many]
        for games, width in ((many, together), (single, 1)):
            _play(schedule, games, seats, sink, width, starting or (lambda game: None))


def _play(
    schedule: TournamentSchedule,
    games: Sequence[ScheduledGame],
    seats: dict[int, Seat],
    sink: Sink,
    width: int,
    starting: Starting,
) -> None:
    waiting = list(reversed(games))
    running: list[Match] = []
    while waiting or running:
        while waiting and len(running) < width:
            game = waiting.pop()
            starting(game)
            for player, seed in zip(game.seats, game.seeds, strict=True):
                seats[player].begin(str(game.index), seed)
            running.append(Match(schedule, game))
        # Cheap seats first, until every game waits for a network: it is then asked for as many games as there are.
        while cheap := [match for match in running if match.result is None and seats[match.player].cheap]:
            for match in cheap:
                _ask(seats[match.player], [match])
        for player in sorted({match.player for match in running if match.result is None}):
            _ask(seats[player], [match for match in running if match.result is None and match.player == player])
        for match in [match for match in running if match.result is not None]:
            running.remove(match)
            _end(match, seats, sink)


def _ask(seat: Seat, group: Sequence[Match]) -> None:
    for match, reply in zip(group, seat.ask([match.question() for match in group]), strict=True):
        match.answer(reply)


def _end(match: Match, seats: dict[int, Seat], sink: Sink) -> None:
    assert match.result is not None
    counted = {player: seats[player].end(match.name) for player in match.game.seats}
    opponent = max(match.game.seats)
    result = replace(match.result, fallbacks=(counted[0], counted[opponent]))
    for player in (opponent, 0):
        left = seats[player].left(match.name)
        if left and not result.offender:
            result = _left_over(result, player == 0, left)
    sink(result)


def _left_over(result: MatchResult, ours: bool, left: Sequence[str]) -> MatchResult:
    """The match as lost by an agent that left processes running."""
    outcome: Outcome = "loss" if ours else "win"
    detail = f"{len(left)} processes outlived the game, the first named {left[0]!r}"
    rounds = (*result.rounds[:-1], replace(result.rounds[-1], outcome=outcome, reason="leftover"))
    offender: Literal["candidate", "opponent"] = "candidate" if ours else "opponent"
    return replace(result, outcome=outcome, reason="leftover", offender=offender, detail=detail, rounds=rounds)
