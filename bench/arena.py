"""Games a second of the arena's fast lane against the ``kaggle_environments`` loop, in one run.

    python bench/arena.py SUBMISSION [--games 60] [--workers 2] [--opponent heuristic] [--generation v2 --best-of 3]

The loop is one process, as people write it: the submission's agent and the baseline through ``env.run``. Ours plays the
same pairing with worker processes. Random against random has no network: it shows the engine and the arena alone. With
``--best-of 3`` what is counted is matches; the games of the fast lane's are given beside them.
"""

import argparse
import json
import os
import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path

from tcg_core.arena.opponents import resolve, source_of, unpacked
from tcg_core.arena.pool import run_schedule
from tcg_core.arena.schedule import make_schedule, store_schedule
from tcg_core.arena.worker import SCHEDULE
from tcg_core.base.home import Home
from tcg_core.engine.agents import make_agent
from tcg_core.engine.decks import sample_deck
from tcg_core.submission.runtime.agent import PolicyAgent


def cpu_seconds() -> float:
    """Processor seconds of this process and of all descendants that have ended."""
    spent = os.times()
    return spent.user + spent.system + spent.children_user + spent.children_system


@dataclass(frozen=True)
class Kind:
    """What is played: engine generation, games of a match at most."""

    generation: str
    best_of: int


def fast(home: Home, kind: Kind, first: str, second: str, games: int, workers: int) -> tuple[float, float, float]:
    """(matches a second, processor seconds a match, games a match), start of the worker processes included."""
    players = resolve(home, first, kind.generation), resolve(home, second, kind.generation)
    if players[0].name == players[1].name:
        players = players[0], replace(players[1], name=f"{players[1].name} (other)")
    schedule = make_schedule(kind.generation, players, games, 13, "bench", best_of=kind.best_of)
    with tempfile.TemporaryDirectory() as name:
        store_schedule(Path(name) / SCHEDULE, schedule)
        started, spent = time.perf_counter(), cpu_seconds()
        played = run_schedule(home, schedule, Path(name), workers, "fast lane")
        wall, cpu = time.perf_counter() - started, cpu_seconds() - spent
    return games / wall, cpu / games, sum(len(match.each) for match in played.values()) / games


def loop(home: Home, kind: Kind, submission: str, opponent: str, games: int) -> tuple[float, float]:
    """The same of ``env.run``, with everything loaded before the clock starts."""
    from kaggle_environments import make

    with unpacked(source_of(home, submission)) as folder:
        policy = PolicyAgent(folder)
        started, spent = time.perf_counter(), cpu_seconds()
        for index in range(games):
            baseline = make_agent(opponent, kind.generation, sample_deck(), index)
            agents = [lambda obs, config: policy(obs, config), (lambda other: lambda obs: other(obs))(baseline)]
            environment = make("cabt", configuration={"version": int(kind.generation[1:]), "bo": kind.best_of})
            environment.run(agents if index % 2 == 0 else agents[::-1])
        return games / (time.perf_counter() - started), (cpu_seconds() - spent) / games


def main() -> None:
    """Prints one JSON object."""
    parser = argparse.ArgumentParser()
    parser.add_argument("submission")
    parser.add_argument("--games", type=int, default=60)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--opponent", default="heuristic")
    parser.add_argument("--generation", default="v1")
    parser.add_argument("--best-of", type=int, default=1)
    chosen = parser.parse_args()
    home, kind = Home.resolve(), Kind(chosen.generation, chosen.best_of)
    theirs = loop(home, kind, chosen.submission, chosen.opponent, chosen.games)
    ours = fast(home, kind, chosen.submission, chosen.opponent, 10 * chosen.games, chosen.workers)
    random = fast(home, kind, "random", "random", 20 * chosen.games, chosen.workers)
    found = {
        "opponent": chosen.opponent,
        "workers": chosen.workers,
        "generation": kind.generation,
        "best_of": kind.best_of,
        "fast_games_a_match": ours[2],
        "loop_matches_per_second": theirs[0],
        "fast_matches_per_second": ours[0],
        "ratio": ours[0] / theirs[0],
        "loop_cpu_ms_per_match": 1000 * theirs[1],
        "fast_cpu_ms_per_match": 1000 * ours[1],
        "ratio_per_core": theirs[1] / ours[1],
        "random_against_random_matches_per_second": random[0],
        "random_against_random_cpu_ms_per_match": 1000 * random[1],
    }
    print(json.dumps({name: round(value, 2) if isinstance(value, float) else value for name, value in found.items()}))


if __name__ == "__main__":
    main()
