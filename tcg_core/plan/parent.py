"""The checkpoint of a finished run that a plan resumes: found, bound by its hash, and refused if plan and checkpoint differ."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tcg_core.base.errors import IntegrityError
from tcg_core.base.home import Home
from tcg_core.base.manifest import MANIFEST, Input, read_manifest
from tcg_core.base.settings import to_dict
from tcg_core.catalog import registry
from tcg_core.encode.schema import SCHEMA
from tcg_core.plan.errors import ResumeRefused
from tcg_core.recipe import Recipe, Resume

KIND = "checkpoint"
#: Optimizer settings that a phase may change: the rate belongs to the schedule, and the clip leaves no trace in the state.
_FREE = ("lr", "max_grad_norm")
_OF_SCHEDULE = ("work.accum_steps", "optimizer.lr", "schedule", "schedule.total_steps")
_COUNTS = ("epoch", "gstep", "optimizer_phase_step", "scheduler_phase_step", "scheduler_total_steps")


@dataclass(frozen=True)
class Parent:
    """What the new run takes over. step, sha256: directory of the checkpoint inside the run, and its content hash; epoch: the
    last epoch in it; gstep: updates of all runs up to it; phase steps and horizon: as the checkpoint counts them."""

    run: str
    checkpoint: str
    step: str
    sha256: str
    phase_id: str
    epoch: int
    gstep: int
    optimizer_phase_step: int
    scheduler_phase_step: int
    scheduler_total_steps: int

    @property
    def first_epoch(self) -> int:
        """Number of the new run's first epoch, counted over all runs."""
        return self.epoch + 1


def find_parent(home: Home, recipe: Recipe) -> tuple[Parent, Input] | None:
    """The recipe's parent and the run as an input; None if nothing is resumed.

    Raises :class:`UnknownId` and :class:`ChecksNotPassed` for a run that is missing or did not pass,
    :class:`IntegrityError` for a damaged one, :class:`ResumeRefused` naming what does not fit.
    """
    wanted = recipe.resume
    if not wanted.run:
        return None
    run = registry.require_passed(home, KIND, wanted.run)
    if not (run / MANIFEST).is_file():
        raise ResumeRefused(f"run {wanted.run} is not finished: finish it first, or start a new run from fresh weights")
    step, found = _step_of(run, wanted)
    try:
        state = json.loads((step / "state.json").read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise IntegrityError(f"{step / 'state.json'} cannot be read: {error}") from None
    refuse_unfit(recipe, state, f"{wanted.run}/{wanted.checkpoint}")
    counts = {name: int(state[name]) for name in _COUNTS}
    parent = Parent(wanted.run, wanted.checkpoint, step.name, found, state["phase_id"] or "", **counts)
    return parent, read_manifest(run).as_input()


def _step_of(run: Path, wanted: Resume) -> tuple[Path, str]:
    """The directory that ``wanted.checkpoint`` names, a pointer or itself, and its content hash."""
    listed = read_manifest(run).files
    if wanted.checkpoint.startswith("step_"):
        step = run / wanted.checkpoint
        if not any(name.startswith(f"{step.name}/") for name in listed):
            raise ResumeRefused(f"run {wanted.run} has no checkpoint {step.name}, it has {_known(run, listed)}")
        manifest = read_manifest(step)
        changed = sorted(name for name, sha in manifest.files.items() if listed.get(f"{step.name}/{name}") != sha)
        if changed:
            raise IntegrityError(f"{step / changed[0]} is not the file that run {wanted.run} ended with")
        return step, manifest.content
    pointer = run / f"{wanted.checkpoint}.json"
    if not pointer.is_file():
        raise ResumeRefused(f"run {wanted.run} has no checkpoint {wanted.checkpoint}, it has {_known(run, listed)}")
    values = json.loads(pointer.read_text())
    step = run / str(values["path"])
    found = read_manifest(step).content
    if found != values["sha256"]:
        raise IntegrityError(f"{pointer} points to {step.name} with content {values['sha256'][:12]}, found {found[:12]}")
    return step, found


def _known(run: Path, listed: dict[str, str]) -> str:
    names = sorted(file.stem for file in run.glob("*.json") if file.stem in ("latest", "best") or file.stem[:6] == "epoch_")
    return ", ".join([*names, *sorted({name.split("/", 1)[0] for name in listed if name.startswith("step_")})])


def refuse_unfit(recipe: Recipe, state: dict[str, Any], source: str) -> None:
    """Raises :class:`ResumeRefused` naming the first value that must be equal in ``recipe`` and in the state of ``source``, and
    is not."""
    if state["progress"]["microbatch"]:
        raise ResumeRefused(f"{source} was written in the middle of epoch {state['epoch']}: resume from the end of an epoch")
    old, new = state["run_config"], to_dict(recipe)
    pairs: list[tuple[str, Any, Any]] = [
        ("encoder schema", state["schema_digest"], SCHEMA.digest),
        ("split.split_seed", state["split_seed"], recipe.split.split_seed),
        ("model", {"would_ko": False} | old["model"], new["model"]),
        ("zero_wouldko", old.get("zero_wouldko", False), recipe.zero_wouldko),
        ("aux heads", _heads(old["aux"]), _heads(new["aux"])),
        ("optimizer", _bound(old["optimizer"]), _bound(new["optimizer"])),
    ]
    if recipe.resume.scheduler_state == "resume":
        total = state["scheduler_total_steps"]
        pairs += [
            ("work.accum_steps", state["accum_steps"], recipe.work.accum_steps),
            ("optimizer.lr", old["optimizer"]["lr"], recipe.optimizer.lr),
            ("schedule", old["schedule"] | {"total_steps": 0}, new["schedule"] | {"total_steps": 0}),
            ("schedule.total_steps", total, recipe.schedule.total_steps or total),
        ]
    for name, before, after in pairs:
        if before != after:
            where, before, after = first_difference(name, before, after)
            hint = "; reset the schedule to change it" if name in _OF_SCHEDULE else ""
            raise ResumeRefused(f"{source} cannot be resumed: {where} is {after}, it has {before}{hint}")


def refuse_short(recipe: Recipe, parent: Parent, updates: int) -> None:
    """Raises :class:`ResumeRefused` if a resumed schedule has fewer steps left than the new run's ``updates``."""
    left = parent.scheduler_total_steps - parent.scheduler_phase_step
    if recipe.resume.scheduler_state == "resume" and updates > left:
        raise ResumeRefused(
            f"{parent.run}/{parent.checkpoint} cannot be resumed: this run makes {updates} updates, its schedule has {left} of "
            f"{parent.scheduler_total_steps} left; reset the schedule, or train fewer epochs"
        )


def first_difference(where: str, old: Any, new: Any) -> tuple[str, Any, Any]:
    """The innermost key of nested dictionaries at which two values differ, and both values there."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in sorted(set(old) | set(new)):
            if old.get(key) != new.get(key):
                return first_difference(f"{where}.{key}", old.get(key), new.get(key))
    return where, old, new


def _heads(aux: dict[str, float]) -> list[str]:
    return sorted(name for name, weight in aux.items() if weight > 0)


def _bound(optimizer: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in optimizer.items() if name not in _FREE}


def stored(parent: Parent) -> dict[str, Any]:
    """Plain JSON values; ``Parent(**values)`` reads them back."""
    return asdict(parent)
