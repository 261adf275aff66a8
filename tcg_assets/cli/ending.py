"""Training from a terminal that ends early: its budget, Ctrl-C and SIGTERM end it at the next update."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

import typer

from tcg_core.train.errors import Unfinished
from tcg_core.train.stop import Stop

#: Exit status of a run that ended before its end; the same command continues it.
UNFINISHED = 3


@contextmanager
def may_end_early(budget_hours: float) -> Iterator[Stop]:
    """What to give to the training within; if it ends early, one line on stderr and exit status 3."""
    stop = Stop(budget_hours)
    try:
        with stop.on_signals():
            yield stop
    except Unfinished as ended:
        print(f"tcg: {ended}", file=sys.stderr)
        raise typer.Exit(UNFINISHED) from None
