"""The stage ``torch_artifact``: an MLX checkpoint as a PyTorch artifact that has proven itself on real decisions."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from tcg_core.base.atomic import write_bytes, write_json
from tcg_core.base.built import Built
from tcg_core.base.checks import Check
from tcg_core.base.home import Home
from tcg_core.base.manifest import Manifest, read_manifest, verify_files
from tcg_core.base.progress import phase
from tcg_core.base.stage import Stage, finish, make
from tcg_core.catalog import registry
from tcg_core.convert.checks import fp32, parity, reloaded, strict_names
from tcg_core.convert.decisions import plan_reference
from tcg_core.convert.players import mlx_player, torch_player
from tcg_core.convert.reference import write_reference
from tcg_core.convert.reload import reload
from tcg_core.convert.replay import compare, replay
from tcg_core.encode.schema import SCHEMA
from tcg_core.model.architecture import MASK_VALUE
from tcg_core.model.names import join_arrays
from tcg_core.model.tensors import read_safetensors, safetensors_bytes
from tcg_core.model.torch_load import CONTRACT, CONTRACT_VERSION, REFERENCE, WEIGHTS, load_artifact
from tcg_core.plan.load import load_plan
from tcg_core.plan.plan import Plan
from tcg_core.train.runs.checkpoint import load_weights
from tcg_core.train.runs.pointers import require

KIND, CHECKPOINT_KIND, CARDS_KIND = "torch_artifact", "checkpoint", "card_features"
CHECKS = "checks.json"
#: Largest accepted difference between frameworks and between processes, fixed before anything is measured.
TOLERANCE = 1e-4
#: Size of the reference: validation lanes, and decisions of each from its start.
LANES, DECISIONS = 8, 24


@dataclass(frozen=True)
class _Source:
    """What is converted: the checkpoint's directory and manifest, and its plan."""

    step: Path
    manifest: Manifest
    plan: Plan


def convert(home: Home, run: str, which: Literal["best", "latest"] = "best") -> Built:
    """Converts the checkpoint that ``which`` of ``run`` points to; the same checkpoint converts once.

    Publishes ``artifacts/<id>/``: weights.safetensors (leaves and card tables), contract.json, reference.safetensors,
    checks.json, manifest.json. An artifact whose checks fail is published and recorded as failed, so that it can be looked
    at; nothing later accepts it.

    Raises :class:`~tcg_core.catalog.errors.ChecksNotPassed` for a run whose checks failed or are absent,
    :class:`~tcg_core.base.errors.UnknownId` for an unknown run, :class:`~tcg_core.base.errors.IntegrityError` for changed files,
    :class:`~tcg_core.model.config.ModelError` naming a leaf.
    """
    checkpoint = read_manifest(registry.require_passed(home, CHECKPOINT_KIND, run))
    step = require(home.checkpoints / run, which)
    source = _Source(step, verify_files(step), load_plan(home, run))
    cards = read_manifest(registry.find(home, CARDS_KIND, source.plan.cards_id))
    inputs = (checkpoint.as_input(), cards.as_input())
    config = {
        "step": step.name,
        "step_content": source.manifest.content,
        "tolerance": TOLERANCE,
        "lanes": LANES,
        "decisions": DECISIONS,
    }
    stage = Stage.of(KIND, KIND, home.artifacts, inputs, config)
    made = make(stage, lambda directory: _write(directory, home, run, source))
    return finish(registry.HomeRegistrar(home), made, lambda: _proofs(made.path), made.manifest.facts)


def _proofs(directory: Path) -> tuple[Check, ...]:
    """The checks, as they were found when the artifact was made: they load MLX and PyTorch, and are files of it."""
    return tuple(Check(**values) for values in json.loads((directory / CHECKS).read_text()))


def _write(directory: Path, home: Home, run: str, source: _Source) -> dict[str, Any]:
    """Writes everything but the manifest; returns the artifact's facts."""
    architecture, weights, tables, _ = load_weights(source.step)
    write_bytes(directory / WEIGHTS, safetensors_bytes(join_arrays(weights, tables)))
    contract: dict[str, Any] = {
        "contract_version": CONTRACT_VERSION,
        "kind": "torch_policy",
        "dtype": "float32",
        "arch_config": architecture.to_dict(),
        "schema": SCHEMA.digest,
        "tables": tables.digest,
        "generations": list(source.plan.recipe.generations),
        "mask_value": MASK_VALUE,
        "tolerance": TOLERANCE,
        "origin": {"run": run, "step": source.step.name, "checkpoint": source.manifest.content},
    }
    if architecture.config.would_ko:
        contract["origin"]["zero_wouldko"] = source.plan.recipe.zero_wouldko
    write_json(directory / CONTRACT, contract)
    with phase("conversion and its proofs", total=4) as advance:
        reference = plan_reference(home, source.plan, tables, LANES, DECISIONS)
        expected = replay(mlx_player(architecture, weights, tables, str(source.step)), reference)
        write_reference(directory / REFERENCE, reference, expected)
        advance(1)
        net, _, _ = load_artifact(directory)
        difference = compare(reference, expected, replay(torch_player(net), reference))
        advance(1)
        artifact_report = reload(directory)
        advance(1)
        checkpoint_report = reload(source.step, directory / REFERENCE, TOLERANCE)
        advance(1)
    arrays = read_safetensors(directory / WEIGHTS)
    checks = (
        strict_names(architecture, arrays),
        fp32(arrays),
        parity(difference, TOLERANCE, len(reference.lanes), reference.decisions, len(reference.steps)),
        reloaded("reload", artifact_report),
        reloaded("reload_checkpoint", checkpoint_report),
    )
    write_json(directory / CHECKS, [asdict(check) for check in checks])
    return {
        "run": run,
        "step": source.step.name,
        "parameters": checks[0].facts["parameters"],
        "parity": difference.largest,
        "reload": artifact_report["difference"],
        "reload_checkpoint": checkpoint_report["difference"],
        "tolerance": TOLERANCE,
        "reference_rows": reference.rows,
        "reference_decisions": reference.decisions,
        "generations": list(source.plan.recipe.generations),
        "bytes": (directory / WEIGHTS).stat().st_size,
    }
