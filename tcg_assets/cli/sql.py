"""`tcg sql`: ask the validated days and the catalog."""

import sys
from typing import Annotated, Literal

import typer

from tcg_assets.cli.show import table
from tcg_core.base.home import Home

_SHOWN = 200


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command()(sql)


def sql(
    text: Annotated[str, typer.Argument(metavar="SELECT", help="One SELECT, read-only.")],
    form: Annotated[Literal["table", "csv", "json"], typer.Option("--format", help="csv and json print every row.")] = "table",
) -> None:
    """Runs one SELECT over the views rows, days, datasets, episodes, games, participants, decks, agents, ratings, artifacts
    and checks.

    For example: tcg sql "SELECT day, count(*) AS n, avg(y = 0) AS first_option FROM rows GROUP BY day ORDER BY day"
    """
    from tcg_core.rows.sql import query

    found = query(Home.resolve().prepare(), text)
    if form == "csv":
        from pyarrow import csv

        csv.write_csv(found, sys.stdout.buffer)
    elif form == "json":
        import json

        for row in found.to_pylist():
            print(json.dumps(row, ensure_ascii=False, default=str))
    else:
        shown = found.slice(0, _SHOWN).to_pylist()
        table(f"{found.num_rows} rows", found.column_names, [list(row.values()) for row in shown])
        if found.num_rows > _SHOWN:
            print(f"the first {_SHOWN} of {found.num_rows}; --format csv prints all")
