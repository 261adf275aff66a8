"""`tcg convert`, `tcg submit` and `tcg lineage`."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from tcg_assets.cli.show import ChecksFailed, show, table
from tcg_core.base.home import Home

submit_app = typer.Typer(no_args_is_help=True, help="Pack a submission and prove it.")


def register(app: typer.Typer) -> None:
    """Adds the commands."""
    app.command()(convert)
    app.add_typer(submit_app, name="submit")
    app.command()(lineage)


def convert(
    run: Annotated[str, typer.Argument(help="Training run (its plan's id); the latest whose checks passed if left out.")] = "",
    which: Annotated[Literal["best", "latest"], typer.Option(help="Which checkpoint of the run.")] = "best",
) -> None:
    """Converts an MLX checkpoint to a PyTorch artifact: strict names, FP32, parity, fresh-process reload."""
    from tcg_core.catalog.registry import latest_passed
    from tcg_core.convert.artifact import convert as build

    home = Home.resolve().prepare()
    show(build(home, run or latest_passed(home, "checkpoint"), which=which))


@submit_app.command()
def pack(
    artifact: Annotated[str, typer.Argument(help="Artifact id; the latest whose checks passed if left out.")] = "",
    deck: Annotated[str, typer.Option(help="`sample`, or NAME of decks/NAME.csv.")] = "sample",
) -> None:
    """Packs submission.tar.gz and plays it the way Kaggle does."""
    from tcg_core.catalog.registry import latest_passed
    from tcg_core.submission.pack import pack as build

    home = Home.resolve().prepare()
    show(build(home, artifact or latest_passed(home, "torch_artifact"), deck=deck))


@submit_app.command()
def check(archive: Annotated[Path, typer.Argument(help="A submission.tar.gz.")]) -> None:
    """Runs the preflight on any archive: extracted, imported and played in a clean process."""
    from tcg_core.submission.preflight import preflight

    checks = preflight(archive)
    table("preflight", ["check", "result", "message"], [[c.name, "pass" if c.passed else "FAIL", c.message] for c in checks])
    failed = [item for item in checks if item.blocks]
    if failed:
        raise ChecksFailed(f"{archive}: check {failed[0].name} failed: {failed[0].message}")


def lineage(
    archive: Annotated[Path | None, typer.Argument(help="A submission.tar.gz, or an artifact directory.")] = None,
    day: Annotated[str, typer.Option(help="The other way: everything built from this day.")] = "",
) -> None:
    """Walks from a submission back to its day archives and verifies every hash on disk; or forward from a day."""
    from tcg_core.lineage.graph import on_disk
    from tcg_core.lineage.walk import walk_back, walk_forward

    home = Home.resolve().prepare()
    found = on_disk(home)
    nodes = walk_forward(home, day) if day else walk_back(home, archive, found)
    columns = ["", "kind", "id", "state", "note", "where"]
    rows = [["  " * node.depth + "└", node.kind, node.id, node.state, node.note, node.where] for node in nodes]
    table("lineage", columns, rows)
    for line in found.notes:
        print(f"note: {line}")
    broken = [node for node in nodes if node.state not in ("intact", "as recorded")]
    if broken:
        raise ChecksFailed(f"lineage: {broken[0].kind} {broken[0].id} is {broken[0].state}")
