"""A data home with two recorded days of real games, made once a test session and copied for each test that writes."""

import atexit
import shutil
import tempfile
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from tcg_core.base.home import Home
from tcg_core.cards.features import card_features
from tcg_core.catalog.registry import HomeRegistrar
from tcg_core.days.build import build_day
from tcg_core.days.promote import promote_day
from tcg_core.days.take import take_archive
from tcg_core.encode.columns import Columns
from tcg_core.engine import cards as engine_cards
from tcg_core.model.config import ModelConfig
from tcg_core.plan.build import build_plan
from tcg_core.plan.load import load_plan
from tcg_core.plan.plan import Plan
from tcg_core.recipe import Optimizer, Recipe, Schedule, Selection, Split, Work
from tcg_core.replay.record_day import record_day
from tcg_core.train.baseline import RankCounts
from tcg_core.train.data import Source, open_cards
from tcg_core.train.session import Session, open_session

#: The first is trained on, the second is validation: games cannot be seeded, so no side may be left to a hash.
DAYS = ("2026-08-01", "2026-08-02")
EPISODES = (15, 6)
TINY = ModelConfig(d_model=16, heads=2, layers=1, ff=32, registers=3)
RECIPE = Recipe(
    Selection(all_days=True),
    split=Split(val_frac=0.0, holdout_days=DAYS[1:]),
    work=Work(batch_size=64, val_batch_size=128, tbptt_chunk=8),
    model=TINY,
    optimizer=Optimizer(lr=3e-3),
    schedule=Schedule(warmup_steps=4),
    epochs=2,
    latest_every_updates=3,
)

#: A run long enough to learn something of real games.
LEARNING = replace(
    RECIPE,
    model=replace(RECIPE.model, d_model=32, ff=64),
    work=replace(RECIPE.work, batch_size=48),
    optimizer=Optimizer(lr=6e-3),
    epochs=5,
)


@cache
def _original() -> Path:
    root = Path(tempfile.mkdtemp(prefix="tcg-toy-"))
    atexit.register(shutil.rmtree, root, ignore_errors=True)
    home = Home(root).prepare()
    for day, episodes in zip(DAYS, EPISODES, strict=True):
        record_day(home, day, episodes)
        take_archive(home, day)
        assert build_day(home, day).passed
        assert promote_day(home, day).passed
    assert card_features(
        home, HomeRegistrar(home), {"v1": engine_cards.load_cards("v1")}, {"v1": engine_cards.load_attacks("v1")}
    ).passed
    return root


def toy_home(directory: Path) -> Home:
    """A copy of the home at ``directory``, for this test alone."""
    shutil.copytree(_original(), directory)
    return Home(directory)


def toy_plan(home: Home, recipe: Recipe = RECIPE) -> Plan:
    """Builds, stores and loads a plan whose checks passed."""
    built = build_plan(home, recipe)
    assert built.passed
    return load_plan(home, built.id)


def toy_session(home: Home, recipe: Recipe = RECIPE, **changes: Any) -> Session:
    """A fresh session of :func:`toy_plan` on the CPU."""
    plan = toy_plan(home, recipe)
    return replace(open_session(home, plan, open_cards(home, plan), "cpu", False), **changes)


class Shuffled(Source):
    """A source whose labels are drawn at random among the legal answers: nothing can be learned from it."""

    def fetch(self, rows: Any) -> Columns:
        found = super().fetch(rows)
        values = dict(found.values)
        y = values["y"].copy()
        starts, lengths = found.offsets["option"][:-1], found.lengths("option")
        picked = values["option_attributes"][:, 0]
        for position, row in enumerate(rows.tolist()):
            legal = np.flatnonzero(picked[starts[position] : starts[position] + lengths[position]] == 0)
            if len(legal):
                y[position] = np.random.default_rng([7, row]).choice(legal)
        return Columns(found.rows, values | {"y": y}, found.offsets)


def shuffled(source: Source) -> Shuffled:
    """``source`` with its labels shuffled."""
    return Shuffled(source.days, source.readers, source.cache)


def ranks_of(session: Session) -> RankCounts:
    """Rank counts of the training labels as the session's source gives them."""
    lanes = session.plan.lanes
    side = ~lanes.validation.astype(bool)
    rows = np.concatenate([np.arange(f, f + n) for f, n in zip(lanes.first_row[side], lanes.rows[side], strict=True)])
    found = session.train.fetch(rows)
    stop = found["y"] == found.lengths("option")
    return RankCounts(tuple(np.bincount(found["y"][~stop]).tolist()), int(stop.sum()))
