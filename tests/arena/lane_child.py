"""Run by test_lanes with the seedable random device loaded: the same games in both lanes, compared decision by decision.

Arguments: the shim, the data home, a submission's id, engine generation, games of a match at most. Prints one JSON line:
for each match what differs (null: nothing).
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
from tcg_core.arena.results import MatchResult  # noqa: E402
from tcg_core.arena.schedule import TournamentSchedule, make_schedule  # noqa: E402
from tcg_core.base.home import Home  # noqa: E402
from tcg_core.engine.agents import make_agent  # noqa: E402
from tcg_core.submission.host.process import AgentProcess  # noqa: E402

Lane = dict[int, dict[str, Any]]


def fast(home: Home, schedule: TournamentSchedule) -> Lane:
    """Picks of every decision with what the deciding seat saw of the score and its clock, and who won, by match."""
    picks: dict[int, list[list[int]]] = {}
    seen: dict[int, list[Any]] = {}
    answer = Match.answer

    def spied(match: Match, reply: Any) -> None:
        if reply.answer is not None and len(reply.answer) != 60:
            picks.setdefault(match.game.index, []).append(list(reply.answer))
            seen.setdefault(match.game.index, []).append(shown_score(match.question().observation))
        answer(match, reply)

    Match.answer = spied  # type: ignore[method-assign]
    games: list[MatchResult] = []
    indices = range(len(schedule.games))
    play_games(home, schedule, indices, games.append, together=1, starting=lambda game: shim.tcg_seed(game.index + 1))
    Match.answer = answer  # type: ignore[method-assign]
    winners = {"win": lambda game: game.candidate_seat, "loss": lambda game: 1 - game.candidate_seat, "draw": lambda game: 2}
    return {
        game.index: {
            "picks": picks[game.index],
            "seen": seen[game.index],
            "winner": winners[game.outcome](game),
            "rounds": [[winners[one.outcome](game), sum(one.decisions), one.turns] for one in game.each],
        }
        for game in games
    }


def shown_score(observation: Any) -> list[Any]:
    """What an agent is told of the match: step, games won and drawn, round, after the first game whether its clock is full."""
    current, told = observation["current"], [observation["step"]]
    if "v1" in sys.argv:  # today's wheel shows a score there too; the season's own did not, and so neither do we
        return told
    told += [player["win"] for player in current["players"]] + [current["draw"], current["round"]]
    return told + ([observation["remainingOverageTime"] == 600] if current["round"] > 1 else [])


def noting(agent: Any, seen: list[Any]) -> Any:
    """A function of two arguments, as the package counts them, that notes what it is shown. The steps will not do: when a game
    of a match has ended, the package sets the clocks in its last step back to full."""

    def asked(obs: Any, config: Any) -> Any:
        if obs["select"] is not None:
            seen.append(shown_score(obs | {"step": len(seen) + 1}))
        return agent(obs, config)

    return asked


def baseline_of(player: Any, generation: str, seed: int) -> Any:
    """A baseline as an agent of two arguments."""
    made = make_agent(player.spec, generation, player.cards, seed)
    return lambda obs, config: made(obs)


def reference(home: Home, schedule: TournamentSchedule) -> Lane:
    """The same through kaggle_environments."""
    from kaggle_environments import make

    found: Lane = {}
    with unpacked(source_of(home, schedule.players[0].spec)) as folder, AgentProcess(folder) as policy:
        for game in schedule.games:
            seen: list[Any] = []
            agents: list[Any] = []
            for player, seed in zip(game.seats, game.seeds, strict=True):
                if player == 0:
                    agents.append(noting(lambda obs, config: policy.act(obs, config, 60.0)[0], seen))
                else:
                    agents.append(noting(baseline_of(schedule.players[player], schedule.generation, seed), seen))
            best_of, version = schedule.best_of, int(schedule.generation[1:])
            environment = make("cabt", configuration={"version": version, "bo": best_of})
            shim.tcg_seed(game.index + 1)
            environment.run(agents)
            steps = environment.steps
            active = [next(s for s in (0, 1) if step[s]["status"] == "ACTIVE") for step in steps[1:-1]]
            rewards = [state["reward"] for state in steps[-1]]
            found[game.index] = {
                "picks": [list(steps[t + 2][seat]["action"]) for t, seat in enumerate(active)],
                "seen": seen,
                "winner": 2 if rewards[0] == rewards[1] else rewards.index(1),
                "rounds": rounds(steps),
            }
    return found


def rounds(steps: Any) -> list[list[int]]:
    """Winner, decisions and turns of each game of an episode, from its full-information frames."""
    played, count = [], 0
    for frame in steps[0][0]["visualize"]:
        result = frame["current"]["result"]
        if result < 0:
            count += 1
        else:
            played.append([result, count, frame["current"]["turn"]])
            count = 0
    return played


def main() -> None:
    home, out = Home(Path(sys.argv[2])), os.dup(1)
    os.dup2(2, 1)  # the package prints on import
    generation, best_of = sys.argv[4], int(sys.argv[5])
    result = {}
    for opponent in ("random", "heuristic"):
        players = resolve(home, sys.argv[3], generation), resolve(home, opponent, generation)
        schedule = make_schedule(generation, players, 4, 13, "1", best_of=best_of)
        one, other = fast(home, schedule), reference(home, schedule)
        for index, game in one.items():
            difference = None if game == other[index] else [game, other[index]]
            counted = {"decisions": len(game["picks"]), "games": len(game["rounds"])}
            result[f"{opponent} {index}"] = counted | {"difference": difference}
    os.write(out, json.dumps(result).encode())


main()
