"""20,000 rows, killed ten times at random moments, end with the parameters of a run that was not killed."""

import dataclasses
import json
import random
import shutil
import signal
from pathlib import Path

import pytest

from tcg_core.base.home import Home
from tcg_core.days.build import build_day
from tcg_core.days.promote import promote_day
from tcg_core.days.take import take_archive
from tcg_core.recipe import Selection, Split
from tcg_core.replay.record_day import record_day
from tcg_core.train.runs.pointers import require
from tests.train.test_recover import child, fingerprints
from tests.train.toy import RECIPE, toy_home, toy_plan

DAY, EPISODES, ROWS, KILLS = "2026-09-01", 400, 20_000, 10


@pytest.mark.slow
def test_ten_kills_at_random_change_no_bit(tmp_path: Path, chance: random.Random) -> None:
    whole = toy_home(tmp_path / "whole")
    record_day(whole, DAY, EPISODES)
    take_archive(whole, DAY)
    assert build_day(whole, DAY).passed
    assert promote_day(whole, DAY).passed
    recipe = dataclasses.replace(
        RECIPE,
        selection=Selection(days=(DAY,)),
        split=Split(val_frac=0.05),
        work=dataclasses.replace(RECIPE.work, batch_size=256, val_batch_size=512, accum_steps=2),
        latest_every_updates=4,
    )
    plan = toy_plan(whole, recipe)
    assert sum(plan.rows.values()) >= ROWS
    killed = Home(tmp_path / "killed")
    shutil.copytree(whole.root, killed.root)
    assert child(whole, plan.id) == 0
    state = json.loads((require(whole.checkpoints / plan.id, "latest") / "state.json").read_text())
    seconds = sum(entry["train_seconds"] + entry["validation_seconds"] for entry in state["progress"]["history"])

    for _ in range(KILLS):
        moment = int(1000 * chance.uniform(0.01, 0.08) * seconds)
        assert child(killed, plan.id, "clock", moment) == -signal.SIGALRM, "the run ended before it was killed ten times"
    assert child(killed, plan.id) == 0
    assert fingerprints(killed, plan.id) == fingerprints(whole, plan.id)
