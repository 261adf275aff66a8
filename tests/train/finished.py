"""Finished runs that nobody trained: a manifest, a rate, and the environment that a checkpoint records."""

from typing import Any

from tcg_core.base.atomic import publishing, write_json
from tcg_core.base.checks import Check
from tcg_core.base.home import Home
from tcg_core.base.manifest import Manifest, hash_files, read_manifest, write_manifest
from tcg_core.base.settings import to_dict
from tcg_core.catalog import registry
from tcg_core.model import bootstrap
from tcg_core.recipe import Recipe
from tcg_core.train.runs import pointers


def finished(
    home: Home, rate: float, recipe: Recipe, id: str = "a" * 16, passed: bool = True, environment: dict[str, Any] | None = None
) -> None:
    """Registers a run that trained ``rate`` rows a second. environment: what differs from this machine with device auto."""
    bootstrap.resolve_device("auto")
    directory = home.checkpoints / id
    with publishing(directory) as temporary:
        step = temporary / "step_00000001"
        write_json(step / "state.json", {"environment": bootstrap.facts() | (environment or {})})
        write_manifest(step, Manifest("checkpoint_step", step.name, (), {}, "code", {}, hash_files(step), {}))
        pointers.point(temporary, pointers.LATEST, step, 1)
        config: dict[str, Any] = {"recipe": to_dict(recipe)}
        facts = {"rows_per_second": rate}
        write_manifest(temporary, Manifest("checkpoint", id, (), config, "code", {}, hash_files(temporary), facts))
    registry.register(home, read_manifest(directory), directory)
    registry.record_checks(home, "checkpoint", id, [Check("learned", passed, "looked at")])
