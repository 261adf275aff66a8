"""A tournament of a submission: schedule, games, summary, report. After a kill, the same call continues."""

import json
import shutil
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as parquet

from tcg_core.arena.errors import ArenaError
from tcg_core.arena.forest import Forest
from tcg_core.arena.opponents import SUBMISSION, resolve
from tcg_core.arena.pool import run_schedule
from tcg_core.arena.report import report
from tcg_core.arena.results import SCHEMA, MatchResult, table_row
from tcg_core.arena.schedule import Contestant, TournamentSchedule, load_schedule, make_schedule, store_schedule
from tcg_core.arena.stats.bradley_terry import Result, ratings
from tcg_core.arena.stats.score import Interval
from tcg_core.arena.summary import Summary, summarise
from tcg_core.arena.verify import tournament_checks
from tcg_core.arena.worker import SCHEDULE
from tcg_core.base.atomic import write_bytes, write_json
from tcg_core.base.built import Built
from tcg_core.base.checks import Check
from tcg_core.base.home import Home
from tcg_core.base.lock import hold
from tcg_core.base.manifest import Input, read_manifest, verify_files
from tcg_core.base.stage import Made, Stage, find, finish, make
from tcg_core.catalog import registry
from tcg_core.engine.decks import deck_hash
from tcg_core.engine.library import engine_version
from tcg_core.submission.runtime.clock import RESERVE

KIND = "tournament"
TABLE, REPORT, PLOT, SUMMARY = "games.parquet", "report.html", "scores.png", "summary.json"


def tournament(
    home: Home,
    submission_id: str,
    opponents: Sequence[str] = ("random", "heuristic"),
    games: int = 100,
    seed: int = 13,
    workers: int = 2,
    generation: str | None = None,
    opponent_deck: str = "sample",
    nonce: str = "1",
    decision_cap: int = 3000,
    seconds_budget: float = 600.0,
    best_of: int = 1,
) -> Built:
    """``games`` games, or matches of at most ``best_of`` games, of a submission whose preflight passed against each opponent,
    both seats equally.

    generation: default the first that the submission declares; opponent_deck: deck of baselines without one of their own;
    nonce: a different one makes a new tournament with equal settings; decision_cap: decisions of both seats in one game,
    beyond which it has no result; seconds_budget: per seat and game, more than a submission keeps in
    reserve; best_of: more than 1 only in engine generation v2.
    Raises :class:`~tcg_core.base.errors.TcgError` for a refusal.
    """
    if seconds_budget <= RESERVE:
        raise ArenaError(
            f"seconds_budget is {seconds_budget:g}: a submission stops asking its policy when {RESERVE:g} s are left, so all its "
            f"decisions would be fallbacks; expected more than {RESERVE:g}"
        )
    directory = registry.require_passed(home, SUBMISSION, submission_id)
    origin = verify_files(directory)
    played = generation or str(origin.config["generations"][0])
    players = (resolve(home, submission_id, played), *(resolve(home, spec, played, opponent_deck) for spec in opponents))
    schedule = make_schedule(played, players, games, seed, nonce, decision_cap, seconds_budget, best_of)
    inputs = (origin.as_input(), *_others(home, players))
    engine = engine_version(played)
    config: dict[str, Any] = {
        "schedule": schedule.digest,
        "generation": played,
        "engine": engine.library_sha256,
        "opponents": [player.name for player in players[1:]],
        schedule.unit: games,
        "best_of": best_of,
        "seed": seed,
        "nonce": nonce,
    }
    # The engine cannot be seeded: nobody can play these games again.
    stage = Stage.of(KIND, KIND, home.tournaments, inputs, config, keeping=True)
    about = {
        "tournament": stage.id,
        "submission": submission_id,
        "schedule": schedule.digest,
        "engine": f"{engine.generation}, version {engine.package_version}, library {engine.library_sha256[:16]}",
        "seed, nonce": f"{seed}, {nonce}",
        "code": stage.code,
    }
    running = home.tournaments / f"{stage.id}.running"
    made = find(stage)
    if made is None:
        with _alone(running):
            # Another process may have finished it between the search above and the lock.
            made = find(stage) or _played(home, stage, schedule, running, workers, about)
    shutil.rmtree(running, ignore_errors=True)
    return _finished(home, made)


def _played(
    home: Home, stage: Stage, schedule: TournamentSchedule, running: Path, workers: int, about: Mapping[str, str]
) -> Made:
    """Plays what is left to play in ``running`` and publishes the tournament."""
    store_schedule(running / SCHEDULE, schedule)
    games = run_schedule(home, schedule, running, workers, f"tournament {stage.id}")
    return make(stage, lambda directory: _write(directory, stage.id, schedule, games, about))


def _finished(home: Home, made: Made) -> Built:
    """Checks over what is read back from disk."""

    def checks() -> tuple[Check, ...]:
        rows = parquet.read_table(made.path / TABLE).to_pylist()
        return tournament_checks(load_schedule(made.path / SCHEDULE), rows)

    facts = dict(json.loads((made.path / SUMMARY).read_text())) | {"report": str(made.path / REPORT)}
    return finish(registry.HomeRegistrar(home), made, checks, facts, {"scores": made.path / PLOT})


def _write(
    directory: Path, identity: str, schedule: TournamentSchedule, games: Mapping[int, MatchResult], about: Mapping[str, str]
) -> dict[str, Any]:
    """All files of the tournament; returns its facts."""
    names = [player.name for player in schedule.players]
    summaries = [
        summarise(name, (game for game in games.values() if game.opponent == name), schedule.best_of) for name in names[1:]
    ]
    rated = _ratings(names[0], summaries)
    facts = _facts(schedule, summaries, rated)
    store_schedule(directory / SCHEDULE, schedule)
    parquet.write_table(_table(schedule, games), directory / TABLE)
    write_bytes(directory / REPORT, report(identity, schedule, summaries, rated, about).encode())
    scored = [(f"{s.opponent} (n = {s.clean})", s.score) for s in summaries if s.score is not None]
    Forest.of_scores(scored, f"score of {names[0]}, 95 % Wilson interval").png(directory / PLOT)
    write_json(directory / SUMMARY, facts)
    return facts


def _facts(schedule: TournamentSchedule, summaries: Sequence[Summary], rated: Mapping[str, Interval]) -> dict[str, Any]:
    facts: dict[str, Any] = {
        "rows": len(schedule.games),
        "games": sum(summary.games for summary in summaries),
        "matches": len(schedule.games),
        "best_of": schedule.best_of,
        "generation": schedule.generation,
        "candidate": schedule.players[0].name,
        "errors": sum(summary.faults - summary.timeouts for summary in summaries),
        "timeouts": sum(summary.timeouts for summary in summaries),
        "fallbacks": sum(summary.fallbacks[0] for summary in summaries),
        "results": {summary.opponent: summary.facts() for summary in summaries},
        "ratings": {name: [round(found.value, 1), round(found.low, 1), round(found.high, 1)] for name, found in rated.items()},
    }
    for summary in summaries:
        score = summary.score
        if score is not None:
            text = f"{score.value:.1%} of {summary.clean} {summary.unit} (95 % {score.low:.1%} to {score.high:.1%})"
            facts[f"score_against_{summary.opponent}"] = text
    return facts


def _ratings(candidate: str, summaries: Sequence[Summary]) -> Mapping[str, Interval]:
    results = [Result(candidate, s.opponent, s.wins + s.draws / 2, s.clean) for s in summaries if s.clean]
    return ratings(results) if results else {}


def _table(schedule: TournamentSchedule, games: Mapping[int, MatchResult]) -> pa.Table:
    rows = []
    for index in sorted(games):
        game, planned = games[index], schedule.games[index]
        ours, theirs = schedule.players[0], schedule.players[schedule.opponent_of(planned)]
        seat = schedule.candidate_seat(planned)
        rows.append(
            table_row(
                game,
                schedule.generation,
                (ours.name, theirs.name),
                (deck_hash(ours.cards), deck_hash(theirs.cards)),
                (planned.seeds[seat], planned.seeds[1 - seat]),
            )
        )
    return pa.Table.from_pylist(rows, schema=SCHEMA)


def _others(home: Home, players: Sequence[Contestant]) -> tuple[Input, ...]:
    """Opponents that are artifacts of this home, as inputs."""
    found = []
    for player in players[1:]:
        if player.kind == SUBMISSION and not Path(player.spec).exists():
            found.append(read_manifest(registry.find(home, SUBMISSION, player.spec)).as_input())
    return tuple(found)


def _alone(running: Path) -> AbstractContextManager[None]:
    """Holds the running tournament; raises :class:`ArenaError` if another process plays it."""
    rule = f"tournament {running.stem} is being played by another process"
    return hold(running / "lock", "tournament", refused=ArenaError, rule=rule)
