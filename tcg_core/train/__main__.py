"""``python -m tcg_core.train PLAN_ID``: trains a plan without anything else running."""

import argparse
import json
import logging
import sys

from tcg_core.base.errors import TcgError
from tcg_core.base.home import Home
from tcg_core.base.same_code import require_same
from tcg_core.encode.errors import EncodeError
from tcg_core.model.config import ModelError
from tcg_core.train.errors import Unfinished
from tcg_core.train.guard import die_with_parent
from tcg_core.train.run import train
from tcg_core.train.stop import Stop


def main() -> int:
    """Parses the command line and trains; returns 0, 1 if a check blocks, 2 for a refusal, 3 if the run ended before its end
    (budget, SIGINT or SIGTERM) and goes on when started again, each with one line."""
    parser = argparse.ArgumentParser(prog="python -m tcg_core.train", description=__doc__)
    parser.add_argument("plan", help="id of a work plan whose checks passed")
    parser.add_argument("--home", help="data home; $TCG_DATA or data/ of the project if left out")
    parser.add_argument("--device", default="auto", choices=("auto", "gpu", "cpu"))
    parser.add_argument("--latest-every", type=int, help="updates between rolling checkpoints")
    parser.add_argument("--budget-hours", type=float, default=0.0, help="hours from now after which it ends; 0: no limit")
    parser.add_argument("--allow-inexact", action="store_true", help="recover under another BLAS, thread count, MLX or device")
    parser.add_argument("--with-parent", action="store_true", help="end when the process that started this one ends")
    options = parser.parse_args()
    if options.with_parent:
        die_with_parent()
    logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stderr)
    home = Home.resolve(options.home).prepare()
    try:
        require_same("mlx_checkpoint")
        stop = Stop(options.budget_hours)
        with stop.on_signals():
            built = train(home, options.plan, options.device, options.latest_every, options.allow_inexact, stop=stop)
    except Unfinished as ended:
        print(ended, file=sys.stderr)
        return 3
    except (TcgError, ModelError, EncodeError) as error:
        print(error, file=sys.stderr)
        return 2
    print(json.dumps({"run": built.id, "path": str(built.path), "reused": built.reused, "facts": built.facts}))
    for check in built.checks:
        print(f"{'pass' if check.passed else 'FAIL'} {check.name}: {check.message}")
    return 0 if built.passed else 1


if __name__ == "__main__":
    sys.exit(main())
