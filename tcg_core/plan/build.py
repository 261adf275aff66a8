"""Stage ``work_plan``: selects rows, plans the whole run, stores the plan as data and checks what was stored."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

from tcg_core.base.atomic import write_json
from tcg_core.base.built import Built
from tcg_core.base.checks import Check
from tcg_core.base.code import code_version
from tcg_core.base.home import Home
from tcg_core.base.manifest import Input, read_manifest
from tcg_core.base.settings import to_dict
from tcg_core.base.stage import Stage, find, finish, make
from tcg_core.cards.features import load_cards
from tcg_core.catalog import registry
from tcg_core.plan.assemble import Assembled, assemble
from tcg_core.plan.checks import check_plan
from tcg_core.plan.errors import PlanError
from tcg_core.plan.facts import plot, summarize
from tcg_core.plan.known_cards import known_cards
from tcg_core.plan.load import load_plan
from tcg_core.plan.parent import Parent, find_parent, refuse_short, stored
from tcg_core.plan.source import Selected, select
from tcg_core.plan.tables import write_tables
from tcg_core.recipe import Recipe

KIND, CARDS_KIND = "work_plan", "card_features"
SUMMARY, PLOT = "summary.json", "microbatches.png"


def build_plan(home: Home, recipe: Recipe, cards_id: str | None = None) -> Built:
    """Builds, stores, registers and checks the plan of ``recipe``; the same inputs, recipe and code name the same plan.

    cards_id: the card tables of the run, the latest whose checks passed if None. Raises :class:`PlanError`,
    :class:`~tcg_core.base.errors.IntegrityError` for tables that are damaged or of an earlier layout, and what the selection
    raises.
    """
    cards = cards_id or registry.latest_passed(home, CARDS_KIND)
    directory = registry.require_passed(home, CARDS_KIND, cards)
    cards_manifest, tables = read_manifest(directory), load_cards(directory)
    found = find_parent(home, recipe)
    selected = select(home, recipe)
    days = tuple(Input("parquet_day", day.dataset_id, day.content) for day in selected.days)
    inputs: tuple[Input, ...] = (*days, cards_manifest.as_input())
    config: dict[str, Any] = {"recipe": to_dict(recipe), "episodes": selected.digest}
    # A plan's id names its training run, so it covers the trainer too: an edit of the trainer is another run.
    config["trainer"] = code_version("mlx_checkpoint")
    if recipe.selection.top_elo:
        config["ratings"] = [asdict(rating) for rating in selected.ratings]
    if found:
        inputs, config["parent"] = (*inputs, found[1]), stored(found[0])
    stage = Stage.of(KIND, KIND, home.plans, inputs, config)
    made = find(stage)
    if made is None:
        parent = found[0] if found else None
        work, facts = _assembled(recipe, selected, parent)
        made = make(stage, lambda directory: _write(directory, work, recipe, cards, selected, parent, facts))
    plan = load_plan(home, stage.id)
    registrar, plots = registry.HomeRegistrar(home), {"microbatches": made.path / PLOT}
    days_read = [day.day for day in selected.days]

    def checks() -> tuple[Check, ...]:
        return *check_plan(plan, selected.rows), known_cards(home, days_read, tables, cards)

    return finish(registrar, made, checks, plan.summary["facts"], plots)


def stored_plan(home: Home, identity: str) -> Built:
    """A plan that was built before, with the checks recorded of it; raises what :func:`~tcg_core.plan.load.load_plan` raises."""
    plan, directory = load_plan(home, identity), home.plans / identity
    checks = registry.checks_of(home, KIND, identity)
    return Built(KIND, identity, directory, True, checks, plan.summary["facts"], {"microbatches": directory / PLOT})


def _assembled(recipe: Recipe, selected: Selected, parent: Parent | None) -> tuple[Assembled, dict[str, Any]]:
    """The whole plan in memory and its facts."""
    made = assemble(selected.rows, recipe, parent.first_epoch if parent else 0)
    if made.chunks.decision_rows.max() > 32767:
        raise PlanError(f"a decision has {made.chunks.decision_rows.max()} rows, more than the plan's tables hold (32767)")
    facts = summarize(made, recipe) | selected.unseen
    if parent:
        refuse_short(recipe, parent, facts["horizon"])
        facts |= {"resumes": f"{parent.run}/{parent.checkpoint}", "first_epoch": parent.first_epoch}
    if recipe.phase_id:
        facts["phase_id"] = recipe.phase_id
    return made, facts


def _write(
    directory: Path,
    made: Assembled,
    recipe: Recipe,
    cards: str,
    selected: Selected,
    parent: Parent | None,
    facts: dict[str, Any],
) -> dict[str, Any]:
    """All files of the plan; returns its facts."""
    write_tables(directory, made.lanes, made.chunks, made.orders)
    plot(directory / PLOT, made, recipe)
    summary = {
        "recipe": to_dict(recipe),
        "cards": cards,
        "days": [asdict(day) for day in selected.days],
        "episodes": selected.digest,
        "parent": stored(parent) if parent else None,
        "facts": facts,
    }
    if recipe.model.would_ko:
        summary["would_ko"] = selected.would_ko
    write_json(directory / SUMMARY, summary)
    return facts
