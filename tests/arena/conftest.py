"""A packed submission of a random-weights artifact, and ways to play games without a tournament."""

import pytest

from tcg_core.arena.opponents import resolve
from tcg_core.arena.playing import play_games
from tcg_core.arena.results import MatchResult
from tcg_core.arena.schedule import make_schedule
from tcg_core.base.built import Built
from tcg_core.base.home import Home
from tcg_core.submission.pack import pack
from tests.submission.random_artifact import random_artifact


@pytest.fixture(scope="session")
def shared_home(tmp_path_factory) -> Home:
    """One home for the whole run."""
    return Home(tmp_path_factory.mktemp("arena")).prepare()


@pytest.fixture(scope="session")
def submission(shared_home) -> Built:
    """Its submission."""
    return pack(shared_home, random_artifact(shared_home))


@pytest.fixture(scope="session")
def submission_of_both(shared_home) -> Built:
    """One that plays both engine generations."""
    return pack(shared_home, random_artifact(shared_home, ("v1", "v2")))


@pytest.fixture
def play(shared_home):
    """Plays ``games`` games of the first player against each other; returns all, in order."""

    def run(*specs: str, games: int = 2, generation: str = "v1", together: int = 16, **settings) -> list[MatchResult]:
        players = tuple(resolve(shared_home, spec, generation) for spec in specs)
        schedule = make_schedule(generation, players, games, 13, "1", **settings)
        found: list[MatchResult] = []
        play_games(shared_home, schedule, range(len(schedule.games)), found.append, together)
        return sorted(found, key=lambda game: game.index)

    return run
