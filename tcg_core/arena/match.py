"""One match over the engine as a state machine: a question is pending until the match has a result.

A match is what the environment of ``kaggle_environments`` plays as one episode: decks are asked once; games follow each
other, each with a full clock and a fresh shuffle, until one seat cannot be caught; a fault in any of them loses the match.
"""

import signal
import time
from typing import Any, Literal, TypeVar

from tcg_core.arena.opponents import FOREIGN
from tcg_core.arena.results import ENGINE_REASONS, MatchResult, Outcome, Round
from tcg_core.arena.schedule import ScheduledGame, TournamentSchedule
from tcg_core.arena.seats import Question, Reply
from tcg_core.engine.battle import Battle
from tcg_core.engine.errors import DeckRejected, IllegalAnswer
from tcg_core.engine.score import seat_1_chooses, show_score, winner

RESULT_LOG = 23
#: Signals by which a process ends through a fault of its own.
_OF_ITSELF = (signal.SIGILL, signal.SIGABRT, signal.SIGBUS, signal.SIGFPE, signal.SIGSEGV)
T = TypeVar("T")
_DECK_REQUEST: dict[str, Any] = {"select": None, "logs": [], "current": None, "search_begin_input": None}


class Match:
    """A scheduled match being played. While :attr:`result` is None, :attr:`seat` is to be asked :meth:`question`."""

    def __init__(self, schedule: TournamentSchedule, game: ScheduledGame) -> None:
        self.game = game
        self.name = f"{game.index}"
        self.result: MatchResult | None = None
        self._schedule = schedule
        self._candidate = schedule.candidate_seat(game)
        self._battle: Battle | None = None
        self._seat = 0
        self._decks: list[list[int]] = []
        self._tally = [0, 0, 0]  # games won by seat 0, by seat 1, drawn
        self._rounds: list[Round] = []
        self._decisions, self._clock = [0, 0], [0.0, 0.0]  # of the present game, by seat
        self._seconds, self._slowest = [0.0, 0.0], [0.0, 0.0]  # of the match, by seat
        self._started = time.perf_counter()

    @property
    def seat(self) -> int:
        """Seat whose answer is awaited."""
        return self._seat

    @property
    def player(self) -> int:
        """Index of the player in that seat."""
        return self.game.seats[self._seat]

    def question(self) -> Question:
        """What the awaited seat sees, in Kaggle's form."""
        left = self._schedule.seconds_budget - self._clock[self._seat]
        step = 0
        shown: dict[str, Any] = dict(_DECK_REQUEST)
        if self._battle is not None:
            shown = {**self._battle.observation}
            step = 1 + sum(self._decisions) + sum(sum(played.decisions) for played in self._rounds)
            if self._schedule.generation != "v1":
                show_score(shown["current"], self._tally)
        return Question(self.name, shown | {"remainingOverageTime": left, "step": step}, max(left, 0.0))

    def answer(self, reply: Reply) -> None:
        """Takes the awaited seat's reply; afterwards the next question is pending or the match has a result."""
        seat = self._seat
        if reply.fault is not None and self._disturbed(seat, reply.signal):
            self.void("killed", f"nobody of ours sent this signal to the candidate: {reply.detail}")
        elif reply.fault is not None:
            self._fault(seat, reply.fault, reply.detail)
        elif self._battle is None:
            self._deck(seat, reply.answer)
        else:
            self._clock[seat] += reply.seconds
            self._seconds[seat] += reply.seconds
            self._slowest[seat] = max(self._slowest[seat], reply.seconds)
            self._decisions[seat] += 1
            if self._clock[seat] > self._schedule.seconds_budget:
                self._fault(seat, "timeout", f"{self._clock[seat]:.1f} s used of {self._schedule.seconds_budget:.1f} s")
                return
            try:
                self._battle.select(reply.answer)
            except IllegalAnswer as error:
                self._fault(seat, "illegal", str(error))
                return
            self._advance(self._battle, reply.seconds)

    def _deck(self, seat: int, deck: Any) -> None:
        scheduled = self._schedule.players[self.game.seats[seat]].cards
        if not isinstance(deck, list) or deck != list(scheduled):
            self._fault(seat, "deck", "it answered another deck than the one it was scheduled with")
            return
        self._decks.append(list(scheduled))
        if seat == 0:
            self._seat = 1
            return
        try:
            self._begin()
        except DeckRejected as error:
            self._fault(error.player, "deck", error.meaning)

    def _begin(self, carried: float = 0.0) -> None:
        """Starts the next game: memories of agents begin anew by themselves, the clocks here. ``carried``: seconds of the
        answer that ended the game before, which the environment takes off the new clock of the seat that gave it."""
        self._decisions, self._clock = [0, 0], [0.0, 0.0]
        self._clock[self._seat] = carried
        self._battle = Battle(self._schedule.generation, self._decks[0], self._decks[1], seat_1_chooses(self._tally))
        self._advance(self._battle)

    def _advance(self, battle: Battle, seconds: float = 0.0) -> None:
        if battle.ended:
            self._tally[battle.result] += 1
            reason = _win_reason(battle)
            decided = winner(self._tally, self._schedule.best_of)
            if decided is not None:
                self._finish(self._outcome(decided), reason, "", "", self._outcome(battle.result))
                return
            self._note(self._outcome(battle.result), reason)
            self._begin(seconds)
        elif sum(self._decisions) >= self._schedule.decision_cap:
            self._finish("none", "cap", "", f"{sum(self._decisions)} decisions without a result")
        else:
            self._seat = battle.seat

    def _outcome(self, result: int) -> Outcome:
        return "draw" if result == 2 else "win" if result == self._candidate else "loss"

    def _disturbed(self, seat: int, number: int) -> bool:
        """Whether the candidate was ended by a signal that a process does not bring upon itself, beside an agent that is not
        ours: then the game is no evidence against the candidate."""
        opponent = self._schedule.players[self._schedule.opponent_of(self.game)]
        return bool(seat == self._candidate and opponent.kind == FOREIGN and number and number not in _OF_ITSELF)

    def _fault(self, seat: int, reason: str, detail: str) -> None:
        ours = seat == self._candidate
        self._finish("loss" if ours else "win", reason, "candidate" if ours else "opponent", detail[:500])

    def killed(self, detail: str) -> None:
        """Ends the match as the opponent's loss: it killed the process that played it."""
        self._finish("win", "killed", "opponent", detail[:500])

    def void(self, reason: str, detail: str) -> None:
        """Ends the match without a result: the engine, not a seat, failed."""
        self._finish("none", reason, "engine", detail[:500])

    def _note(self, outcome: Outcome, reason: str) -> None:
        """Closes the present game and keeps what came of it."""
        turns = 0
        if self._battle is not None:
            turns = int(self._battle.observation["current"]["turn"])
            self._battle.close()
        self._rounds.append(Round(outcome, reason, turns, self._own_first(self._decisions)))

    def _finish(
        self,
        outcome: Outcome,
        reason: str,
        offender: Literal["", "candidate", "opponent", "engine"],
        detail: str,
        last: Outcome | None = None,
    ) -> None:
        """``last``: outcome of the last game where it is not that of the match."""
        self._note(last or outcome, reason)
        self.result = MatchResult(
            index=self.game.index,
            pair=self.game.pair,
            opponent=self._schedule.players[self._schedule.opponent_of(self.game)].name,
            candidate_seat=self._candidate,
            outcome=outcome,
            reason=reason,
            offender=offender,
            detail=detail,
            turns=sum(played.turns for played in self._rounds),
            decisions=tuple(sum(played.decisions[place] for played in self._rounds) for place in (0, 1)),
            seconds=self._own_first(self._seconds),
            slowest=self._own_first(self._slowest),
            fallbacks=(0, 0),
            wall=time.perf_counter() - self._started,
            rounds=tuple(self._rounds),
        )

    def _own_first(self, by_seat: list[T]) -> tuple[T, ...]:
        return by_seat[self._candidate], by_seat[1 - self._candidate]


def _win_reason(battle: Battle) -> str:
    """The reason in the RESULT log of the state after the end."""
    for log in reversed(battle.observation["logs"]):
        if log["type"] == RESULT_LOG:
            return ENGINE_REASONS.get(log["reason"], f"engine reason {log['reason']}")
    return "unknown"
