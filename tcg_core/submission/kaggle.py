"""Plays an extracted submission through ``kaggle_environments``: the reference lane, slow and true to Kaggle.

Run as ``python -m tcg_core.submission.kaggle SPEC.json OUT.json``: the engine can kill its process, and the package prints.
The submission itself sits in a process of its own (:mod:`tcg_core.submission.host`).
"""

import json
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from tcg_core.base.atomic import write_json
from tcg_core.base.settings import from_dict
from tcg_core.engine.agents import make_agent
from tcg_core.engine.decks import sample_deck
from tcg_core.submission.host.process import AgentFailure, AgentProcess, Limits

VERSION_NUMBER = {"v1": 1, "v2": 2}
#: Games of one episode: generation v2 plays best of three on Kaggle by default.
BEST_OF = {"v1": 1, "v2": 3}


@dataclass(frozen=True)
class PreflightEpisode:
    """One episode to play: engine generation, seat of the submission, baseline in the other seat, the baseline's seed."""

    generation: str
    seat: int
    opponent: str
    seed: int


@dataclass(frozen=True)
class Spec:
    """What to play: the extracted folder, the episodes, limits of the submission's process."""

    folder: str
    episodes: tuple[PreflightEpisode, ...]
    load_seconds: float = 120.0
    memory: int = 6 << 30


@dataclass
class Played:
    """What came of one episode, for the submission's seat. fallbacks, unknown_card: the agent's own counts."""

    generation: str
    seat: int
    opponent: str
    statuses: list[str]
    rewards: list[float | None]
    seconds: list[float] = field(default_factory=list)
    failure: str = ""
    fallbacks: dict[str, Any] = field(default_factory=dict)
    unknown_card: dict[str, Any] = field(default_factory=dict)
    wall: float = 0.0


@dataclass
class PreflightOutcome:
    """All of it. ``failure`` is why nothing could be played; ``reference`` the replayed reference or why it was not."""

    failure: str = ""
    callable_name: str = ""
    load_seconds: float = 0.0
    deck: list[Any] = field(default_factory=list)
    reference: dict[str, Any] = field(default_factory=dict)
    modules: dict[str, str] = field(default_factory=dict)
    episodes: list[Played] = field(default_factory=list)
    printed: str = ""


def play(spec: Spec) -> PreflightOutcome:
    """Loads the submission once and plays every episode with it."""
    outcome = PreflightOutcome()
    try:
        with AgentProcess(Path(spec.folder), limits=Limits(spec.memory, load=spec.load_seconds)) as agent:
            outcome.callable_name, outcome.load_seconds = agent.callable_name, agent.load_seconds
            outcome.deck = agent.act(_empty(), {}, 60.0)[0]
            outcome.reference = _reference(agent)
            for episode in spec.episodes:
                outcome.episodes.append(_episode(agent, episode))
                if not agent.alive:
                    break
            if agent.alive:
                outcome.modules = agent.modules(("tcg_core", "torch", "numpy", "mlx", "dagster", "kaggle_environments"))
            outcome.printed = agent.output
    except AgentFailure as error:
        outcome.failure = str(error)
    return outcome


def _empty() -> dict[str, Any]:
    return {"select": None, "logs": [], "current": None, "search_begin_input": None, "remainingOverageTime": 600, "step": 0}


def _reference(agent: AgentProcess) -> dict[str, Any]:
    try:
        return agent.call("verify", timeout=300.0) or {"error": "the agent has no verify function"}
    except AgentFailure as error:
        if not agent.alive:
            raise
        return {"error": str(error)}


def _episode(agent: AgentProcess, episode: PreflightEpisode) -> Played:
    from kaggle_environments import make

    played = Played(episode.generation, episode.seat, episode.opponent, [], [])
    baseline = make_agent(episode.opponent, episode.generation, sample_deck(), episode.seed)
    ours = _proxy(agent, played)
    number = VERSION_NUMBER[episode.generation]
    environment = make("cabt", configuration={"version": number, "bo": BEST_OF[episode.generation]}, debug=False)

    def theirs(observation: dict[str, Any]) -> list[int]:
        return baseline(observation)

    started = time.perf_counter()
    environment.run([ours, theirs] if episode.seat == 0 else [theirs, ours])
    played.wall = time.perf_counter() - started
    played.statuses = [str(state["status"]) for state in environment.steps[-1]]
    played.rewards = [state["reward"] for state in environment.steps[-1]]
    if agent.alive:
        summary = agent.call("summary") or {}
        played.fallbacks, played.unknown_card = summary.get("fallbacks", {}), summary.get("unknown_card", {})
    return played


def _proxy(agent: AgentProcess, played: Played) -> Callable[[Any, Any], list[Any]]:
    def ask(observation: Mapping[str, Any], configuration: Mapping[str, Any]) -> list[Any]:
        try:
            answer, seconds = agent.act(observation, configuration, float(observation["remainingOverageTime"]) + 1.0)
        except AgentFailure as error:
            played.failure = played.failure or str(error)
            raise
        if observation["select"] is not None:
            played.seconds.append(seconds)
        return answer

    return ask


def main(spec_path: str, out_path: str) -> None:
    """Reads the spec, plays, writes the outcome."""
    outcome = play(from_dict(Spec, json.loads(Path(spec_path).read_text())))
    write_json(Path(out_path), asdict(outcome))


if __name__ == "__main__":
    main(*sys.argv[1:])
