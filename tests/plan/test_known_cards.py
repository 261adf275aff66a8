"""Days that hold cards which the card tables lack are planned and trained; the plan says which cards those are."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from tcg_core.base.errors import IntegrityError
from tcg_core.base.home import Home
from tcg_core.cards.features import load_cards
from tcg_core.catalog import registry
from tcg_core.encode.cards import CardTables
from tcg_core.engine.decks import sample_deck
from tcg_core.plan.build import build_plan
from tcg_core.plan.known_cards import known_cards
from tcg_core.train.run import train
from tests.train.toy import DAYS, RECIPE, toy_home

LACKING = sorted(set(sample_deck()))[:2]


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return toy_home(tmp_path / "home")


def older(tables: CardTables, ids: list[int]) -> CardTables:
    """The tables as they were before these cards were printed."""
    index = {generation: table.copy() for generation, table in tables.card_index.items()}
    for table in index.values():
        table[ids] = -1
    return dataclasses.replace(tables, card_index=index)


def lacking(monkeypatch: pytest.MonkeyPatch, *places: str) -> None:
    for place in places:
        monkeypatch.setattr(place, lambda directory: older(load_cards(directory), LACKING))


def test_a_plan_whose_cards_are_all_known_says_so(home: Home) -> None:
    check = next(check for check in build_plan(home, RECIPE).checks if check.name == "known_cards")
    assert check.passed and check.severity == "WARN"
    assert check.facts["seats"] > 0 and check.facts["unknown_card_seats"] == 0


def test_new_prints_warn_with_their_ids_and_block_nothing(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    lacking(monkeypatch, "tcg_core.plan.build.load_cards")
    built = build_plan(home, RECIPE)
    check = next(check for check in built.checks if check.name == "known_cards")
    assert built.passed and not check.passed and check.severity == "WARN"
    seats = check.facts["seats"]
    by_day = check.facts.pop("by_day")
    assert check.facts == {"seats": seats, "unknown_card_seats": seats, "unknown_cards": len(LACKING)}
    assert sorted(by_day) == list(DAYS) and sum(by_day.values()) == seats and f"the first on {DAYS[0]}" in check.message
    for card in LACKING:
        assert f"card {card} (in {seats})" in check.message


def test_they_are_trained_on_as_unknown_cards(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    lacking(monkeypatch, "tcg_core.train.data.load_cards")
    built = build_plan(home, dataclasses.replace(RECIPE, epochs=1))
    trained = train(home, built.id, device="cpu")
    assert "finite" not in {check.name for check in trained.checks if not check.passed}


def test_only_days_of_the_plan_are_looked_at(home: Home) -> None:
    tables = home.cards / registry.latest_passed(home, "card_features")
    both, one = (known_cards(home, days, load_cards(tables), "x") for days in (DAYS, DAYS[:1]))
    assert 0 < one.facts["seats"] < both.facts["seats"]


def test_tables_without_a_place_for_unknown_cards_stop_the_plan_by_name(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    tables = home.cards / registry.latest_passed(home, "card_features")
    found = load_cards(tables)
    arrays = {name: array - np.int32(array > 2) if "index" in name else array for name, array in found.arrays().items()}
    monkeypatch.setattr("tcg_core.cards.features.load_file", lambda path: arrays)
    with pytest.raises(IntegrityError, match=r"tables.safetensors: card tables: .*tcg cards build"):
        build_plan(home, RECIPE)
    assert not home.plans.is_dir(), "nothing was planned"
