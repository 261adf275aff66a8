"""One recipe of a training run, given once to the work plan and stored in its manifest; the trainer reads it there.

Defaults are the seeds' and, where they are silent, the earlier system's run settings. Unknown keys are refused.
"""

import re
from dataclasses import dataclass, field, fields
from typing import Literal

from tcg_core.base.errors import ConfigError
from tcg_core.base.settings import told
from tcg_core.model.config import ModelConfig

#: Kept in every checkpoint; a warm start under another value is refused, so that an episode never changes sides.
SPLIT_SEED = 20260616


@dataclass(frozen=True)
class Selection:
    """Which validated days and how much of them. Exactly one of days, last_n_days, all_days.

    unseen_by: a training run; of the days chosen only those count in full whose file neither it nor a run that it went on from
    was trained on. replay: rows of the other days, as a share of the rows of those.
    """

    days: tuple[str, ...] = ()
    last_n_days: int = 0
    all_days: bool = False
    top_elo: int = 0
    max_rows_per_day: int = 0
    max_rows: int = 0
    unseen_by: str = field(
        default="", metadata=told("Run whose days, and those of the runs before it, are left out; empty: none")
    )
    replay: float = field(
        default=0.0, metadata=told("With unseen_by: seeded sample of the days left out, as a share of the rest")
    )

    def __post_init__(self) -> None:
        chosen = [name for name in ("days", "last_n_days", "all_days") if getattr(self, name)]
        if len(chosen) != 1:
            raise ConfigError(f"selection: exactly one of days, last_n_days, all_days, found {chosen or 'none'}")
        if self.replay < 0:
            raise ConfigError(f"selection.replay is {self.replay:g}, expected a share of the unseen rows: 0 or more")
        if self.replay and not self.unseen_by:
            raise ConfigError(f"selection.replay is {self.replay:g} without selection.unseen_by: no day is an older one")


@dataclass(frozen=True)
class Split:
    """Validation by hash of (split_seed, episode content hash) against val_frac; holdout_days go to validation whole."""

    val_frac: float = 0.1
    split_seed: int = SPLIT_SEED
    holdout_days: tuple[str, ...] = ()


@dataclass(frozen=True)
class Work:
    """TBPTT work: decision horizon, row budgets of a microbatch, microbatches an update, row groups open at once."""

    mode: Literal["tbptt", "stateless"] = "tbptt"
    tbptt_chunk: int = 16
    batch_size: int = 1024
    val_batch_size: int = 1024
    accum_steps: int = 1
    open_row_groups: int = 8


@dataclass(frozen=True)
class Optimizer:
    """Muon for hidden matrices, AdamW for the rest; decoupled decay in both. structured_weight_decay: AdamW's on the leaves that
    only a structured model has."""

    name: Literal["muon_adamw"] = "muon_adamw"
    lr: float = 5e-4
    muon_momentum: float = 0.95
    muon_weight_decay: float = 0.01
    adamw_beta1: float = 0.9
    adamw_beta2: float = 0.999
    adamw_eps: float = 1e-8
    adamw_weight_decay: float = 0.01
    structured_weight_decay: float = 0.1
    max_grad_norm: float = 1.0


@dataclass(frozen=True)
class Schedule:
    """Learning rate over optimizer updates: linear warm-up, decay to lr_min_ratio exactly at the horizon, then held.

    total_steps: the horizon; 0 means the updates of this run (of the schedule resumed, where one is).
    """

    name: Literal["cosine", "linear", "none"] = "cosine"
    warmup_steps: int = 150
    lr_min_ratio: float = 0.1
    total_steps: int = 0


@dataclass(frozen=True)
class AuxWeights:
    """Weights of the auxiliary losses; a head whose weight is 0 is not built."""

    ko: float = 0.5
    prize: float = 0.5
    terminal: float = 0.5
    value: float = 0.5


@dataclass(frozen=True)
class Resume:
    """A new run that starts from a checkpoint of a finished one, at its epoch + 1, for ``epochs`` more.

    run: id of the parent run, empty for a run from fresh weights; checkpoint: the parent's pointer, ``latest``, ``best`` or
    ``epoch_NNNN``, or one of its directories, ``step_NNNNNNNN``; optimizer_state, scheduler_state: whether moments and the
    place in the schedule go on or start anew.
    """

    run: str = ""
    checkpoint: str = "latest"
    optimizer_state: Literal["reset", "resume"] = "reset"
    scheduler_state: Literal["reset", "resume"] = "reset"

    def __post_init__(self) -> None:
        given = [f.name for f in fields(self) if getattr(self, f.name) != f.default]
        if given and not self.run:
            raise ConfigError(f"resume.{given[0]} is {getattr(self, given[0])!r} without resume.run: there is nothing to resume")
        if not re.fullmatch(r"latest|best|epoch_\d{4,}|step_\d{8,}", self.checkpoint):
            raise ConfigError(f"resume.checkpoint is {self.checkpoint!r}, expected latest, best, epoch_NNNN or step_NNNNNNNN")


@dataclass(frozen=True)
class Recipe:
    """Everything that decides a training run, except the machine it runs on. phase_id: its name within a curriculum.

    zero_wouldko: the ablation of ``model.would_ko``: the same network on the same days, but its would-KO inputs are zeros, in
    training and validation alike.
    """

    selection: Selection
    generations: tuple[str, ...] = ("v1",)
    split: Split = field(default_factory=Split)
    work: Work = field(default_factory=Work)
    model: ModelConfig = field(default_factory=ModelConfig)
    optimizer: Optimizer = field(default_factory=Optimizer)
    schedule: Schedule = field(default_factory=Schedule)
    aux: AuxWeights = field(default_factory=AuxWeights)
    epochs: int = 3
    seed: int = 13
    latest_every_updates: int = 50
    checkpoint_every_epochs: int = 1
    resume: Resume = field(default_factory=Resume)
    phase_id: str = ""
    zero_wouldko: bool = field(default=False, metadata=told("With model.would_ko: set its inputs to zero, the ablation"))

    @property
    def reads_would_ko(self) -> bool:
        """Whether training reads the looks of the days; the ablation has their input without reading them."""
        return self.model.would_ko and not self.zero_wouldko

    def __post_init__(self) -> None:
        if self.zero_wouldko and not self.model.would_ko:
            raise ConfigError("zero_wouldko is set, but model.would_ko is off: there is no input to set to zero")
        if not self.model.structured and self.optimizer.structured_weight_decay != Optimizer.structured_weight_decay:
            raise ConfigError("optimizer.structured_weight_decay is set, but model.structured is off: it would decay nothing")
