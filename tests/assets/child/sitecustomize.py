"""Read by the trainer's child in tests (PYTHONPATH): a training that behaves as FAKE_TRAINER says."""

import os
import sys
import types

_PLACE = {"epoch": 1, "microbatch": 2, "microbatches": 9, "update": 2, "updates": 27}


def train(home, plan_id, device="auto", allow_inexact=False, report=None, stop=None):
    import logging

    from tcg_core.base.errors import TcgError
    from tcg_core.train.errors import RecoverRefused, TrainerBusy, Unfinished
    from tests.assets.fakes import checks_for, fake_built

    logging.getLogger("tcg").info("epoch 1 of 1")
    mode = os.environ["FAKE_TRAINER"]
    if mode == "crash":
        os.abort()
    if mode == "refuse":
        raise TcgError(f"plan {plan_id}: the cards table is gone")
    if mode == "unfinished":
        raise Unfinished("its budget of 8 h is used up", _PLACE)
    if mode == "inexact":
        raise RecoverRefused(f"run {plan_id} cannot be recovered exactly: mlx is 2, its checkpoint was made under 1")
    if mode == "busy":
        raise TrainerBusy("trainer.lock is held by process 7")
    failing = "learned" if mode == "stupid" else ""
    return fake_built(home, "checkpoint", plan_id, home.checkpoints, checks_for("mlx_checkpoint", failing=failing), device=device)


if "FAKE_TRAINER" in os.environ:
    module = types.ModuleType("tcg_core.train.run")
    module.train = train
    sys.modules["tcg_core.train.run"] = module
