"""`tcg plan` and `tcg train`."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from tcg_core.commands.show import show
from tcg_core.errors import ConfigError
from tcg_core.home import Home
from tcg_core.recipe import Recipe
from tcg_core.settings import from_dict, to_dict

plan_app = typer.Typer(no_args_is_help=True, help="The TBPTT work plan of a training run.")


def register(app: typer.Typer) -> None:
    """Adds the commands."""
    app.add_typer(plan_app, name="plan")
    app.command()(train)


@plan_app.command("build")
def build(
    recipe: Annotated[Path | None, typer.Option(help="A JSON recipe; unknown keys are refused.")] = None,
    all_days: Annotated[bool, typer.Option("--all-days", help="Shorthand: a default recipe over all validated days.")] = False,
) -> None:
    """Selects validated days and writes the plan; prints the resolved recipe."""
    from tcg_core.plan.build import build_plan

    resolved = read_recipe(recipe) if recipe else from_dict(Recipe, {"selection": {"all_days": all_days}})
    print(json.dumps(to_dict(resolved), indent=2))
    show(build_plan(Home.resolve().prepare(), resolved))


@plan_app.command("show")
def show_plan(plan: Annotated[str, typer.Argument(help="Plan id; the latest whose checks passed if left out.")] = "") -> None:
    """Prints a plan's summary."""
    from tcg_core.catalog.registry import find, latest_passed

    home = Home.resolve().prepare()
    path = find(home, "work_plan", plan or latest_passed(home, "work_plan"))
    print(path)
    print((path / "summary.json").read_text())


def train(
    plan: Annotated[str, typer.Argument(help="Plan id; the latest whose checks passed if left out.")] = "",
    device: Annotated[str, typer.Option(help="auto, gpu or cpu.")] = "auto",
    allow_inexact: Annotated[bool, typer.Option(help="Recover under another BLAS, thread count, MLX or device.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what it would cost and how long it would take.")] = False,
) -> None:
    """Trains the plan; started again after a kill it continues from `latest`."""
    from tcg_core.catalog.registry import latest_passed

    home = Home.resolve().prepare()
    chosen = plan or latest_passed(home, "work_plan")
    if dry_run:
        _estimate(home, chosen, device)
        return
    # Only now, so that a refusal does not wait for MLX.
    from tcg_core.train.run import train as run

    show(run(home, chosen, device=device, allow_inexact=allow_inexact))


def _estimate(home: Home, plan: str, device: str) -> None:
    from tcg_core.estimate import estimate

    found = estimate(home, plan, device)
    work, epochs = found.plan, found.plan.recipe.epochs
    print(json.dumps(to_dict(work.recipe), indent=2))
    print(f"plan {work.id}: {len(work.days)} days, {len(work.lanes)} lanes")
    for side in ("train", "validation"):
        batches = [work.count(epoch, side) for epoch in range(epochs if side == "train" else 1)]
        print(f"  {side}: {work.rows[side]} rows, microbatches by epoch {', '.join(map(str, batches))}")
    print(f"  updates: {work.horizon} in {epochs} epochs; {found.updates_done} done")
    print(f"  parameters: {sum(found.parameters.values()):,} ({', '.join(f'{k} {v:,}' for k, v in found.parameters.items())})")
    print(f"  rate: {found.rate:.1f} rows/s, {found.rate_from}")
    if found.updates_done == work.horizon:
        print("  time left: none, the run is finished")
    else:
        print(f"  time left: about {found.seconds / 60:.1f} min, validation included")


def read_recipe(path: Path) -> Recipe:
    """Reads a JSON recipe; raises :class:`ConfigError` naming file and key."""
    try:
        values: Any = json.loads(path.read_text())
    except (OSError, ValueError) as error:
        raise ConfigError(f"recipe {path}: {error}") from None
    try:
        return from_dict(Recipe, values)
    except ConfigError as error:
        raise ConfigError(f"recipe {path}: {error}") from None
