"""Plays one episode and writes it down exactly as Kaggle does.

The layout (alignment of actions, stale observations of the waiting seat, frames of ``visualize``) is that of
``kaggle_environments.make("cabt").run``; a test plays the same game through both and compares.
"""

import logging
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import msgspec

from tcg_core.base.errors import TcgError
from tcg_core.engine.battle import Battle, IllegalAnswer
from tcg_core.engine.decks import DeckError, validate_deck
from tcg_core.engine.score import seat_1_chooses, show_score, winner
from tcg_core.replay.record_format import OVERAGE_SECONDS, check_best_of, header, info

LOG = logging.getLogger("tcg")
DECISION_CAP = 2000
ACTIVE, INACTIVE, DONE, INVALID, ERROR = "ACTIVE", "INACTIVE", "DONE", "INVALID", "ERROR"

Agent = Callable[[dict[str, Any]], list[int]]
Step = list[dict[str, Any]]
_decode = msgspec.json.Decoder().decode


class DecisionCapReached(TcgError):
    """A game that did not end within the cap of decisions; nothing of it is kept."""


class Forfeit(NamedTuple):
    """Who lost without playing on: its seat, its status in the last step, and why."""

    seat: int
    status: str
    reason: str


def record_episode(
    agents: Sequence[Agent],
    decks: Sequence[Sequence[int]],
    generation: str,
    best_of: int,
    names: Sequence[str],
    episode_id: int,
    decision_cap: int = DECISION_CAP,
) -> dict[str, Any]:
    """Plays ``best_of`` games between seat 0 and seat 1 and returns the replay, ready for ``json.dumps``.

    Each agent is first asked for its deck, as on Kaggle, and must answer the deck it was given here. An agent that
    raises or answers illegally forfeits: status ERROR or INVALID, its reward null, the other's 1. Raises
    :class:`DeckError` for a deck that is not legal and :class:`DecisionCapReached` when a game passes ``decision_cap``
    decisions of both seats together (the engine has no limit of its own, and such a game fills a disk).
    """
    check_best_of(generation, best_of)
    for deck in decks:
        validate_deck(generation, deck)
    episode = _Episode(agents, decks, generation, best_of, decision_cap)
    episode.choose_decks()
    forfeit = episode.play()
    replay = header(generation, best_of, episode_id)
    replay["steps"] = episode.steps
    replay["rewards"] = [seat["reward"] for seat in episode.steps[-1]]
    replay["statuses"] = [seat["status"] for seat in episode.steps[-1]]
    replay["schema_version"] = 1
    replay["info"] = info(names, episode_id)
    if forfeit:
        LOG.warning("episode %d: seat %d (%s) forfeits: %s", episode_id, forfeit.seat, names[forfeit.seat], forfeit.reason)
    return replay


class _Episode:
    """The steps so far and what the next one is made of."""

    def __init__(
        self, agents: Sequence[Agent], decks: Sequence[Sequence[int]], generation: str, best_of: int, decision_cap: int
    ) -> None:
        self.agents, self.decks = agents, [list(deck) for deck in decks]
        self.generation, self.best_of, self.decision_cap = generation, best_of, decision_cap
        self.steps: list[Step] = []
        self.frames: list[dict[str, Any]] = []
        self.tally = [0, 0, 0]  # games won by seat 0, by seat 1, drawn
        self.clock: list[float] = [OVERAGE_SECONDS, OVERAGE_SECONDS]
        nothing: dict[str, Any] = {"select": None, "logs": [], "current": None, "search_begin_input": None}
        self.views: list[dict[str, Any]] = [nothing, nothing]

    def choose_decks(self) -> None:
        """Step 0, and the deck question to both seats; raises :class:`DeckError` for an answer that is another deck."""
        self.append([[], []], [ACTIVE, ACTIVE])
        for seat in (0, 1):
            answer = self.ask(seat, dict(self.views[seat]))
            if answer != self.decks[seat]:
                raise DeckError(f"the agent of seat {seat} answers another deck than the one to be recorded")

    def ask(self, seat: int, view: dict[str, Any]) -> Any:
        """Calls the agent with its clock and the step number, and takes the time it needs off its clock."""
        view["remainingOverageTime"], view["step"] = self.clock[seat], len(self.steps) - 1
        started = time.perf_counter()
        try:
            return self.agents[seat](view)
        finally:
            self.clock[seat] -= time.perf_counter() - started

    def play(self) -> Forfeit | None:
        """All games of the episode and the last step; returns the forfeit that ended it, if one did."""
        actions: list[Any] = list(self.decks)
        while True:
            first = len(self.steps) - 1  # the step whose answer opens this game
            with Battle(self.generation, self.decks[0], self.decks[1], reverse=seat_1_chooses(self.tally)) as battle:
                actions, forfeit = self.play_game(battle, actions)
                self.frames += self.game_frames(battle, first, actions)
                if forfeit is None:
                    self.tally[battle.result] += 1
            if forfeit is not None or self.winner() is not None:
                self.finish(actions, forfeit)
                return forfeit
            self.clock = [OVERAGE_SECONDS, OVERAGE_SECONDS]

    def play_game(self, battle: Battle, actions: list[Any]) -> tuple[list[Any], Forfeit | None]:
        """One game to its end or a forfeit; returns the actions that the next step has to carry."""
        for _ in range(self.decision_cap):
            actions, forfeit = self.turn(battle, actions)
            if forfeit is not None or battle.ended:
                return actions, forfeit
        raise DecisionCapReached(f"game {sum(self.tally)} did not end within {self.decision_cap} decisions")

    def turn(self, battle: Battle, actions: list[Any]) -> tuple[list[Any], Forfeit | None]:
        """Writes the step that ``actions`` led to, asks the deciding seat and applies its answer."""
        seat = battle.seat
        self.views[seat] = self.view(battle)
        self.append(actions, [ACTIVE if side == seat else INACTIVE for side in (0, 1)])
        answers: list[Any] = [[], []]
        try:
            answers[seat] = self.ask(seat, self.view(battle))  # a view of its own: an agent may change what it gets
        except Exception as error:  # whatever an agent raises is its forfeit, as on Kaggle
            answers[seat] = None
            return answers, Forfeit(seat, ERROR, f"{type(error).__name__}: {error}")
        if not isinstance(answers[seat], list):
            reason = f"expected a list, found {type(answers[seat]).__name__}"
            answers[seat] = self.kept(answers[seat])
            return answers, Forfeit(seat, INVALID, reason)
        try:
            battle.select(answers[seat])
        except IllegalAnswer as error:
            return answers, Forfeit(seat, INVALID, str(error))
        return answers, None

    def kept(self, answer: Any) -> Any:
        """What the replay keeps of an answer that is no list: v2's schema of an action lets objects through."""
        if isinstance(answer, dict) and self.generation != "v1":
            return answer
        return [] if answer is None else None

    def view(self, battle: Battle) -> dict[str, Any]:
        """A fresh decoding of the deciding seat's view; v2 carries the score of the episode in it."""
        raw = _decode(battle.raw)
        view = {"select": raw["select"], "logs": raw["logs"], "current": raw["current"]}
        view["search_begin_input"] = battle.search_begin_input
        if self.generation != "v1":
            show_score(view["current"], self.tally)
        return view

    def append(self, actions: list[Any], statuses: list[str], rewards: Sequence[int | None] = (0, 0)) -> None:
        """Adds a step; the seat that is not asked keeps the observation it had."""
        step: Step = []
        for seat in (0, 1):
            observation = {"remainingOverageTime": self.clock[seat]}
            if seat == 0:
                observation["step"] = len(self.steps)
            step.append(
                {
                    "action": actions[seat],
                    "reward": rewards[seat],
                    "info": {},
                    "observation": {**observation, **self.views[seat]},
                    "status": statuses[seat],
                }
            )
        self.steps.append(step)

    def winner(self) -> int | None:
        """Who won the episode, None while games remain: :func:`~tcg_core.engine.score.winner`."""
        return winner(self.tally, self.best_of)

    def finish(self, actions: list[Any], forfeit: Forfeit | None) -> None:
        """The last step, with both observations as they were, and ``visualize``."""
        statuses: list[str] = [DONE, DONE]
        rewards: list[int | None] = [0, 0]
        winner = 1 - forfeit.seat if forfeit else self.winner()
        if winner in (0, 1):
            rewards = [1 if seat == winner else -1 for seat in (0, 1)]
        if forfeit:
            statuses[forfeit.seat], rewards[forfeit.seat] = forfeit.status, None
        self.append(actions, statuses, rewards)
        self.steps[0][0]["visualize"] = self.frames

    def game_frames(self, battle: Battle, first: int, actions: list[Any]) -> list[dict[str, Any]]:
        """The engine's frames of one game, each with the observation that stood one step earlier and its answer."""
        frames = battle.visualize()
        steps = self.steps[first:]
        for index, frame in enumerate(frames):
            step = steps[index]
            asked = 0 if step[0]["status"] == ACTIVE else 1
            frame["obs"] = {key: value for key, value in step[asked]["observation"].items() if key != "search_begin_input"}
            frame["action"] = [seat["action"] for seat in steps[index + 1]] if index + 1 < len(steps) else actions
            if self.generation != "v1":
                for side in (0, 1):
                    frame["current"]["players"][side]["remainingTime"] = step[side]["observation"]["remainingOverageTime"]
        return frames
