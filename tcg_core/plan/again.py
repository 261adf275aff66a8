"""Materializes a stored plan again instead of building a new one, so that an unfinished run can continue."""

import json
from pathlib import Path

from tcg_core.base.built import Built
from tcg_core.base.code import code_version
from tcg_core.base.home import Home
from tcg_core.base.manifest import read_manifest
from tcg_core.catalog import registry
from tcg_core.catalog.connection import catalog
from tcg_core.catalog.datasets import find_dataset
from tcg_core.plan.build import KIND, SUMMARY, stored_plan
from tcg_core.plan.errors import PlanError


def plan_again(home: Home, plan_id: str) -> Built:
    """The plan as stored, with its recorded checks; every file is hashed again.

    Raises what :func:`require_current` raises, and :class:`IntegrityError` naming a file that is not as stored.
    """
    directory = require_current(home, plan_id)
    built = stored_plan(home, plan_id)
    registry.register(home, read_manifest(directory), directory)
    return built


def require_current(home: Home, plan_id: str) -> Path:
    """Directory of a plan whose run may continue: its checks passed, this code made it, its days are still the validated ones.

    Raises :class:`UnknownId`, :class:`ChecksNotPassed`, and :class:`PlanError` naming what has changed.
    """
    directory = registry.require_passed(home, KIND, plan_id)
    manifest = read_manifest(directory)
    # Plans of 0.1.0 do not name their trainer apart: their one code identity covers it.
    pairs = ((manifest.code, code_version(KIND)), (manifest.config.get("trainer", manifest.code), code_version("mlx_checkpoint")))
    for made, now in pairs:
        if made != now:
            raise PlanError(f"plan {plan_id} was made by code {made}, this is {now}: its run would mix two versions of the code")
    with catalog(home) as connection:
        for day in json.loads((directory / SUMMARY).read_text())["days"]:
            held = find_dataset(connection, day["day"], day["dataset_id"])
            state = "gone from the catalog" if held is None else held.state
            if held is not None and held.sha256 != day["sha256"]:
                state = "stored with different bytes"
            if state != "validated":
                raise PlanError(f"plan {plan_id}: day {day['day']} as it was planned is {state} now")
            if not (home.root / day["path"]).is_file():
                raise PlanError(f"plan {plan_id}: {day['path']} of day {day['day']} is missing")
    return directory
