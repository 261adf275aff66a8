"""What identifies a run: everything that a recovery compares before it continues."""

from typing import Any

from tcg_core.base.digest import sha256_json
from tcg_core.base.settings import to_dict
from tcg_core.encode.cards import CardTables
from tcg_core.encode.schema import SCHEMA
from tcg_core.model.architecture import Architecture
from tcg_core.plan.errors import ResumeRefused
from tcg_core.plan.parent import first_difference
from tcg_core.plan.plan import Plan
from tcg_core.train import optimizer
from tcg_core.train.errors import RecoverRefused
from tcg_core.train.runs.base import Base, parent_entry
from tcg_core.train.schedule import Horizon

OUTSIDE_IDENTITY = "what a recovery compares before it continues"

CHECKPOINT_VERSION = 1
#: Keys of a state that must be equal.
IDENTITY = (
    *("checkpoint_version", "run", "plan", "arch_config", "accum_steps", "optimizer_contract", "scheduler_contract"),
    *("schema_digest", "cards_digest", "seed", "split_seed"),
)
#: Keys of ``environment`` on which the bits depend.
EXACT = ("mlx", "blas", "threads", "device", "compile", "code")
#: Keys that must be equal for a resume; those of the schedule too where it is resumed.
RESUMED = ("checkpoint_version", "arch_config", "optimizer_contract", "schema_digest", "cards_digest", "split_seed")


def describe(
    plan: Plan, architecture: Architecture, cards: CardTables, card_csv: str | None, horizon: Horizon, environment: dict[str, Any]
) -> dict[str, Any]:
    """The part of ``state.json`` that stays the same during a run. card_csv: SHA-256 of the joined CSV, if any."""
    recipe = plan.recipe
    manifest = [{"day": day.day, "sha256": day.sha256, "rows": day.rows, "aux_targets": True} for day in plan.days]
    return {
        "checkpoint_version": CHECKPOINT_VERSION,
        "run": plan.id,
        "plan": {"id": plan.id, "sha256": plan.sha256},
        "run_config": to_dict(recipe)
        | {"data_days": [day.day for day in plan.days], "data_paths": [day.path for day in plan.days]},
        "arch_config": architecture.to_dict(),
        "schema_digest": SCHEMA.digest,
        "cards": plan.cards_id,
        "cards_digest": cards.digest,
        "static_feature_contract": {
            "sha256": cards.digest,
            "dtype": "float32",
            "shape": {"card_static": list(cards.card_static.shape), "attack_static": list(cards.attack_static.shape)},
            "card_csv": card_csv,
        },
        "optimizer_contract": optimizer.contract(recipe.optimizer, optimizer.routing(architecture)),
        "scheduler_contract": horizon.contract(),
        "scheduler_total_steps": horizon.total,
        "accum_steps": recipe.work.accum_steps,
        "seed": recipe.seed,
        "split_seed": recipe.split.split_seed,
        "microbatches_per_epoch": [plan.count(epoch) for epoch in range(recipe.epochs)],
        "optimizer_steps_per_epoch": [plan.updates(epoch) for epoch in range(recipe.epochs)],
        "dataset_manifest": manifest,
        "dataset_build_fingerprint": sha256_json([SCHEMA.digest, manifest]),
        "inference_config": {
            "version": 1,
            "seed": recipe.seed,
            "generations": list(recipe.generations),
            "would_ko": plan.summary["would_ko"] if recipe.model.would_ko else False,
        },
        "prospective": None,
        "phase_id": recipe.phase_id or None,
        "parent": parent_entry(plan),
        "start_epoch": Base.of(plan).epoch,
        "local_epochs": recipe.epochs,
        "environment": environment,
    }


def refuse_other(found: dict[str, Any], wanted: dict[str, Any], allow_inexact: bool) -> None:
    """Raises :class:`RecoverRefused` naming the first key at which a stored state differs from the run asked for."""
    for key in IDENTITY:
        if found.get(key) != wanted[key]:
            where, old, new = first_difference(key, found.get(key), wanted[key])
            raise RecoverRefused(f"run {wanted['run']} cannot be recovered: {where} is {new}, its checkpoint has {old}")
    for key in EXACT:
        old, new = found["environment"].get(key), wanted["environment"][key]
        if old != new and not allow_inexact:
            made = f"made under {old}" if old is not None else f"made before {key} was recorded"
            raise RecoverRefused(
                f"run {wanted['run']} cannot be recovered exactly: {key} is {new}, its checkpoint was {made}; "
                "use the same, or allow_inexact (--allow-inexact)"
            )


def refuse_parent(found: dict[str, Any], wanted: dict[str, Any], source: str) -> None:
    """Raises :class:`ResumeRefused` naming the first key at which the state of ``source`` differs from the run that resumes
    it."""
    resumed = wanted["parent"]["scheduler_state"] == "resume"
    for key in (*RESUMED, *(("accum_steps", "scheduler_contract") if resumed else ())):
        if found.get(key) != wanted[key]:
            where, old, new = first_difference(key, found.get(key), wanted[key])
            raise ResumeRefused(f"{source} cannot be resumed: {where} is {new}, it has {old}")
