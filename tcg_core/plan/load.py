"""Reading a stored plan, verified against its manifest."""

import json
from dataclasses import fields

from tcg_core.base.errors import IntegrityError, UnknownId
from tcg_core.base.home import Home
from tcg_core.base.manifest import verify_files
from tcg_core.base.settings import from_dict
from tcg_core.plan.parent import Parent
from tcg_core.plan.plan import Plan
from tcg_core.plan.rows import PlanDay
from tcg_core.plan.tables import read_tables
from tcg_core.recipe import Recipe


def load_plan(home: Home, plan_id: str) -> Plan:
    """The plan ``plan_id``; every file is hashed against the manifest.

    Raises :class:`UnknownId` if there is none and :class:`IntegrityError` naming the file that is not as stored.
    """
    directory = home.plans / plan_id
    if not directory.is_dir():
        raise UnknownId(f"there is no work plan {plan_id} in {home.plans}")
    manifest = verify_files(directory)
    summary = json.loads((directory / "summary.json").read_text())
    recipe = from_dict(Recipe, summary["recipe"])
    names = {field.name for field in fields(PlanDay)}
    if any(set(day) | {"rows_digest"} != names for day in summary["days"]):
        raise IntegrityError(f"{directory / 'summary.json'}: days are not described as this code expects: {sorted(names)}")
    lanes, chunks, orders = read_tables(directory, recipe.epochs)
    return Plan(
        id=plan_id,
        sha256=manifest.content,
        recipe=recipe,
        days=tuple(PlanDay(**day) for day in summary["days"]),
        lanes=lanes,
        chunks=chunks,
        orders=orders,
        cards_id=summary["cards"],
        summary=summary,
        parent=Parent(**summary["parent"]) if summary["parent"] else None,
    )
