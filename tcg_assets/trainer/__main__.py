"""The trainer's process: `python -m tcg_assets.trainer`. Parameters come as arguments; Pipes only carries what is said.

It runs without Dagster too; then it prints its outcome. Exit status 0: it said what it built, or, to a listening
parent, why it refused or where it ended before its end; with nobody listening 2 for a refusal, 3 for a run that ended before
its end (its budget, SIGINT, which Dagster sends when a run is cancelled, or SIGTERM). Anything else is a crash.
"""

import argparse
import json
import logging
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

import dagster_pipes

from tcg_assets.trainer.wire import said_built, said_refused, said_unfinished
from tcg_core.base.errors import TcgError
from tcg_core.base.home import Home
from tcg_core.base.same_code import require_same
from tcg_core.encode.errors import EncodeError
from tcg_core.model.config import ModelError
from tcg_core.train.errors import Unfinished
from tcg_core.train.guard import die_with_parent
from tcg_core.train.stop import Stop

LOG = logging.getLogger("tcg")


def main(arguments: Sequence[str] | None = None) -> int:
    """Trains one plan; returns the exit status."""
    options = _parse(arguments)
    # Also to stderr: a terminal shows it as it happens, Dagster keeps it in the step's stderr tab.
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s", datefmt="%H:%M:%S")
    parent = dagster_pipes.PipesEnvVarParamsLoader()  # type: ignore[no-untyped-call]
    if not parent.is_dagster_pipes_process():
        return _train(options, lambda message: print(json.dumps(message)), listening=False)
    die_with_parent(options.parent)
    with dagster_pipes.open_dagster_pipes() as pipes:
        _forward_log(pipes.log)
        return _train(options, pipes.report_custom_message, listening=True)


def _train(options: argparse.Namespace, say: Callable[[dict[str, Any]], None], listening: bool) -> int:
    started, home = time.monotonic(), Home.resolve(options.home).prepare()
    named = {"device": options.device, "allow_inexact": options.allow_inexact, "report": _log_epoch}
    try:
        # The budget and the listening for signals begin before MLX is loaded.
        stop = Stop(options.budget_hours)
        with stop.on_signals():
            require_same("mlx_checkpoint")
            from tcg_core.train.run import train

            built = train(home, options.plan, **named, stop=stop)
    except Unfinished as ended:
        # A parent that was cancelled does not read what it is told any more.
        LOG.info("%s", ended)
        say(said_unfinished(str(ended), ended.reason, ended.progress))
        return 0 if listening else 3
    except (TcgError, ModelError, EncodeError) as error:
        say(said_refused(error))
        return 0 if listening else 2
    say(said_built(built, time.monotonic() - started))
    return 0


def _log_epoch(event: dict[str, Any]) -> None:
    """One line an epoch: the rest of the progress is in the log already, and each line is a row of Dagster's database."""
    if event["event"] == "epoch":
        figures = {"train_loss": event["train_loss"]} | {f"val_{name}": value for name, value in event["val"].items()}
        shown = ", ".join(f"{name} {value:.4f}" for name, value in figures.items() if value is not None)
        LOG.info("epoch %d of %d: %s", event["epoch"] + 1, event["epochs"], shown)


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tcg_assets.trainer", description="Train the policy of a work plan.")
    parser.add_argument("--home", required=True, help="data home")
    parser.add_argument("--plan", required=True, help="id of the work plan")
    parser.add_argument("--device", choices=("auto", "gpu", "cpu"), default="auto")
    parser.add_argument("--parent", type=int, help="process id of the run that started this; the trainer ends with it")
    parser.add_argument("--budget-hours", type=float, default=0.0, help="hours from now after which it ends; 0: no limit")
    parser.add_argument("--allow-inexact", action="store_true", help="recover under another BLAS, MLX version or device")
    return parser.parse_args(arguments)


def _forward_log(log: logging.Logger) -> None:
    class Forward(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            log.log(record.levelno, record.getMessage())

    logger = logging.getLogger("tcg")
    logger.addHandler(Forward())
    logger.setLevel(logging.INFO)


if __name__ == "__main__":
    sys.exit(main())
