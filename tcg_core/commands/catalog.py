"""`tcg catalog`: what is registered, and whether disk and catalog agree."""

import typer

from tcg_core.commands.show import ChecksFailed, table
from tcg_core.home import Home

app = typer.Typer(no_args_is_help=True, help="The SQLite day catalog.")


@app.command("ls")
def list_artifacts() -> None:
    """Lists the registered artifacts, newest last, and whether their checks passed."""
    from tcg_core.catalog.registry import list_artifacts as rows

    found = rows(Home.resolve().prepare())
    table("artifacts", list(found[0]) if found else [], [list(row.values()) for row in found])


@app.command()
def verify() -> None:
    """Compares disk with catalog, both ways, day by day."""
    from tcg_core.catalog.verify import verify as run

    checks = run(Home.resolve().prepare())
    table("checks", ["check", "result", "message"], [[c.name, "pass" if c.passed else "FAIL", c.message] for c in checks])
    failed = [check for check in checks if check.blocks]
    if failed:
        raise ChecksFailed(f"catalog and disk differ: {failed[0].name}: {failed[0].message}")
