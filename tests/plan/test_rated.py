"""A plan over the best agents: which ratings chose its games is part of what it is."""

import dataclasses
from pathlib import Path

import pytest

from tcg_core.base.manifest import read_manifest
from tcg_core.catalog.connection import catalog
from tcg_core.catalog.errors import RatingsStale
from tcg_core.plan.build import build_plan
from tcg_core.ratings.leaderboards import import_leaderboard
from tcg_core.ratings.stage import rate_agents
from tcg_core.recipe import Selection
from tests.train.toy import DAYS, RECIPE, toy_home


def test_ratings_are_part_of_a_plans_identity_when_it_selects_by_them(tmp_path: Path) -> None:
    home = toy_home(tmp_path / "home")
    recipe = dataclasses.replace(RECIPE, selection=Selection(days=DAYS, top_elo=50))
    with pytest.raises(RatingsStale, match="tcg catalog ratings"):
        build_plan(home, recipe)
    plain = build_plan(home, RECIPE).id
    rate_agents(home)
    assert build_plan(home, RECIPE).id == plain, "a plan that selects by no rating depends on none"
    with catalog(home) as connection:
        names = [row["name"] for row in connection.execute("SELECT name FROM agents")]
    ids = set()
    for score in (100, 200):
        board = tmp_path / "board.csv"
        board.write_text("TeamName,Score\n" + "".join(f"{name},{score}\n" for name in names))
        import_leaderboard(home, board, min(DAYS), replace=True)
        rate_agents(home)
        built = build_plan(home, recipe)
        assert built.passed and build_plan(home, recipe).reused
        rated = read_manifest(built.path).config["ratings"]
        assert [(row["day"], row["source"], row["as_of"]) for row in rated] == [
            (day, "remote", min(DAYS)) for day in sorted(DAYS)
        ]
        ids.add(built.id)
    assert len(ids) == 2, "other ratings chose the same games, but it is another choice"
