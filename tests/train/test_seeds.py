"""One seed, one run: ambient generators change nothing, another seed changes orders and weights, never sides."""

import dataclasses
import random
from pathlib import Path
from typing import Any

import numpy as np

from tcg_core.base.home import Home
from tcg_core.model.bootstrap import mlx
from tcg_core.model.mlx_net import weights_of
from tcg_core.recipe import Split
from tcg_core.train.loss import Normalizer
from tcg_core.train.session import Session
from tests.train.toy import RECIPE, toy_home, toy_session

mx = mlx().core
UPDATES = 4


def started(home: Home, ambient: int, **changes: Any) -> tuple[Session, dict[str, Any], dict[str, Any]]:
    """A session, its first weights, and those after ``UPDATES`` updates, each made under disturbed ambient generators."""
    session = toy_session(home, dataclasses.replace(RECIPE, **changes))
    first = weights_of(session.stepper.net)
    memories: dict[int, Any] = {}
    for index in range(UPDATES):
        for seed in (np.random.seed, random.seed, mx.random.seed):
            seed(ambient + index)
        batch = session.plan.microbatch(0, index)
        normalizer = Normalizer(batch.n_rows, batch.n_valid)
        session.stepper.apply([session.prepare_train(index)], normalizer, memories, session.horizon.rate(index + 1), index + 1)
    return session, first, weights_of(session.stepper.net)


def same(left: dict[str, Any], right: dict[str, Any]) -> bool:
    return all(np.array_equal(left[name], right[name]) for name in left)


def test_one_seed_one_run_another_seed_another(tmp_path: Path) -> None:
    home = toy_home(tmp_path / "home")
    one, before, after = started(home, 1)
    two, again, later = started(home, 99)
    other, others, _ = started(home, 1, seed=14)
    assert same(before, again)
    assert same(after, later)
    assert not same(before, after)
    assert not same(before, others)
    orders = [[order.chunks.tolist() for order in session.plan.orders["train"]] for session in (one, two, other)]
    assert orders[0] == orders[1] != orders[2]
    assert orders[0][0] != orders[0][1]
    assert np.array_equal(one.plan.lanes.validation, other.plan.lanes.validation), "the seed moves nobody to the other side"


def test_the_split_follows_its_own_seed(tmp_path: Path) -> None:
    home = toy_home(tmp_path / "home")
    plans = [
        toy_session(home, dataclasses.replace(RECIPE, split=Split(val_frac=0.4, split_seed=seed))).plan for seed in (1, 1, 2)
    ]
    sides = [plan.lanes.validation.astype(bool).tolist() for plan in plans]
    assert sides[0] == sides[1] != sides[2]
