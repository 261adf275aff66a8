"""The nightly run's configuration."""

from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Literal

from tcg_core.base.clock import TimeOfDay
from tcg_core.base.errors import ConfigError
from tcg_core.base.home import Home
from tcg_core.base.settings import read_config, told, write_config
from tcg_core.recipe import Recipe, Selection

FILE = "nightly.json"
#: Days of a night from fresh weights. The weekly retrain takes all days; a fine-tune takes those that the champion has not seen.
NIGHTLY_DAYS = 14
Mode = Literal["finetune", "fresh", "full"]
_WEEKDAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")


@dataclass(frozen=True)
class FineTune:
    """What a night that continues from the champion uses instead of the recipe's values. Its days are all that the champion has
    not seen."""

    epochs: int = field(default=1, metadata=told("Epochs over the unseen days and the sample of older ones"))
    lr: float = field(default=1e-4, metadata=told("Peak learning rate: a fifth of a fresh run's"))
    replay: float = field(default=0.5, metadata=told("Rows of older days, as a share of the rows of unseen ones"))
    optimizer_state: Literal["reset", "resume"] = field(default="reset", metadata=told("resume: keep the champion's moments"))
    scheduler_state: Literal["reset", "resume"] = field(
        default="reset", metadata=told("resume: continue the champion's schedule, at its rate, if it has steps left")
    )

    def __post_init__(self) -> None:
        for name, fits in (("epochs", self.epochs >= 1), ("lr", self.lr > 0), ("replay", self.replay >= 0)):
            if not fits:
                raise ConfigError(f"finetune.{name} is {getattr(self, name)}, which is too little")


@dataclass(frozen=True)
class Nightly:
    """When the nightly run starts and what it trains and plays.

    ``mode``: ``finetune`` continues from the champion's run, and is the same as ``fresh`` while a baseline is champion. ``fresh``
    trains from fresh weights on the days that the recipe selects, ``full`` on all validated days. The night of ``full_weekday``
    is ``full`` in any mode. ``night_budget_hours``: 0 means no limit; a plan above it is cut by ``max_rows`` or refused.
    ``games``: per opponent; few games leave the verdict on a champion undecided, whatever they show.
    """

    at: str = "03:00"
    zone: str = "UTC"
    mode: Mode = "finetune"
    recipe: Recipe = field(default_factory=lambda: Recipe(selection=Selection(last_n_days=NIGHTLY_DAYS)))
    finetune: FineTune = field(default_factory=FineTune)
    full_weekday: Literal["never", "mon", "tue", "wed", "thu", "fri", "sat", "sun"] = "sun"
    night_budget_hours: float = 8.0
    over_budget: Literal["cut", "refuse"] = "cut"
    opponents: tuple[str, ...] = ("random", "heuristic")
    games: int = 1000
    device: Literal["auto", "gpu", "cpu"] = "auto"

    def __post_init__(self) -> None:
        TimeOfDay.parse(self.at, self.zone)
        if self.night_budget_hours < 0:
            raise ConfigError(f"night_budget_hours {self.night_budget_hours} is negative; 0 means no limit")
        if self.recipe.selection.unseen_by or self.recipe.resume.run:
            raise ConfigError("recipe names a run to go on from; mode finetune picks that run each night")
        if self.mode == "finetune" and self.recipe.split.holdout_days:
            raise ConfigError("recipe.split.holdout_days needs mode fresh or full: a fine-tune has the unseen days only")

    @property
    def when(self) -> TimeOfDay:
        """The time of day at which a night begins."""
        return TimeOfDay.parse(self.at, self.zone)

    def mode_of(self, night: date) -> Mode:
        """``full`` on ``full_weekday``, else ``mode``."""
        return "full" if _WEEKDAYS[night.weekday()] == self.full_weekday else self.mode


def load_nightly(home: Home) -> Nightly:
    """The configuration of the home, the defaults without one; raises :class:`ConfigError` naming file and key."""
    return read_config(home.root / FILE, Nightly, Nightly())


def save_nightly(home: Home, nightly: Nightly) -> Path:
    """Writes the configuration; returns its file."""
    return write_config(home.root / FILE, nightly)
