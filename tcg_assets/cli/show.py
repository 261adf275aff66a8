"""How the command line shows what a stage built."""

import sys
from typing import Any

from rich.console import Console
from rich.table import Table

from tcg_core.base.built import Built
from tcg_core.base.errors import TcgError


class ChecksFailed(TcgError):
    """A stage whose own checks block what comes after."""


def show(built: Built) -> Built:
    """Prints an artifact with its facts and checks; raises :class:`ChecksFailed` if a check blocks."""
    console = Console(highlight=False)
    console.print(f"[bold]{built.kind}[/bold] {built.id}{' (unchanged)' if built.reused else ''}  {built.path}", soft_wrap=True)
    for name, value in built.facts.items():
        console.print(f"  {name}: {_text(value)}", soft_wrap=True)
    for check in built.checks:
        mark = "[green]pass[/green]" if check.passed else f"[red]{'FAIL' if check.blocks else 'warn'}[/red]"
        console.print(f"  {mark} {check.name}: {check.message}", soft_wrap=True)
    failed = [check for check in built.checks if check.blocks]
    if failed:
        raise ChecksFailed(f"{built.kind} {built.id}: check {failed[0].name} failed: {failed[0].message}")
    return built


def table(title: str, columns: list[str], rows: list[list[Any]]) -> None:
    """Prints a table, or says that there is nothing."""
    if not rows:
        print(f"{title}: none")
        return
    grid = Table(title=title, title_justify="left", box=None, header_style="bold", pad_edge=False)
    for column in columns:
        grid.add_column(column, overflow="fold")
    for row in rows:
        grid.add_row(*(_text(value) for value in row))
    Console(highlight=False, width=None if sys.stdout.isatty() else 160).print(grid)


def _text(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, dict):
        return ", ".join(f"{key} {_text(item)}" for key, item in value.items())
    return "" if value is None else str(value)
