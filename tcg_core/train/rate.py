"""How fast a network trains here, from the runs that this machine has finished."""

import json
import logging
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tcg_core.base.errors import TcgError
from tcg_core.base.home import Home
from tcg_core.base.manifest import MANIFEST, read_manifest
from tcg_core.base.settings import from_dict
from tcg_core.catalog import registry
from tcg_core.lineage.imported import brought_runs
from tcg_core.model import bootstrap
from tcg_core.model.heads import built_heads
from tcg_core.recipe import Recipe
from tcg_core.train.runs import pointers

LOG = logging.getLogger(__name__)
#: Of the environment that a checkpoint records: what makes the same work faster or slower.
_DEVICE = ("chip", "device", "threads", "blas")


@dataclass(frozen=True)
class Rate:
    """rows: training rows a second; source: where the number is from, in words."""

    rows: float
    source: str


def known_rate(home: Home, recipe: Recipe, device: str = "auto") -> Rate | None:
    """The rate of the last run that passed with this network and this work on this device; None without one.

    The network is the model and the auxiliary heads that are built, whatever their weights are; the work is the mode, the chunk
    and the size of a microbatch. Days, epochs and learning rate do not change a rate. Imported runs are passed over: another
    machine made them.
    """
    imported = {brought.run for brought in brought_runs(home)}
    here: dict[str, Any] = {}
    for row in registry.rows_of(home, "checkpoint"):
        rate = float(row.facts.get("rows_per_second") or 0)
        if row.state != "passed" or not rate or row.id in imported or not (row.path / MANIFEST).is_file():
            continue
        try:
            ran = from_dict(Recipe, read_manifest(row.path).config["recipe"])
            if _trained(ran) != _trained(recipe):
                continue
            # MLX is asked only now: a home without such a run does not load it.
            here = here or _here(device)
            if _made_on(row.path) == here:
                return Rate(rate, f"of run {row.id} on this machine")
        except (TcgError, OSError, ValueError, KeyError) as error:
            LOG.warning("run %s says nothing about the rate: %s", row.id, error)
    return None


def _trained(recipe: Recipe) -> tuple[Any, ...]:
    return recipe.model, recipe.work, built_heads(asdict(recipe.aux))


def _here(device: str) -> dict[str, Any]:
    bootstrap.resolve_device(device)
    found = bootstrap.facts()
    return {name: found[name] for name in _DEVICE}


def _made_on(run: Path) -> dict[str, Any]:
    environment = json.loads((pointers.require(run, pointers.LATEST) / "state.json").read_text())["environment"]
    return {name: environment[name] for name in _DEVICE}
