"""How the command line shows what a stage built."""

import shutil
import sys
from collections.abc import Sequence
from typing import Any

from rich.console import Console

from tcg_core.base.built import Built
from tcg_core.base.errors import TcgError
from tcg_core.base.table import cell, text_table

#: Characters of a line in a file or a pipe.
_NO_TERMINAL = 160


class ChecksFailed(TcgError):
    """A stage whose own checks block what comes after."""


def show(built: Built) -> Built:
    """Prints an artifact with its facts and checks; raises :class:`ChecksFailed` if a check blocks."""
    console = Console(highlight=False)
    console.print(f"[bold]{built.kind}[/bold] {built.id}{' (unchanged)' if built.reused else ''}  {built.path}", soft_wrap=True)
    for name, value in built.facts.items():
        console.print(f"  {name}: {cell(value)}", soft_wrap=True)
    for check in built.checks:
        mark = "[green]pass[/green]" if check.passed else f"[red]{'FAIL' if check.blocks else 'warn'}[/red]"
        console.print(f"  {mark} {check.name}: {check.message}", soft_wrap=True)
    failed = [check for check in built.checks if check.blocks]
    if failed:
        raise ChecksFailed(f"{built.kind} {built.id}: check {failed[0].name} failed: {failed[0].message}")
    return built


def table(title: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """Prints a table as wide as the terminal, or says that there is nothing."""
    if not rows:
        print(f"{title}: none")
        return
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else _NO_TERMINAL
    print("\n".join([title, *text_table(columns, rows, width)]))
