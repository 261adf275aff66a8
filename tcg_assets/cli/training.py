"""`tcg plan`, `tcg train` and `tcg checkpoint`."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from tcg_assets.cli.show import show
from tcg_core.base.errors import ConfigError
from tcg_core.base.home import Home
from tcg_core.base.settings import from_dict, read_config, to_dict
from tcg_core.recipe import Recipe

if TYPE_CHECKING:
    from tcg_core.train.runs.bring_in import ImportedRun

plan_app = typer.Typer(no_args_is_help=True, help="The TBPTT work plan of a training run.")
checkpoint_app = typer.Typer(no_args_is_help=True, help="Training runs of other data homes.")

ResumePath = Annotated[
    Path | None,
    typer.Option(
        "--resume",
        help="RESUME: a new run that starts from this finished one: checkpoints/RUN, a step_N in it or one of its pointer "
        "files; a run of another data home is imported first. (To RECOVER a run that was killed, train its plan again instead.)",
    ),
]
Epochs = Annotated[int | None, typer.Option(help="With --resume: epochs of the new run; the recipe's if left out.")]
OptimizerState = Annotated[
    Literal["reset", "resume"] | None, typer.Option(help="With --resume: whether the optimizer's moments are kept.")
]
SchedulerState = Annotated[Literal["reset", "resume"] | None, typer.Option(help="With --resume: whether the schedule continues.")]


def register(app: typer.Typer) -> None:
    """Adds the commands."""
    app.add_typer(plan_app, name="plan")
    app.add_typer(checkpoint_app, name="checkpoint")
    app.command()(train)


@plan_app.command("build")
def build(
    recipe: Annotated[Path | None, typer.Option(help="A JSON recipe; unknown keys are refused.")] = None,
    all_days: Annotated[bool, typer.Option("--all-days", help="Shorthand: a default recipe over all validated days.")] = False,
    resume: ResumePath = None,
    epochs: Epochs = None,
    optimizer_state: OptimizerState = None,
    scheduler_state: SchedulerState = None,
) -> None:
    """Selects validated days and writes the plan; prints the resolved recipe."""
    from tcg_core.plan.build import build_plan

    home = Home.resolve().prepare()
    if resume is not None:
        chosen = from_dict(Recipe, {"selection": {"all_days": True}}) if all_days else None
        _resumed_plan(home, resume, read_config(recipe, Recipe) if recipe else chosen, epochs, optimizer_state, scheduler_state)
        return
    _need_resume(epochs=epochs, optimizer_state=optimizer_state, scheduler_state=scheduler_state)
    resolved = read_config(recipe, Recipe) if recipe else from_dict(Recipe, {"selection": {"all_days": all_days}})
    print(json.dumps(to_dict(resolved), indent=2))
    show(build_plan(home, resolved))


def _need_resume(**options: object) -> None:
    for name, value in options.items():
        if value is not None:
            raise ConfigError(f"--{name.replace('_', '-')} is given without --resume PATH: a plan has its own")


def _resumed_plan(
    home: Home, path: Path, recipe: Recipe | None, epochs: int | None, optimizer_state: str | None, scheduler_state: str | None
) -> str:
    """Builds the plan of a run that resumes ``path``, under its card tables; its id."""
    from tcg_core.plan.build import build_plan
    from tcg_core.train.runs.resume_path import resumed

    changes = {"epochs": epochs, "optimizer_state": optimizer_state, "scheduler_state": scheduler_state}
    found = resumed(home, path, recipe, changes)
    if found.brought is not None:
        _show_brought(found.brought)
    print(json.dumps(to_dict(found.recipe), indent=2))
    built = build_plan(home, found.recipe, found.cards)
    show(built)
    return built.id


@checkpoint_app.command("import")
def bring(
    path: Annotated[Path, typer.Argument(help="HOME/checkpoints/RUN of another data home, a step_N in it or a pointer file.")],
) -> None:
    """Imports a finished run of another data home: run, plan, card tables and the runs that it resumed, every hash verified.

    Its checks must have passed there. From then on it is found by its id, and is the latest run; its days stay where they are.
    """
    from tcg_core.train.runs.resume_path import take

    located, brought = take(Home.resolve().prepare(), path)
    if brought is None:
        print(f"run {located.run} lies in this data home")
    else:
        _show_brought(brought)


def _show_brought(brought: "ImportedRun") -> None:
    copied = ", ".join(f"{kind} {id}" for kind, id in brought.copied)
    print(f"run {brought.run}: {f'imported {copied}' if copied else 'is here already'}")
    if brought.days_elsewhere:
        print(f"days that lie in the other data home only, recorded for lineage: {', '.join(brought.days_elsewhere)}")


@plan_app.command("show")
def show_plan(plan: Annotated[str, typer.Argument(help="Plan id; the latest whose checks passed if left out.")] = "") -> None:
    """Prints a plan's summary."""
    from tcg_core.catalog.registry import find, latest_passed

    home = Home.resolve().prepare()
    path = find(home, "work_plan", plan or latest_passed(home, "work_plan"))
    print(path)
    print((path / "summary.json").read_text())


def train(
    plan: Annotated[
        str, typer.Argument(help="RECOVER: the plan to train or to continue; the latest whose checks passed if left out.")
    ] = "",
    device: Annotated[str, typer.Option(help="auto, gpu or cpu.")] = "auto",
    budget_hours: Annotated[float, typer.Option(help="Hours after which it ends with `latest` written; 0: no limit.")] = 0.0,
    allow_inexact: Annotated[bool, typer.Option(help="Recover under another BLAS, thread count, MLX or device.")] = False,
    again: Annotated[
        bool, typer.Option("--again", help="RECOVER: a run whose files are damaged is set aside and trained anew.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what it would cost and how long it would take.")] = False,
    resume: ResumePath = None,
    recipe: Annotated[
        Path | None, typer.Option(help="With --resume: a JSON recipe; that of the resumed run if left out.")
    ] = None,
    epochs: Epochs = None,
    optimizer_state: OptimizerState = None,
    scheduler_state: SchedulerState = None,
) -> None:
    """Trains a plan. Two operations start from a checkpoint, and they are not the same.

    RECOVER: the same command again. A run that was killed, cancelled (Ctrl-C: it ends at the next update) or out of its budget
    continues from its `latest`; plan, data, architecture and accumulation must be identical. Exit status 3: it ended before
    its end, so start it again.

    RESUME: --resume PATH. A new run with a plan of its own, from the epoch after a finished run's, for --epochs more; the
    architecture and the optimizer's contract must be equal, days may differ.
    """
    from tcg_core.catalog.registry import latest_passed

    home = Home.resolve().prepare()
    if resume is None:
        _need_resume(recipe=recipe, epochs=epochs, optimizer_state=optimizer_state, scheduler_state=scheduler_state)
        chosen = plan or latest_passed(home, "work_plan")
    elif plan:
        raise ConfigError(f"plan {plan} and --resume {resume}: a resumed run gets a plan of its own, give one of the two")
    else:
        given = read_config(recipe, Recipe) if recipe else None
        chosen = _resumed_plan(home, resume, given, epochs, optimizer_state, scheduler_state)
    if dry_run:
        _estimate(home, chosen, device)
        return
    if again:
        from tcg_core.train.mend import set_aside_damaged

        moved = set_aside_damaged(home, chosen)
        print(f"set aside: {moved}" if moved else f"there is no run {chosen} to set aside")
    from tcg_assets.cli.ending import may_end_early

    with may_end_early(budget_hours) as stop:
        # Only now, so that a refusal does not wait for MLX.
        from tcg_core.train.run import train as run

        built = run(home, chosen, device=device, allow_inexact=allow_inexact, stop=stop)
    show(built)


def _estimate(home: Home, plan: str, device: str) -> None:
    from tcg_core.train.estimate import estimate

    found = estimate(home, plan, device)
    work, epochs = found.plan, found.plan.recipe.epochs
    print(json.dumps(to_dict(work.recipe), indent=2))
    print(f"plan {work.id}: {len(work.days)} days, {len(work.lanes)} lanes")
    for side in ("train", "validation"):
        batches = [work.count(epoch, side) for epoch in range(epochs if side == "train" else 1)]
        print(f"  {side}: {work.rows[side]} rows, microbatches by epoch {', '.join(map(str, batches))}")
    print(f"  updates: {work.horizon} in {epochs} epochs; {found.updates_done} done")
    print(f"  parameters: {sum(found.parameters.values()):,} ({', '.join(f'{k} {v:,}' for k, v in found.parameters.items())})")
    print(f"  rate: {found.rate.rows:.1f} rows/s, {found.rate.source}")
    if found.updates_done == work.horizon:
        print("  time left: none, the run is finished")
    else:
        print(f"  time left: about {found.seconds / 60:.1f} min, validation included")
