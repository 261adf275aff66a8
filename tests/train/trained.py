"""A data home with a finished toy run, made once a test process."""

import atexit
import shutil
import tempfile
from functools import cache
from pathlib import Path

from tcg_core.base.home import Home
from tcg_core.train.run import train
from tests.train.toy import toy_home, toy_plan


@cache
def trained() -> tuple[Home, str]:
    """(home, run): only to be read. Whether the toy run passes its checks is not the point: it is two epochs long."""
    root = Path(tempfile.mkdtemp(prefix="tcg-trained-"))
    atexit.register(shutil.rmtree, root, ignore_errors=True)
    home = toy_home(root / "home")
    plan = toy_plan(home)
    train(home, plan.id, device="cpu")
    return home, plan.id
