"""One game over the engine as a state machine: a question is pending until the game has a result."""

import time
from typing import Any, Literal

from tcg_core.arena.results import ENGINE_REASONS, Game, Outcome
from tcg_core.arena.schedule import Schedule, ScheduledGame
from tcg_core.arena.seats import Question, Reply
from tcg_core.engine.battle import Battle
from tcg_core.engine.errors import DeckRejected, IllegalAnswer

RESULT_LOG = 23
_DECK_REQUEST: dict[str, Any] = {"select": None, "logs": [], "current": None, "search_begin_input": None}


class Match:
    """A scheduled game being played. While :attr:`result` is None, :attr:`seat` is to be asked :meth:`question`."""

    def __init__(self, schedule: Schedule, game: ScheduledGame) -> None:
        self.game = game
        self.name = f"{game.index}"
        self.result: Game | None = None
        self._schedule = schedule
        self._battle: Battle | None = None
        self._seat = 0
        self._decks: list[list[int]] = []
        self._decisions, self._seconds, self._slowest = [0, 0], [0.0, 0.0], [0.0, 0.0]
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
        left = self._schedule.seconds_budget - self._seconds[self._seat]
        shown: dict[str, Any] = {**(self._battle.observation if self._battle else _DECK_REQUEST)}
        shown |= {"remainingOverageTime": left, "step": sum(self._decisions)}
        return Question(self.name, shown, max(left, 0.0))

    def answer(self, reply: Reply) -> None:
        """Takes the awaited seat's reply; afterwards the next question is pending or the game has a result."""
        seat = self._seat
        if reply.fault is not None:
            self._fault(seat, reply.fault, reply.detail)
        elif self._battle is None:
            self._deck(seat, reply.answer)
        else:
            self._seconds[seat] += reply.seconds
            self._slowest[seat] = max(self._slowest[seat], reply.seconds)
            self._decisions[seat] += 1
            if self._seconds[seat] > self._schedule.seconds_budget:
                self._fault(seat, "timeout", f"{self._seconds[seat]:.1f} s used of {self._schedule.seconds_budget:.1f} s")
                return
            try:
                self._battle.select(reply.answer)
            except IllegalAnswer as error:
                self._fault(seat, "illegal", str(error))
                return
            self._advance(self._battle)

    def _deck(self, seat: int, deck: Any) -> None:
        scheduled = self._schedule.players[self.game.seats[seat]].cards
        if not isinstance(deck, list) or deck != list(scheduled):
            self._fault(seat, "deck", "it answered another deck than the one it was scheduled with")
            return
        self._decks.append(deck)
        if seat == 0:
            self._seat = 1
            return
        try:
            self._battle = Battle(self._schedule.generation, self._decks[0], self._decks[1])
        except DeckRejected as error:
            self._fault(error.player, "deck", error.meaning)
            return
        self._advance(self._battle)

    def _advance(self, battle: Battle) -> None:
        if battle.ended:
            winner = battle.result
            candidate = self._schedule.candidate_seat(self.game)
            outcome: Outcome = "draw" if winner == 2 else "win" if winner == candidate else "loss"
            self._finish(outcome, _win_reason(battle), "", "")
        elif sum(self._decisions) >= self._schedule.decision_cap:
            self._finish("none", "cap", "", f"{sum(self._decisions)} decisions without a result")
        else:
            self._seat = battle.seat

    def _fault(self, seat: int, reason: str, detail: str) -> None:
        ours = seat == self._schedule.candidate_seat(self.game)
        self._finish("loss" if ours else "win", reason, "candidate" if ours else "opponent", detail[:500])

    def killed(self, detail: str) -> None:
        """Ends the game as the opponent's loss: it killed the process that played it."""
        self._finish("win", "killed", "opponent", detail[:500])

    def void(self, reason: str, detail: str) -> None:
        """Ends the game without a result: the engine, not a seat, failed."""
        self._finish("none", reason, "engine", detail[:500])

    def _finish(
        self, outcome: Outcome, reason: str, offender: Literal["", "candidate", "opponent", "engine"], detail: str
    ) -> None:
        turns = 0
        if self._battle is not None:
            turns = int(self._battle.observation["current"]["turn"])
            self._battle.close()
        seat = self._schedule.candidate_seat(self.game)
        order = (seat, 1 - seat)
        self.result = Game(
            index=self.game.index,
            pair=self.game.pair,
            opponent=self._schedule.players[self._schedule.opponent_of(self.game)].name,
            candidate_seat=seat,
            outcome=outcome,
            reason=reason,
            offender=offender,
            detail=detail,
            turns=turns,
            decisions=tuple(self._decisions[place] for place in order),
            seconds=tuple(self._seconds[place] for place in order),
            slowest=tuple(self._slowest[place] for place in order),
            fallbacks=(0, 0),
            wall=time.perf_counter() - self._started,
        )


def _win_reason(battle: Battle) -> str:
    """The reason in the RESULT log of the state after the end."""
    for log in reversed(battle.observation["logs"]):
        if log["type"] == RESULT_LOG:
            return ENGINE_REASONS.get(log["reason"], f"engine reason {log['reason']}")
    return "unknown"
