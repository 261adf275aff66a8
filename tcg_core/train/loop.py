"""The training loop: executes the plan, compares what it did with it, validates and saves after every epoch."""

import itertools
import time
from contextlib import closing
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, NoReturn

from tcg_core.base.progress import phase
from tcg_core.model.bootstrap import mlx
from tcg_core.train.board import Board
from tcg_core.train.errors import TrainError, Unfinished
from tcg_core.train.loss import Normalizer
from tcg_core.train.prefetch import ahead
from tcg_core.train.runs import pointers
from tcg_core.train.runs.state import Running
from tcg_core.train.session import Session
from tcg_core.train.shown import Report, Stopwatch, brief, show_epoch, show_update
from tcg_core.train.stop import Stop
from tcg_core.train.validate import validate

if TYPE_CHECKING:
    import mlx.core as mx
else:
    mx = mlx().core


def run_epochs(session: Session, board: Board, report: Report, latest_every: int, stop: Stop | None = None) -> None:
    """Trains from where the session stands to the end of the plan, or until ``stop`` has a reason.

    It stops after an update or at the end of an epoch, never within an update. At least one update or one validation is done
    before a used-up budget is looked at, so that every start brings the run forward; a signal also stops it before its first
    update and between the microbatches of a validation, which is then done again. Raises :class:`Unfinished` once
    ``latest`` is written.
    """
    epochs, stop = session.plan.recipe.epochs, stop or Stop()
    while session.progress.epoch < epochs:
        _train_epoch(session, board, report, latest_every, stop)
        _close_epoch(session, board, report, stop)
        if stop.reason and not session.progress.finished:
            _halt(session, board, stop.reason)


def _halt(session: Session, board: Board, reason: str) -> NoReturn:
    """Makes ``latest`` say the present state, unless it does, and ends the run."""
    progress, plan = session.progress, session.plan
    latest = pointers.follow(session.directory, pointers.LATEST)
    if progress.updates and (latest is None or latest.name != session.step_name):
        board.flush()
        session.save((pointers.LATEST,))
    done = {"epoch": progress.epoch + 1, "microbatch": progress.microbatch, "microbatches": plan.count(progress.epoch)}
    raise Unfinished(reason, done | {"update": progress.updates, "updates": plan.horizon})


def _train_epoch(session: Session, board: Board, report: Report, latest_every: int, stop: Stop) -> None:
    progress, plan = session.progress, session.plan
    epoch, count, accum = progress.epoch, plan.count(progress.epoch), plan.recipe.work.accum_steps
    if progress.microbatch == 0:
        session.memories.clear()
        progress.running = Running()
        progress.processed.append([0, 0, 0])
    title = f"train epoch {epoch + 1}/{plan.recipe.epochs}"
    clock = Stopwatch()
    items = ahead(session.prepare_train, list(range(progress.microbatch, count)))
    with closing(items), phase(title, count - progress.microbatch, "microbatches") as advance:
        stream = clock.watch(items)
        while progress.microbatch < count:
            if stop.signalled:
                _halt(session, board, stop.reason)
            window = [plan.microbatch(epoch, i) for i in range(progress.microbatch, min(progress.microbatch + accum, count))]
            normalizer = Normalizer(sum(m.n_rows for m in window), sum(m.n_valid for m in window))
            began = time.monotonic()
            base, following = session.base, progress.updates + 1
            rate = session.horizon.rate(base.scheduler + following)
            taken = itertools.islice(stream, len(window))
            done = session.stepper.apply(taken, normalizer, session.memories, rate, base.optimizer + following)
            progress.updates = following
            progress.microbatch += len(window)
            counts = progress.processed[epoch]
            progress.processed[epoch] = [counts[0] + len(window), counts[1] + 1, counts[2] + done.rows]
            progress.running.add(done.rows, done.valid, done.ce, done.heads)
            progress.running.stepped(done.norm, done.norm > done.clipped)
            progress.point(done.ce / done.rows)
            show_update(session, board, report, done, rate, time.monotonic() - began, clock)
            advance(len(window))
            if stop.reason:
                clock.fold(progress.running)
                _halt(session, board, stop.reason)
            if progress.updates % latest_every == 0 and progress.microbatch < count:
                board.flush()
                clock.fold(progress.running)
                session.save((pointers.LATEST,))
    _compare(session, epoch)
    clock.fold(progress.running)


def _compare(session: Session, epoch: int) -> None:
    plan, found = session.plan, session.progress.processed[epoch]
    planned = [plan.count(epoch), plan.updates(epoch), plan.rows["train"]]
    if found != planned:
        raise TrainError(f"epoch {epoch}: planned {planned} microbatches, updates, rows; processed {found}")
    if session.memories:
        raise TrainError(
            f"epoch {epoch}: {len(session.memories)} lanes were not brought to their end, first {next(iter(session.memories))}"
        )


def _close_epoch(session: Session, board: Board, report: Report, stop: Stop) -> None:
    progress, plan = session.progress, session.plan
    epoch, epochs = progress.epoch, plan.recipe.epochs
    report({"event": "validation", "epoch": epoch, "epochs": epochs})
    began = time.monotonic()
    with phase(f"validation {epoch + 1}/{epochs}", plan.count(0, "validation"), "microbatches") as shown:

        def scored(count: int) -> None:
            shown(count)
            if stop.signalled:
                _halt(session, board, stop.reason)

        found = validate(session.stepper.net, plan, session.prepare_validation, session.ranks, scored, session.stepper.compiled)
    with phase(f"metrics {epoch + 1}/{epochs}", 1, "table") as advance:
        metrics = found.counters.result()
        loss, aux = progress.running.means(session.aux_weights)
        advance(1)
    entry = {
        "epoch": epoch,
        "updates": progress.updates,
        "train_loss": loss,
        "train_aux_loss": aux,
        "train_seconds": progress.running.seconds,
        "train_waited": progress.running.waited,
        "grad_norm_preclip": progress.running.norms / progress.running.updates,
        "clipped_share": progress.running.clipped / progress.running.updates,
        "cache": {"train": asdict(session.train.cache.counters), "val": asdict(session.validation.cache.counters)},
        "validation": metrics,
        "validation_rows": found.rows,
        "validation_seconds": time.monotonic() - began,
    }
    progress.history.append(entry)
    names = [pointers.LATEST]
    if _better(metrics, progress.best):
        progress.best = {"update": progress.updates, "epoch": epoch, "acc": metrics["acc"], "ce": metrics["ce"]}
        names.append(pointers.BEST)
    progress.epoch, progress.microbatch = epoch + 1, 0
    progress.finished = progress.epoch == epochs
    if progress.finished or progress.epoch % plan.recipe.checkpoint_every_epochs == 0:
        names.append(pointers.epoch_pointer(epoch))
    show_epoch(board, entry, progress.epoch, session.base.gstep)
    if progress.finished and progress.best is not None:
        gstep = session.base.gstep + progress.updates
        board.scalars({"summary/best_val_acc": progress.best["acc"], "summary/final_gstep": gstep}, progress.updates)
    board.flush()
    with phase(f"checkpoint {epoch + 1}/{epochs}", 1, "directory") as advance:
        session.save(tuple(names))
        advance(1)
    report({"event": "epoch", "epochs": epochs, "best": progress.best, **brief(entry)})


def _better(metrics: dict[str, Any], best: dict[str, Any] | None) -> bool:
    """Higher validation accuracy; on a tie lower cross-entropy."""
    return best is None or (metrics["acc"], -metrics["ce"]) > (best["acc"], -best["ce"])
