"""Where a run's counts begin: at zero, or where the run it resumes left them."""

from dataclasses import asdict, dataclass
from typing import Any

from tcg_core.plan.plan import Plan
from tcg_core.train.schedule import Horizon


@dataclass(frozen=True)
class Base:
    """Epochs and updates of all earlier runs, and the phase steps at which moments and schedule continue (0: reset)."""

    epoch: int = 0
    gstep: int = 0
    optimizer: int = 0
    scheduler: int = 0

    @classmethod
    def of(cls, plan: Plan) -> "Base":
        """The counts that a plan's run starts from."""
        parent, resume = plan.parent, plan.recipe.resume
        if parent is None:
            return cls()
        return cls(
            epoch=parent.first_epoch,
            gstep=parent.gstep,
            optimizer=parent.optimizer_phase_step if resume.optimizer_state == "resume" else 0,
            scheduler=parent.scheduler_phase_step if resume.scheduler_state == "resume" else 0,
        )


def horizon_of(plan: Plan) -> Horizon:
    """The schedule of a plan's run: the resumed one's horizon, else the recipe's total_steps, else the updates of the run."""
    schedule = plan.recipe.schedule
    if plan.parent is not None and plan.recipe.resume.scheduler_state == "resume":
        total = plan.parent.scheduler_total_steps
    else:
        total = schedule.total_steps or plan.horizon
    return Horizon(schedule, plan.recipe.optimizer.lr, total)


def parent_entry(plan: Plan) -> dict[str, Any] | None:
    """The parent as ``state.json`` records it; None for a run from fresh weights."""
    if plan.parent is None:
        return None
    resume = plan.recipe.resume
    return asdict(plan.parent) | {"optimizer_state": resume.optimizer_state, "scheduler_state": resume.scheduler_state}
