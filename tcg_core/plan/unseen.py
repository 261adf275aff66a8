"""What a plan reports of a selection with ``unseen_by``: the new rows, the sample of older days, and the days left out."""

import sqlite3
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from tcg_core.catalog.selection import SelectedDay, select_days
from tcg_core.recipe import Recipe


def unseen_facts(connection: sqlite3.Connection, recipe: Recipe, chosen: Sequence[SelectedDay]) -> dict[str, Any]:
    """Rows of each new day among ``chosen``, rows sampled from each older day, and the new days that ``max_rows`` leaves to a
    later run. Empty without ``unseen_by``."""
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
