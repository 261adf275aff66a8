"""Stage ``mlx_checkpoint``: trains a plan to its end, from wherever a kill left it; the run's id is the plan's."""

import json
import logging
from typing import Any

from tcg_core.base.atomic import sweep
from tcg_core.base.built import Built
from tcg_core.base.home import Home
from tcg_core.base.manifest import MANIFEST, Input
from tcg_core.base.settings import to_dict
from tcg_core.base.stage import Made, Stage, finish, intact, seal
from tcg_core.catalog import registry
from tcg_core.plan.load import load_plan
from tcg_core.plan.plan import Plan
from tcg_core.train.board import Board, parameter_table
from tcg_core.train.checks import best_entry, check_run
from tcg_core.train.curves import draw
from tcg_core.train.data import open_cards
from tcg_core.train.errors import TrainError
from tcg_core.train.lock import trainer_lock
from tcg_core.train.loop import run_epochs
from tcg_core.train.runs import pointers
from tcg_core.train.runs.state import Progress
from tcg_core.train.session import Session, open_session
from tcg_core.train.shown import Report
from tcg_core.train.stop import Stop

KIND, PLAN_KIND, CURVES = "checkpoint", "work_plan", "curves.png"
LOG = logging.getLogger("tcg")


def train(
    home: Home,
    plan_id: str,
    device: str = "auto",
    latest_every: int | None = None,
    allow_inexact: bool = False,
    report: Report | None = None,
    stop: Stop | None = None,
) -> Built:
    """Trains ``plan_id``, or continues from its ``latest`` checkpoint; a finished run is reused as it is.

    latest_every: updates between rolling checkpoints, the recipe's if None. report: told of each event (started, update
    at most once a second, validation, epoch, finished) as plain values. stop: when the run ends before its end, never if
    None. Raises :class:`Unfinished` when it did, :class:`TrainerBusy`, :class:`RecoverRefused`, :class:`Diverged` and what
    reading plan, cards and days raises.
    """
    tell: Report = report or (lambda event: None)
    registry.require_passed(home, PLAN_KIND, plan_id)
    plan = load_plan(home, plan_id)
    stage = _stage(home, plan)
    directory = stage.path
    if (directory / MANIFEST).is_file():
        return _reused(home, plan, stage)
    with trainer_lock(home, f"training {plan_id}"):
        sweep(directory)
        # Another trainer may have finished it between the look above and the lock.
        if (directory / MANIFEST).is_file():
            return _reused(home, plan, stage)
        session = open_session(home, plan, open_cards(home, plan), device, allow_inexact)
        progress = session.progress
        _announce(session)
        tell(
            {
                "event": "started",
                "run": plan_id,
                "environment": session.contract["environment"],
                "updates": progress.updates,
                "horizon": plan.horizon,
            }
        )
        board = Board(home.runs / plan_id, progress.updates, progress.epoch)
        try:
            if progress.updates == 0:
                board.text("optimizer/routing", parameter_table(session.stepper.net.architecture))
            run_epochs(session, board, tell, latest_every or plan.recipe.latest_every_updates, stop)
        finally:
            board.close()
            session.close()
        draw(directory / CURVES, progress)
        made = seal(stage, _facts(plan, progress))
    built = _built(home, plan, made, progress)
    tell({"event": "finished", "run": plan_id, "facts": built.facts})
    return built


def _announce(session: Session) -> None:
    environment, table = session.contract["environment"], parameter_table(session.stepper.net.architecture)
    LOG.info(
        "run %s on %s (%s), mlx %s, BLAS %s",
        session.plan.id,
        environment["device"],
        environment["chip"],
        environment["mlx"],
        environment["blas"],
    )
    LOG.info("optimizer routing: %s", table.splitlines()[-2])


def _stage(home: Home, plan: Plan) -> Stage:
    """A run has the id of its plan, and its directory is never discarded: it holds hours of work."""
    inputs = (Input(PLAN_KIND, plan.id, plan.sha256),)
    config = {"recipe": to_dict(plan.recipe)}
    return Stage.named("mlx_checkpoint", KIND, plan.id, home.checkpoints / plan.id, inputs, config, irreplaceable=True)


def _reused(home: Home, plan: Plan, stage: Stage) -> Built:
    made = intact(stage)
    state = json.loads((pointers.require(made.path, pointers.LATEST) / "state.json").read_text())
    progress = Progress.from_dict(state["progress"])
    if state["plan"]["sha256"] != plan.sha256 or not progress.finished:
        raise TrainError(f"{made.path} is not a finished run of plan {plan.id} as it is now: move it away to train again")
    return _built(home, plan, made, progress)


def _built(home: Home, plan: Plan, made: Made, progress: Progress) -> Built:
    best, plots = pointers.require(made.path, pointers.BEST), {"curves": made.path / CURVES}
    registrar = registry.HomeRegistrar(home)
    return finish(registrar, made, lambda: check_run(plan, progress, best), _facts(plan, progress), plots)


def _facts(plan: Plan, progress: Progress) -> dict[str, Any]:
    entry = best_entry(progress)
    metrics = entry["validation"]
    seconds = sum(e["train_seconds"] for e in progress.history)
    trained = plan.rows["train"] * len(progress.history)
    waited = sum(e["train_waited"] for e in progress.history)
    return {
        "epochs": progress.epoch,
        "updates": progress.updates,
        "train_rows": plan.rows["train"],
        "validation_rows": plan.rows["validation"],
        "best_epoch": entry["epoch"] + 1,
        "val_ce": metrics["ce"],
        "val_acc": metrics["acc"],
        "val_acc_unforced": metrics["unforced"]["acc"],
        "baseline_acc_unforced": max(metrics["unforced"]["rank_baseline"], metrics["unforced"]["first_legal"]),
        "val_equiv": metrics["equiv"],
        "val_top3": metrics["top3"],
        "val_atk": metrics["atk"],
        "val_ko": metrics["ko"],
        "val_ece": metrics["ece"],
        "train_seconds": round(seconds, 1),
        "rows_per_second": round(trained / seconds, 1) if seconds else 0.0,
        "data_wait_pct": round(100 * waited / seconds, 1) if seconds else 0.0,
    }
