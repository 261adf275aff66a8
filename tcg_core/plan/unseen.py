"""What a plan tells of a selection with ``unseen_by``: what of it is new, what is a sample of older days, what was left."""

import sqlite3
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from tcg_core.catalog.selection import SelectedDay, select_days
from tcg_core.recipe import Recipe


def unseen_facts(connection: sqlite3.Connection, recipe: Recipe, chosen: Sequence[SelectedDay]) -> dict[str, Any]:
    """Of the ``chosen`` days: rows of each new one and of the sample of each older one, and the new days that ``max_rows`` leaves
    to another run. Empty without ``unseen_by``."""
    if not recipe.selection.unseen_by:
        return {}
    new, old = ({d.day: d.rows for d in chosen if d.replayed is replayed} for replayed in (False, True))
    left: list[str] = []
    if recipe.selection.max_rows:
        whole = select_days(connection, replace(recipe.selection, max_rows=0, replay=0.0), recipe.generations)
        left = [day.day for day in whole if day.day not in new]
    return {
        "unseen_by": recipe.selection.unseen_by,
        "new_days": new,
        "new_rows": sum(new.values()),
        "replayed_days": old,
        "replayed_rows": sum(old.values()),
        "left_days": left,
    }
