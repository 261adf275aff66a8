"""Run by test_lanes with the seedable random device loaded: the same games in both lanes, compared decision by decision.

Arguments: the shim, the data home, a submission's id. Prints one JSON line: for each game what differs (null: nothing).
"""

import ctypes
import json
import os
import sys
from pathlib import Path
from typing import Any

shim = ctypes.CDLL(sys.argv[1], mode=ctypes.RTLD_GLOBAL)

from tcg_core.arena.match import Match  # noqa: E402
from tcg_core.arena.opponents import resolve, source_of, unpacked  # noqa: E402
from tcg_core.arena.playing import play_games  # noqa: E402
from tcg_core.arena.results import Game  # noqa: E402
from tcg_core.arena.schedule import Schedule, make_schedule  # noqa: E402
from tcg_core.engine.agents import make_agent  # noqa: E402
from tcg_core.home import Home  # noqa: E402
from tcg_core.submission.host.process import AgentProcess  # noqa: E402

Lane = dict[int, dict[str, Any]]


def fast(home: Home, schedule: Schedule) -> Lane:
    """Picks of every decision and the winner's seat, by game."""
    picks: dict[int, list[list[int]]] = {}
    answer = Match.answer

    def spied(match: Match, reply: Any) -> None:
        if reply.answer is not None and len(reply.answer) != 60:
            picks.setdefault(match.game.index, []).append(list(reply.answer))
        answer(match, reply)

    Match.answer = spied  # type: ignore[method-assign]
    games: list[Game] = []
    indices = range(len(schedule.games))
    play_games(home, schedule, indices, games.append, together=1, starting=lambda game: shim.tcg_seed(game.index + 1))
    winners = {"win": lambda game: game.candidate_seat, "loss": lambda game: 1 - game.candidate_seat, "draw": lambda game: 2}
    return {game.index: {"picks": picks[game.index], "winner": winners[game.outcome](game)} for game in games}


def shown(baseline: Any) -> Any:
    """A function of one argument, as the package counts them."""
    return lambda obs: baseline(obs)


def reference(home: Home, schedule: Schedule) -> Lane:
    """The same through kaggle_environments."""
    from kaggle_environments import make

    found: Lane = {}
    with unpacked(source_of(home, schedule.players[0].spec)) as folder, AgentProcess(folder) as policy:
        for game in schedule.games:
            agents: list[Any] = []
            for player, seed in zip(game.seats, game.seeds, strict=True):
                spec = schedule.players[player]
                if player == 0:
                    agents.append(lambda obs, config: policy.act(obs, config, 60.0)[0])
                else:
                    agents.append(shown(make_agent(spec.spec, schedule.generation, spec.cards, seed)))
            environment = make("cabt", configuration={"version": int(schedule.generation[1:]), "bo": 1})
            shim.tcg_seed(game.index + 1)
            environment.run(agents)
            steps = environment.steps
            active = [next(s for s in (0, 1) if step[s]["status"] == "ACTIVE") for step in steps[1:-1]]
            rewards = [state["reward"] for state in steps[-1]]
            found[game.index] = {
                "picks": [list(steps[t + 2][seat]["action"]) for t, seat in enumerate(active)],
                "winner": 2 if rewards[0] == rewards[1] else rewards.index(1),
            }
    return found


def main() -> None:
    home, out = Home(Path(sys.argv[2])), os.dup(1)
    os.dup2(2, 1)  # the package prints on import
    result = {}
    for opponent in ("random", "heuristic"):
        players = resolve(home, sys.argv[3], "v1"), resolve(home, opponent, "v1")
        schedule = make_schedule("v1", players, 4, 13, "1")
        one, other = fast(home, schedule), reference(home, schedule)
        for index, game in one.items():
            difference = None if game == other[index] else [game, other[index]]
            result[f"{opponent} {index}"] = {"decisions": len(game["picks"]), "difference": difference}
    os.write(out, json.dumps(result).encode())


main()
