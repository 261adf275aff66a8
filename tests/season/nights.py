"""Nights: what the schedule's own function asks for, and what became of it."""

import json
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import dagster as dg
from dagster._core.definitions.schedule_definition import ScheduleExecutionData

from tcg_assets.assets.handover import made_by
from tcg_assets.assets.resources import Workspace
from tcg_assets.automation.nightly import nightly_schedule
from tcg_core.base.home import Home
from tcg_core.base.manifest import read_manifest
from tcg_core.engine.battle import DECK_SIZE
from tcg_core.engine.cards import BASIC_ENERGY, load_cards
from tcg_core.engine.decks import is_basic_pokemon, write_deck
from tcg_core.model.config import ModelConfig
from tcg_core.nightly.settings import Nightly, load_nightly
from tcg_core.recipe import Optimizer, Recipe, Schedule, Selection, Split, Work
from tests.season.season import Season

NIGHT = Nightly(
    recipe=Recipe(
        selection=Selection(last_n_days=14),
        split=Split(val_frac=0.3),
        work=Work(tbptt_chunk=8, batch_size=128),
        model=ModelConfig(d_model=32, heads=4, layers=1, ff=64, registers=4),
        optimizer=Optimizer(lr=5e-3),
        schedule=Schedule(warmup_steps=3),
        epochs=3,
        latest_every_updates=3,
    ),
    full_weekday="sun",
    opponents=("random",),
    games=2,
)
#: A deck with which the best player loses: one Basic Pokémon and energy that is of no use to it.
WEAK_DECK = "weak"
#: Games after which a candidate that won nearly all is accepted as stronger.
GAMES_TO_DECIDE = 84


def tick(instance: dg.DagsterInstance, home: Home, night: date) -> ScheduleExecutionData:
    """What the schedule's function answers when it is evaluated at its time in that night."""
    configured = load_nightly(home)
    at = configured.when.on(night)
    built = dg.build_schedule_context(instance=instance, scheduled_execution_time=at, resources={"workspace": Workspace()})
    with built as context:
        return nightly_schedule.evaluate_tick(context)


def launch(season: Season, night: date, tournament: dict[str, Any] | None = None) -> str:
    """Launches what the schedule asks for that night; ``tournament``: keys that a person changed in the launchpad before."""
    [request] = tick(season.instance, season.home, night).run_requests or []
    config = json.loads(json.dumps(request.run_config))
    config["ops"]["tournament"]["config"] |= tournament or {}
    return season.deployment.launch("nightly", config, dict(request.tags))


def skipped(season: Season, night: date) -> str:
    """The reason for which the schedule asks for nothing that night."""
    answer = tick(season.instance, season.home, night)
    assert not answer.run_requests, f"night {night} asks for a run"
    return answer.skip_message or ""


def in_minutes(seconds: float) -> str:
    """The first full minute that is at least ``seconds`` away, as a time of day in UTC."""
    return (datetime.now(UTC) + timedelta(seconds=seconds + 60)).strftime("%H:%M")


def plan_of(season: Season, run_id: str) -> str:
    """The plan of a night; "" before it is made."""
    return made_by(season.instance, run_id, "work_plan") or ""


def days_of(home: Home, plan_id: str) -> dict[str, str]:
    """Dataset of each day that went into a plan, by its manifest."""
    summary = json.loads(Path(home.plans / plan_id / "summary.json").read_text())
    named = {day["day"]: day["dataset_id"] for day in summary["days"]}
    inputs = {item.id for item in read_manifest(home.plans / plan_id).inputs if item.kind == "parquet_day"}
    assert inputs == set(named.values()), f"plan {plan_id}: manifest and summary name other days"
    return named


def write_weak_deck(home: Home) -> None:
    """Puts the deck ``WEAK_DECK`` into the home's registry."""
    cards = load_cards("v1")
    basic = min((card for card in cards if is_basic_pokemon(card)), key=lambda card: (card.hp, card.card_id))
    energy = next(card for card in cards if card.card_type == BASIC_ENERGY and card.energy_type != basic.energy_type)
    write_deck(home.decks / f"{WEAK_DECK}.csv", [basic.card_id] + [energy.card_id] * (DECK_SIZE - 1))
