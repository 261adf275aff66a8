"""A run under the eyes of the recorder: no pointer names a checkpoint that a loss of power could take."""

from pathlib import Path

import pytest

from tcg_core.train.run import train
from tests.durability import NotDurable, watched, without_fsync
from tests.train.toy import toy_home, toy_plan


def test_a_checkpoint_is_on_the_disk_before_its_pointers(tmp_path: Path) -> None:
    home = toy_home(tmp_path / "home")
    plan = toy_plan(home)
    with pytest.raises(NotDurable, match="new directory"), watched(home.root), without_fsync(directories=True):
        train(home, plan.id, device="cpu")
    with watched(home.root) as recorder:
        train(home, plan.id, device="cpu")
    run = f"checkpoints/{plan.id}/"
    names = [target.removeprefix(run) for _, target in recorder.renames if target.startswith(run)]
    published = [name for name in names if name.startswith("step_") and "/" not in name]
    pointed = [name for name in names if name in ("latest.json", "best.json") or name.startswith("epoch_")]
    assert published and pointed and names.index(published[0]) < names.index(pointed[0])
