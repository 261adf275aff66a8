"""`tcg day exclude` and `tcg day restore`: what a person does about a bad day."""

from typing import Annotated

import typer

from tcg_core.base.home import Home


def register(app: typer.Typer) -> None:
    """Adds the commands to `tcg day`."""
    app.command()(exclude)
    app.command()(restore)


def exclude(
    day: Annotated[str, typer.Argument(help="The day, YYYY-MM-DD.")],
    reason: Annotated[str, typer.Option(help="Why; it is recorded and shown.")],
) -> None:
    """Takes a validated day out of training, with a recorded reason."""
    from tcg_core.days.states import exclude_day

    row = exclude_day(Home.resolve().prepare(), day, reason)
    print(f"day {row.day}: dataset {row.dataset_id} is {row.state}: {row.reason}")


def restore(
    day: Annotated[str, typer.Argument(help="The day, YYYY-MM-DD.")],
    dataset: Annotated[str, typer.Argument(help="Its dataset; the one changed last if left out.")] = "",
) -> None:
    """Makes an excluded or superseded dataset the day's validated one again, if its files are what they were."""
    from tcg_core.days.states import restorable, restore_day

    home = Home.resolve().prepare()
    row = restore_day(home, day, dataset or restorable(home, day))
    print(f"day {row.day}: dataset {row.dataset_id} is {row.state}")
