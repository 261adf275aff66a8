"""`tcg`: the pipeline for people who live in a terminal. Each command is a thin call into the stage Dagster calls too."""

import logging
import sys

import typer

from tcg_assets.cli import (
    alerts,
    backfill,
    cards,
    catalog,
    curriculum,
    day_states,
    days,
    demo,
    evaluation,
    explain,
    health,
    nightly,
    ops,
    prove,
    release,
    services,
    ship,
    sql,
    training,
    ui,
    upgrade,
)
from tcg_core.base.errors import TcgError

app = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help=(
        "From day archives to a proven submission.\n\n"
        "A first tour, from a checkout: `tcg doctor`, `tcg day record --date 2026-08-01 --episodes 120`, "
        "`tcg day build 2026-08-01`, `tcg cards build`, `tcg plan build --recipe docs/first_recipe.json`, `tcg train`, "
        "`tcg convert`, `tcg submit pack`, `tcg tournament`. "
        "`tcg demo` does all of it through Dagster; `tcg ui` shows it."
    ),
)
health.register(app)
demo.register(app)
ui.register(app)
sql.register(app)
app.add_typer(days.app, name="day")
day_states.register(days.app)
prove.register(days.app)
backfill.register(app)
app.add_typer(nightly.app, name="nightly")
app.add_typer(catalog.app, name="catalog")
app.add_typer(cards.app, name="cards")
training.register(app)
curriculum.register(app)
explain.register(app)
release.register(app)
ship.register(app)
evaluation.register(app)
ops.register(app)
upgrade.register(app)
app.add_typer(services.app, name="service")
app.add_typer(alerts.app, name="alert")

REFUSED = 2


def main() -> None:
    """Runs the command line: a refusal is one line on stderr and exit code 2."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s", datefmt="%H:%M:%S")
    logging.getLogger("dagster").setLevel(logging.WARNING)
    try:
        app()
    except (TcgError, ValueError) as error:
        # The packed packages (encode, model) raise ValueErrors of their own; other ValueErrors are defects and keep their trace.
        if not isinstance(error, TcgError) and not type(error).__module__.startswith("tcg_core"):
            raise
        print(f"tcg: {error}", file=sys.stderr)
        sys.exit(REFUSED)
