"""Who answers for a player: a baseline in this process, or an agent in a process of its own."""

import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from tcg_core.arena.errors import OpponentError
from tcg_core.arena.opponents import BASELINE, SUBMISSION, hash_of, source_of, unpack
from tcg_core.arena.schedule import Contestant
from tcg_core.base.home import Home
from tcg_core.engine.agents import Agent, make_agent
from tcg_core.submission.host.process import AgentFailure, AgentProcess, Limits, Reason
from tcg_core.submission.host.tree import remove

#: What an agent that is not ours may use; Kaggle gives two agents 8 to 12 GB together.
FOREIGN_LIMITS = Limits()


@dataclass(frozen=True)
class Question:
    """An observation that awaits an answer: the game's name, what its seat sees, the seconds it may take."""

    game: str
    observation: Mapping[str, Any]
    seconds: float


@dataclass(frozen=True)
class Reply:
    """An answer and the seconds it took; or why there is none. signal: what ended the process where we did not send it, or 0."""

    answer: Any
    seconds: float
    fault: Reason | None = None
    detail: str = ""
    signal: int = 0


class Seat(Protocol):
    """A player that sits in many matches, each under one name for all its games (``game``: with best of one they are the
    same). ``together``: it can be in several at once; ``cheap``: asking it for several at once saves nothing."""

    together: bool
    cheap: bool

    def begin(self, game: str, seed: int) -> None:
        """A game starts; the deck request is the first question."""

    def ask(self, questions: Sequence[Question]) -> list[Reply]:
        """One reply for each question."""

    def end(self, game: str) -> int:
        """A game is over; returns the fallbacks that the agent reports for it."""

    def left(self, game: str) -> tuple[str, ...]:
        """Names of processes that the agent left running after the game; they were ended."""

    def close(self) -> None:
        """Gives everything back."""


class BaselineSeat:
    """A baseline agent of ours, one instance a game, in this process."""

    together, cheap = True, True

    def __init__(self, player: Contestant, generation: str) -> None:
        self._player = player
        self._generation = generation
        self._agents: dict[str, Agent] = {}

    def begin(self, game: str, seed: int) -> None:
        """A fresh agent with the match's seed; it stays for all games, as on Kaggle."""
        self._agents[game] = make_agent(self._player.spec.partition(":")[0], self._generation, self._player.cards, seed)

    def ask(self, questions: Sequence[Question]) -> list[Reply]:
        """One after the other; an exception is the seat's error."""
        replies = []
        for question in questions:
            started = time.perf_counter()
            try:
                answer = self._agents[question.game](dict(question.observation))
            except Exception as error:
                replies.append(Reply(None, time.perf_counter() - started, "error", f"{type(error).__name__}: {error}"))
            else:
                replies.append(Reply(answer, time.perf_counter() - started))
        return replies

    def end(self, game: str) -> int:
        """Drops the game's agent."""
        del self._agents[game]
        return 0

    def left(self, game: str) -> tuple[str, ...]:
        """None: it is this process."""
        return ()

    def close(self) -> None:
        """Nothing to give back."""


class SubmissionSeat:
    """One of our submissions from its extracted archive: one process plays many games, the network asked for all at once."""

    together, cheap = True, False

    def __init__(self, folder: Path, config: Mapping[str, Any], scratch: Path) -> None:
        self._folder = folder
        self._scratch = scratch
        self._config = dict(config)
        self._process: AgentProcess | None = None

    def begin(self, game: str, seed: int) -> None:
        """The agent is deterministic: the seed is not used. Its process is started with the first game."""

    def ask(self, questions: Sequence[Question]) -> list[Reply]:
        """All in one request. If the process fails, every game of the request has that fault."""
        started = time.perf_counter()
        try:
            if self._process is None or not self._process.alive:
                self.close()
                self._process = AgentProcess(self._folder, scratch=self._scratch)
                started = time.perf_counter()
            asked = [(question.game, question.observation) for question in questions]
            answers = self._process.call("act_many", asked, self._config, timeout=min(q.seconds for q in questions) + 1.0)
        except AgentFailure as error:
            return [Reply(None, time.perf_counter() - started, error.reason, error.text, error.signal) for _ in questions]
        seconds = (time.perf_counter() - started) / len(questions)
        return [Reply(answer, seconds) for answer in answers]

    def end(self, game: str) -> int:
        """Fallbacks of the game; none are known if the process is gone."""
        if self._process is None or not self._process.alive:
            return 0
        try:
            return sum((self._process.call("end", game) or {}).values())
        except AgentFailure:
            return 0

    def left(self, game: str) -> tuple[str, ...]:
        """None: it is ours, and its process goes on."""
        return ()

    def close(self) -> None:
        """Ends the process."""
        if self._process is not None:
            self._process.close()
            self._process = None


class ForeignSeat:
    """Any agent: for each game a fresh process, held apart, in a fresh copy of its files."""

    together, cheap = False, False

    def __init__(self, folder: Path, config: Mapping[str, Any], scratch: Path) -> None:
        self._folder = folder
        self._sha256 = hash_of(folder)
        self._scratch = scratch
        self._config = dict(config)
        self._processes: dict[str, AgentProcess] = {}
        self._copies: dict[str, Path] = {}
        self._left: dict[str, tuple[str, ...]] = {}

    def begin(self, game: str, seed: int) -> None:
        """The process is started with the deck request, so that a failure to load is the seat's fault."""

    def ask(self, questions: Sequence[Question]) -> list[Reply]:
        """One after the other; the process's own measure of the time is not trusted."""
        return [self._ask(question) for question in questions]

    def _ask(self, question: Question) -> Reply:
        started = time.perf_counter()
        try:
            if question.game not in self._processes:
                self._processes[question.game] = self._start(question.game)
                started = time.perf_counter()
            answer, _ = self._processes[question.game].act(question.observation, self._config, question.seconds)
        except AgentFailure as error:
            return Reply(None, time.perf_counter() - started, error.reason, error.text, error.signal)
        return Reply(answer, time.perf_counter() - started)

    def _start(self, game: str) -> AgentProcess:
        copy = Path(tempfile.mkdtemp(prefix="tcg-files-", dir=self._scratch))
        self._copies[game] = copy
        unpack(self._folder, copy)
        found = hash_of(copy)
        if found != self._sha256:
            raise AgentFailure("files", f"its files changed between games: expected {self._sha256[:12]}, found {found[:12]}")
        return AgentProcess(copy, limits=FOREIGN_LIMITS, blocked=("tcg_core", "tcg_assets"), scratch=self._scratch, ours=False)

    def end(self, game: str) -> int:
        """Ends the game's process and removes its files."""
        process, copy = self._processes.pop(game, None), self._copies.pop(game, None)
        if process is not None:
            self._left[game] = process.close()
        if copy is not None:
            remove(copy)
        return 0

    def left(self, game: str) -> tuple[str, ...]:
        """What outlived the game's process."""
        return self._left.pop(game, ())

    def close(self) -> None:
        """Ends all processes."""
        for game in list(self._copies):
            self.end(game)


def open_seat(home: Home, player: Contestant, generation: str, scratch: Path, best_of: int = 1) -> Seat:
    """The seat of a scheduled player; ``scratch`` is a directory for private copies, ``best_of`` what the agent is told.

    Raises :class:`OpponentError` if its files are no longer those that were scheduled.
    """
    if player.kind == BASELINE:
        return BaselineSeat(player, generation)
    source = source_of(home, player.spec)
    found = hash_of(source)
    if found != player.sha256:
        raise OpponentError(f"opponent {player.spec!r}: scheduled with files {player.sha256[:12]}, found {found[:12]}")
    folder = unpack(source, scratch / player.sha256[:16])
    config = {"version": int(generation[1:]), "bo": best_of, "episodeSteps": 10_000_000, "actTimeout": 0, "runTimeout": 2000}
    seat = SubmissionSeat if player.kind == SUBMISSION else ForeignSeat
    return seat(folder, config, scratch)
