"""TensorBoard: one event file a run, each tag with each step once, also after a kill and a recovery.

The file has a fixed name and is appended to; on recovery what lies beyond the checkpoint is cut off first, since it will
be written again.
"""

import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tcg_core.base.atomic import replacing
from tcg_core.base.table import text_table
from tcg_core.model.architecture import Architecture
from tcg_core.model.names import group_sizes, weight_table

OUTSIDE_IDENTITY = "TensorBoard's pages"

FILE = "events.out.tfevents.0000000000.run"
#: Tags with one value an epoch; all others have one a update.
EPOCH_TAGS = (
    *("train/running_loss", "train/running_aux_loss", "train/gstep"),
    *(
        "val/loss",
        "val/acc",
        "val/equiv",
        "val/top3",
        "val/atk",
        "val/ko",
        "val/epoch_time_s",
        "val/acc_unforced",
        "val/loss_unforced",
    ),
    *("aux/aux_ko_bce", "aux/aux_prize_mse", "aux/aux_terminal_bce", "aux/aux_return_mse"),
)
CACHE_FIELDS = (
    "hit_rate_pct",
    "resident_hot",
    "resident_transient",
    "promotions",
    "evictions",
    "ssd_hits",
    "ssd_spills",
    "ssd_resident",
    "ssd_bytes_gib",
    "bytes_gib",
)
STEP_TAGS = (
    *("train/loss", "train/aux_loss", "train/grad_norm", "train/grad_norm_preclip", "train/lr", "train/scheduler_phase_step"),
    *("train/step_time_ms", "train/examples_per_step", "sys/mlx_peak_memory_gib", "sys/host_memory_percent"),
    *(f"cache_{side}/{name}" for side in ("train", "val") for name in CACHE_FIELDS),
)


class Board:
    """Writes scalars and texts of a run."""

    def __init__(self, directory: Path, updates: int, epochs: int) -> None:
        """Opens the run's file, keeping what is at or before ``updates`` and ``epochs`` done."""
        from tensorboard.summary.writer.record_writer import RecordWriter

        directory.mkdir(parents=True, exist_ok=True)
        path = directory / FILE
        keep(path, updates, epochs)
        self._file = path.open("ab")
        self._writer = RecordWriter(self._file)
        if self._file.tell() == 0:
            self._write(file_version="brain.Event:2")

    def scalars(self, values: Mapping[str, float | None], step: int) -> None:
        """One value a tag; None is left out."""
        from tensorboard.compat.proto.summary_pb2 import Summary

        found = [Summary.Value(tag=tag, simple_value=value) for tag, value in values.items() if value is not None]
        self._write(step=step, summary=Summary(value=found))

    def text(self, tag: str, text: str) -> None:
        """A text at step 0."""
        from tensorboard.plugins.text.summary_v2 import text_pb

        self._write(step=0, summary=text_pb(tag, text))

    def flush(self) -> None:
        """Brings what was written to the disk, so that a checkpoint never lies beyond it."""
        self._file.flush()
        os.fsync(self._file.fileno())

    def close(self) -> None:
        """Flushes and closes."""
        self.flush()
        self._file.close()

    def _write(self, **fields: Any) -> None:
        from tensorboard.compat.proto.event_pb2 import Event

        self._writer.write(Event(wall_time=time.time(), **fields).SerializeToString())
        self._file.flush()


def keep(path: Path, updates: int, epochs: int) -> None:
    """Rewrites an event file without what lies beyond ``updates`` (tags of an update) and ``epochs`` (tags of an epoch)."""
    if updates == 0:
        path.unlink(missing_ok=True)
    if not path.is_file():
        return
    from tensorboard.summary.writer.record_writer import RecordWriter

    with replacing(path) as temporary, temporary.open("wb") as file:
        writer = RecordWriter(file)
        for event in events(path):
            if _stays(event, updates, epochs):
                writer.write(event.SerializeToString())


def events(path: Path) -> list[Any]:
    """The events of a file, up to where a killed writer left it."""
    from tensorboard.backend.event_processing.event_file_loader import RawEventFileLoader
    from tensorboard.compat.proto.event_pb2 import Event

    return [Event.FromString(record) for record in RawEventFileLoader(str(path)).Load()]


def _stays(event: Any, updates: int, epochs: int) -> bool:
    tags = {value.tag for value in event.summary.value}
    return bool(event.step <= (epochs if tags & set(EPOCH_TAGS) else updates))


def parameter_table(architecture: Architecture) -> str:
    """The table a person reads: one line a leaf, then the totals by optimizer and of all."""
    leaves = weight_table(architecture).items()
    rows = [[name, "x".join(map(str, leaf.shape)), leaf.group, f"{leaf.size:,}"] for name, leaf in leaves]
    sizes = group_sizes(architecture)
    groups = f"Muon={sizes['muon']:,} hidden-matrix params; AdamW={sizes['adamw']:,} embedding/head/vector params"
    return "\n".join([*text_table(["leaf", "shape", "optimizer", "elements"], rows), groups, f"total {sum(sizes.values()):,}"])
