"""One recipe of a training run, given once to the work plan and stored in its manifest; the trainer reads it there.

Defaults are the seeds' and, where they are silent, the earlier system's run settings. Unknown keys are refused.
"""

from dataclasses import dataclass, field
from typing import Literal

from tcg_core.errors import ConfigError
from tcg_core.model.config import ModelConfig

#: Kept in every checkpoint; a warm start under another value is refused, so that an episode never changes sides.
SPLIT_SEED = 20260616


@dataclass(frozen=True)
class Selection:
    """Which validated days and how much of them. Exactly one of days, last_n_days, all_days."""

    days: tuple[str, ...] = ()
    last_n_days: int = 0
    all_days: bool = False
    top_elo: int = 0
    max_rows_per_day: int = 0
    max_rows: int = 0

    def __post_init__(self) -> None:
        chosen = [name for name in ("days", "last_n_days", "all_days") if getattr(self, name)]
        if len(chosen) != 1:
            raise ConfigError(f"selection: exactly one of days, last_n_days, all_days, found {chosen or 'none'}")


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
    """Muon for hidden matrices, AdamW for the rest; decoupled decay in both."""

    name: Literal["muon_adamw"] = "muon_adamw"
    lr: float = 5e-4
    muon_momentum: float = 0.95
    muon_weight_decay: float = 0.01
    adamw_beta1: float = 0.9
    adamw_beta2: float = 0.999
    adamw_eps: float = 1e-8
    adamw_weight_decay: float = 0.01
    max_grad_norm: float = 1.0


@dataclass(frozen=True)
class Schedule:
    """Learning rate over optimizer updates: linear warm-up, decay to lr_min_ratio exactly at the horizon, then held."""

    name: Literal["cosine", "linear", "none"] = "cosine"
    warmup_steps: int = 150
    lr_min_ratio: float = 0.1


@dataclass(frozen=True)
class AuxWeights:
    """Weights of the auxiliary losses; a head whose weight is 0 is not built."""

    ko: float = 0.5
    prize: float = 0.5
    terminal: float = 0.5
    value: float = 0.5


@dataclass(frozen=True)
class Recipe:
    """Everything that decides a training run, except the machine it runs on."""

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
