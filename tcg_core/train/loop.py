"""The training loop: executes the plan, compares what it did with it, validates and saves after every epoch."""

import itertools
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, NoReturn

import psutil  # type: ignore[import-untyped]  # no stubs are pinned

from tcg_core.base.progress import phase
from tcg_core.model.bootstrap import mlx
from tcg_core.rows.cache import RowGroupCache
from tcg_core.train.board import Board
from tcg_core.train.errors import TrainError, Unfinished
from tcg_core.train.loss import Normalizer
from tcg_core.train.prefetch import ahead
from tcg_core.train.prepare import Prepared
from tcg_core.train.runs import pointers
from tcg_core.train.runs.state import Running
from tcg_core.train.session import Session
from tcg_core.train.step import Updated
from tcg_core.train.stop import Stop
from tcg_core.train.validate import validate

if TYPE_CHECKING:
    import mlx.core as mx
else:
    mx = mlx().core

Report = Callable[[dict[str, Any]], None]
_SECONDS_BETWEEN_REPORTS = 1.0


@dataclass
class Clock:
    """Where the time went since it was last added to a run's sums, seconds: all of it, and waiting for data."""

    started: float = field(default_factory=time.monotonic)
    waited: float = 0.0
    last_report: float = 0.0

    def watch(self, items: Iterator[Prepared]) -> Iterator[Prepared]:
        """Passes items on and adds up how long each was waited for."""
        while True:
            asked = time.monotonic()
            item = next(items, None)
            self.waited += time.monotonic() - asked
            if item is None:
                return
            yield item

    def fold(self, running: Running) -> None:
        """Adds what went to ``running`` and starts anew, so that an epoch trained in several runs of a process counts all."""
        now = time.monotonic()
        running.seconds += now - self.started
        running.waited += self.waited
        self.started, self.waited = now, 0.0


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
    clock = Clock()
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
            _show_update(session, board, report, done, rate, time.monotonic() - began, clock)
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
    _show_epoch(board, entry, progress.epoch, session.base.gstep)
    if progress.finished and progress.best is not None:
        gstep = session.base.gstep + progress.updates
        board.scalars({"summary/best_val_acc": progress.best["acc"], "summary/final_gstep": gstep}, progress.updates)
    board.flush()
    with phase(f"checkpoint {epoch + 1}/{epochs}", 1, "directory") as advance:
        session.save(tuple(names))
        advance(1)
    report({"event": "epoch", "epochs": epochs, "best": progress.best, **_brief(entry)})


def _better(metrics: dict[str, Any], best: dict[str, Any] | None) -> bool:
    """Higher validation accuracy; on a tie lower cross-entropy."""
    return best is None or (metrics["acc"], -metrics["ce"]) > (best["acc"], -best["ce"])


def _brief(entry: dict[str, Any]) -> dict[str, Any]:
    metrics = entry["validation"]
    numbers = {name: metrics[name] for name in ("ce", "acc", "equiv", "top3", "atk", "ko")}
    return {
        "epoch": entry["epoch"],
        "updates": entry["updates"],
        "train_loss": entry["train_loss"],
        "val": numbers,
        "val_unforced": metrics["unforced"]["acc"],
    }


def _show_update(
    session: Session, board: Board, report: Report, done: Updated, rate: float, seconds: float, clock: Clock
) -> None:
    weights, updates = session.aux_weights, session.progress.updates
    aux = sum(weights[name] * value for name, value in done.heads.items()) / done.valid if done.valid else 0.0
    board.scalars(
        {
            "train/loss": done.ce / done.rows,
            "train/aux_loss": aux,
            "train/grad_norm": done.clipped,
            "train/grad_norm_preclip": done.norm,
            "train/lr": rate,
            "train/scheduler_phase_step": session.base.scheduler + updates,
            "train/step_time_ms": 1000 * seconds,
            "train/examples_per_step": done.rows,
            "sys/mlx_peak_memory_gib": mx.get_peak_memory() / 2**30,
            "sys/host_memory_percent": psutil.virtual_memory().percent,
            **_cache("train", session.train.cache),
            **_cache("val", session.validation.cache),
        },
        updates,
    )
    now = time.monotonic()
    if now - clock.last_report >= _SECONDS_BETWEEN_REPORTS:
        clock.last_report = now
        progress = session.progress
        position = {
            "epoch": progress.epoch,
            "microbatch": progress.microbatch,
            "microbatches": session.plan.count(progress.epoch),
        }
        numbers = {
            "updates": updates,
            "horizon": session.horizon.total,
            "loss": done.ce / done.rows,
            "rows_per_second": done.rows / seconds,
        }
        report({"event": "update", **position, **numbers})


def _cache(side: str, cache: RowGroupCache) -> dict[str, float]:
    """The cache's tags: rates in percent, bytes in GiB, the rest in row groups. A reload from disk is no hit."""
    counters = cache.counters
    values = {
        "hit_rate_pct": 100 * counters.hit_rate,
        "resident_hot": counters.resident_hot,
        "resident_transient": counters.resident_transient,
        "promotions": counters.promotions,
        "evictions": counters.evictions,
        "ssd_hits": counters.ssd_hits,
        "ssd_spills": counters.ssd_spills,
        "ssd_resident": counters.ssd_resident,
        "ssd_bytes_gib": counters.ssd_bytes / 2**30,
        "bytes_gib": counters.bytes / 2**30,
    }
    return {f"cache_{side}/{name}": float(value) for name, value in values.items()}


def _show_epoch(board: Board, entry: dict[str, Any], epochs_done: int, gstep_before: int) -> None:
    metrics = entry["validation"]
    values = {
        "train/running_loss": entry["train_loss"],
        "train/running_aux_loss": entry["train_aux_loss"],
        "train/gstep": gstep_before + entry["updates"],
        "val/loss": metrics["ce"],
        "val/epoch_time_s": entry["train_seconds"] + entry["validation_seconds"],
        "val/acc_unforced": metrics["unforced"]["acc"],
        "val/loss_unforced": metrics["unforced"]["ce"],
    }
    values |= {f"val/{name}": metrics[name] for name in ("acc", "equiv", "top3", "atk", "ko")}
    values |= {f"aux/aux_{name}": metrics[name] for name in ("ko_bce", "prize_mse", "terminal_bce", "return_mse")}
    board.scalars(values, epochs_done)
