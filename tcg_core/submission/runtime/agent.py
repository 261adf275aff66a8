"""The agent: answers every observation legally, by the policy wherever it can, and counts each time it could not."""

import contextlib
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tcg_core.submission.runtime.answers import Fallbacks, Unanswerable, UnknownCards, asked_of, legal_default
from tcg_core.submission.runtime.lane import Lane, Thought
from tcg_core.submission.runtime.policy import Policy
from tcg_core.submission.runtime.verify import verify

DECK = "deck.csv"
VERSIONS = {1: "v1", 2: "v2"}


def read_deck(folder: Path) -> list[int]:
    """The 60 card ids of ``deck.csv``; raises ValueError for another number."""
    ids = [int(line) for line in (folder / DECK).read_text().split()]
    if len(ids) != 60:
        raise ValueError(f"{DECK} holds {len(ids)} cards, expected 60")
    return ids


class PolicyAgent:
    """A callable in Kaggle's protocol: ``agent(observation, configuration) -> list of option indexes, or the deck``.

    It never raises on an observation: what goes wrong is answered with a legal default and counted (:meth:`summary`); a
    question that has no legal answer is counted as ``unanswerable``.
    Several games may be played at once, each under its own name (:meth:`act_many`); seats are told apart by
    ``yourIndex``, and a seat's state starts afresh at its first decision of a game.
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self.policy = Policy(self.folder)
        self.deck = read_deck(self.folder)
        self.fallbacks = Fallbacks()
        self.unknown_cards = UnknownCards()
        self.decisions = 0
        self.slowest = 0.0
        self._lanes: dict[tuple[str, int], Lane] = {}

    def __call__(self, obs: Mapping[str, Any], config: Mapping[str, Any] | None = None) -> list[int]:
        """One answer of the one game that is played."""
        return self.act_many([("", obs)], config)[0]

    def act_many(
        self, asked: Sequence[tuple[str, Mapping[str, Any]]], config: Mapping[str, Any] | None = None
    ) -> list[list[int]]:
        """One answer for each (game, observation), the network being asked for all of them together."""
        started = time.perf_counter()
        answers: list[list[int] | None] = [None] * len(asked)
        thoughts: dict[int, Thought] = {}
        for place, (game, obs) in enumerate(asked):
            if isinstance(obs, Mapping) and "select" in obs and obs["select"] is None:
                self.end(game)
                answers[place] = list(self.deck)
                continue
            self.decisions += 1
            try:
                thought = self._begin(game, obs, config)
            except Exception as error:  # an answer that is late or missing forfeits the game; a default does not
                answers[place] = self._fallback(game, obs, error)
            else:
                if thought is None:
                    answers[place] = legal_default(obs)
                else:
                    thoughts[place] = thought
        self._think(asked, thoughts, answers, started)
        seconds = (time.perf_counter() - started) / max(1, len(asked))
        self.slowest = max(self.slowest, seconds)
        for thought in thoughts.values():
            thought.lane.clock.spend(seconds)
        return [answer if answer is not None else [] for answer in answers]

    def end(self, game: str = "") -> dict[str, int]:
        """Forgets both seats of a game; returns its fallbacks by reason."""
        for seat in (0, 1):
            self._lanes.pop((game, seat), None)
        return self.fallbacks.end(game)

    def summary(self) -> dict[str, Any]:
        """Fallbacks (total, by reason, first of each), unknown_card (decisions that showed a card which the tables lack, and
        the ids), decisions, network rows, slowest decision in seconds."""
        return {
            "fallbacks": self.fallbacks.summary(),
            "unknown_card": self.unknown_cards.summary(),
            "decisions": self.decisions,
            "rows": self.policy.rows,
            "slowest": self.slowest,
        }

    def verify(self) -> dict[str, Any]:
        """Replays the artifact's reference decisions: :func:`~tcg_core.submission.runtime.verify.verify`."""
        return verify(self.policy, self.folder)

    def _begin(self, game: str, obs: Mapping[str, Any], config: Mapping[str, Any] | None) -> Thought | None:
        """The decision's thought; None (counted) where the clock or the engine generation forbids one. Raises
        :class:`Unanswerable`, and whatever reading the observation raises."""
        asked_of(obs)
        key = (game, int(obs["current"]["yourIndex"]))
        lane = self._lanes.get(key)
        if lane is None or not lane.continues(obs):
            generation = self._generation(obs, config)
            lane = self._lanes[key] = Lane(self.deck, self.policy.initial_memory(), obs, generation)
        if lane.generation not in self.policy.generations:
            self.fallbacks.count(
                game, "generation", f"the engine is {lane.generation}, the policy knows {', '.join(self.policy.generations)}"
            )
            return None
        if lane.clock.exhausted(obs, 0.0):
            self.fallbacks.count(game, "clock", f"{lane.clock.remaining(obs):.1f} s left of the game")
            return None
        thought = Thought(lane, obs)
        self.unknown_cards.count(self.policy.unknown(thought.decision.ids, lane.generation))
        return thought

    def _generation(self, obs: Mapping[str, Any], config: Mapping[str, Any] | None) -> str:
        """Engine generation: what the configuration says; without that the only one known, or what the state looks like."""
        version = config.get("version") if isinstance(config, Mapping) else None
        if isinstance(version, int | float) and version in VERSIONS:
            return VERSIONS[int(version)]
        if len(self.policy.generations) == 1:
            return self.policy.generations[0]
        return "v2" if "round" in obs["current"] else "v1"

    def _think(
        self,
        asked: Sequence[tuple[str, Mapping[str, Any]]],
        thoughts: Mapping[int, Thought],
        answers: list[list[int] | None],
        started: float,
    ) -> None:
        open_places = list(thoughts)
        while open_places:
            self._step([place for place in open_places if not thoughts[place].done], thoughts, asked, answers)
            for place in open_places:
                thought, obs = thoughts[place], asked[place][1]
                if answers[place] is None and thought.done:
                    try:
                        answers[place] = thought.commit()
                    except Exception as error:
                        answers[place] = self._abandon(asked[place], thought, error)
                elif answers[place] is None and thought.lane.clock.exhausted(obs, time.perf_counter() - started):
                    self.fallbacks.count(asked[place][0], "clock", "the reserve was reached within a decision")
                    answers[place] = self._filled(obs, thought)
            open_places = [place for place in open_places if answers[place] is None]

    def _step(
        self,
        places: Sequence[int],
        thoughts: Mapping[int, Thought],
        asked: Sequence[tuple[str, Mapping[str, Any]]],
        answers: list[list[int] | None],
    ) -> None:
        """One pick of each thought. If the batch fails it is asked one by one, so that only the culprit falls back."""
        if not places:
            return
        try:
            chosen = [thoughts[place] for place in places]
            found = self.policy.forward(
                [thought.row() for thought in chosen],
                [thought.memory_in for thought in chosen],
                [thought.lane.generation for thought in chosen],
            )
        except Exception as error:
            if len(places) == 1:
                answers[places[0]] = self._abandon(asked[places[0]], thoughts[places[0]], error)
                return
            for place in places:
                self._step([place], thoughts, asked, answers)
            return
        for index, place in enumerate(places):
            try:
                thoughts[place].take(*found[index])
            except Exception as error:
                answers[place] = self._abandon(asked[place], thoughts[place], error)

    def _fallback(self, game: str, obs: Mapping[str, Any], error: Exception) -> list[int]:
        reason = "unanswerable" if isinstance(error, Unanswerable) else f"exception:{type(error).__name__}"
        self.fallbacks.count(game, reason, str(error)[:500])
        return legal_default(obs)

    def _abandon(self, asked: tuple[str, Mapping[str, Any]], thought: Thought, error: Exception) -> list[int]:
        self._fallback(*asked, error)
        return self._filled(asked[1], thought)

    def _filled(self, obs: Mapping[str, Any], thought: Thought) -> list[int]:
        """The picks made so far, filled up to a legal answer; the tracker learns what was answered, if it still can."""
        picks = legal_default(obs, thought.picks)
        with contextlib.suppress(Exception):  # the decision is counted already; its lane goes on as well as it can
            thought.lane.tracker.answered(thought.obs, picks)
        return picks
