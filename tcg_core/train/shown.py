"""What a run shows while it is at work: TensorBoard's tags, events for whoever listens, and where the time went."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import psutil  # type: ignore[import-untyped]  # no stubs are pinned

from tcg_core.model.bootstrap import mlx
from tcg_core.rows.cache import RowGroupCache
from tcg_core.train.board import Board
from tcg_core.train.prepare import Prepared
from tcg_core.train.runs.state import Running
from tcg_core.train.session import Session
from tcg_core.train.step import Updated

if TYPE_CHECKING:
    import mlx.core as mx
else:
    mx = mlx().core

OUTSIDE_IDENTITY = "it shows a run"

Report = Callable[[dict[str, Any]], None]
_SECONDS_BETWEEN_REPORTS = 1.0


@dataclass
class Stopwatch:
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


def brief(entry: dict[str, Any]) -> dict[str, Any]:
    """An epoch in a few numbers."""
    metrics = entry["validation"]
    numbers = {name: metrics[name] for name in ("ce", "acc", "equiv", "top3", "atk", "ko")}
    return {
        "epoch": entry["epoch"],
        "updates": entry["updates"],
        "train_loss": entry["train_loss"],
        "val": numbers,
        "val_unforced": metrics["unforced"]["acc"],
    }


def show_update(
    session: Session, board: Board, report: Report, done: Updated, rate: float, seconds: float, clock: Stopwatch
) -> None:
    """Writes an update's tags, and reports it unless one was reported less than a second before."""
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


def show_epoch(board: Board, entry: dict[str, Any], epochs_done: int, gstep_before: int) -> None:
    """Writes an epoch's tags."""
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
