"""Card tables, made of the real engine's tables where its library is there."""

from dataclasses import replace

import numpy as np
import pytest

from tcg_core.catalog import registry
from tcg_core.dataset import card_features as module
from tcg_core.dataset.card_features import build_tables, card_features, check_tables, load_cards
from tcg_core.dataset.card_statics import ATTACK_NAMES, CARD_NAMES
from tcg_core.dataset.errors import DayError
from tcg_core.encode.errors import EncodeError
from tcg_core.engine.cards import load_attacks
from tcg_core.engine.cards import load_cards as engine_cards
from tcg_core.errors import IntegrityError

CARDS = {generation: engine_cards(generation) for generation in ("v1", "v2")}
ATTACKS = {generation: load_attacks(generation) for generation in ("v1", "v2")}


@pytest.fixture(scope="module")
def tables():
    return build_tables(CARDS, ATTACKS)


def test_both_generations_share_positions_where_content_is_equal(tables):
    ids = np.arange(1, 1268)
    differing = ids[tables.cards("v1", ids) != tables.cards("v2", ids)]
    assert list(differing) == [15, 979, 1132], (
        "v2 changed an energy type, two attacks and a text; 134 texts differ by blanks only"
    )
    ids = np.arange(1, 1557)
    assert list(ids[tables.attacks("v1", ids) != tables.attacks("v2", ids)]) == [1408, 1409]


def test_what_is_outside_is_refused_and_zero_and_unknown_are_kept(tables):
    assert list(tables.cards("v1", np.array([0, -1]))) == [0, 1]
    with pytest.raises(EncodeError, match="card id 1431 is not in the tables of engine generation v1"):
        tables.cards("v1", np.array([1431]))
    assert tables.cards("v2", np.array([1431]))[0] > 1


def test_static_features_are_of_the_card(tables):
    assert tables.card_static.shape[1] == len(CARD_NAMES) and tables.attack_static.shape[1] == len(ATTACK_NAMES)
    assert not tables.card_static[:2].any() and not tables.attack_static[:2].any()
    for card in CARDS["v2"][::97]:
        row = dict(zip(CARD_NAMES, tables.card_static[tables.cards("v2", np.array([card.card_id]))[0]], strict=True))
        assert row["hp"] == pytest.approx(card.hp / 400) and row[f"type_{card.card_type}"] == 1 and row["tera"] == card.tera
        assert sum(row[f"weakness_{energy}"] for energy in range(12)) == (card.weakness is not None)
    attack = next(attack for attack in ATTACKS["v1"] if "Flip a coin" in attack.text)
    row = dict(zip(ATTACK_NAMES, tables.attack_static[tables.attacks("v1", np.array([attack.attack_id]))[0]], strict=True))
    assert row["effect_coin"] == 1 and row["damage"] == pytest.approx(attack.damage / 350)
    assert row["cost"] == pytest.approx(sum(row[f"cost_{energy}"] for energy in range(12)))


def test_tables_are_published_once_and_read_back(home, tables):
    built = card_features(home, CARDS, ATTACKS)
    assert built.passed and not built.reused and built.facts["digest"] == tables.digest
    assert load_cards(home, built.id).digest == tables.digest
    assert card_features(home, CARDS, ATTACKS).reused
    assert registry.latest_passed(home, "card_features") == built.id
    one = card_features(home, {"v1": CARDS["v1"]}, {"v1": ATTACKS["v1"]})
    assert one.id != built.id
    data = bytearray((built.path / module.TABLES).read_bytes())
    data[-1] ^= 1
    (built.path / module.TABLES).write_bytes(data)
    with pytest.raises(IntegrityError, match=r"tables\.safetensors: expected SHA-256"):
        load_cards(home, built.id)
    again = card_features(home, CARDS, ATTACKS)
    assert not again.reused and again.passed and load_cards(home, built.id).digest == tables.digest


def test_id_coverage_and_finite_fire(tables):
    assert all(check.passed for check in check_tables(tables, CARDS, ATTACKS))
    missing = {name: array.copy() for name, array in tables.arrays().items()}
    missing["card_index.v1"][7] = -1
    missing["card_static"][5, 5] = np.nan
    checks = {c.name: c for c in check_tables(tables.from_arrays(missing), CARDS, ATTACKS)}
    assert "v1: card 7 has no position" in checks["id_coverage"].message and not checks["finite"].passed
    fewer = {"v1": CARDS["v1"][:-1], "v2": CARDS["v2"]}
    assert "card 1267 is unknown to the engine" in check_tables(tables, fewer, ATTACKS)[0].message
    assert "v2: attack 1 is unknown" in check_tables(tables, {"v1": CARDS["v1"]}, {"v1": ATTACKS["v1"]})[0].message


def test_an_attack_that_does_not_exist_and_a_double_id_are_named():
    card = replace(CARDS["v1"][0], attacks=(9999,))
    with pytest.raises(DayError, match=r"has attack 9999"):
        build_tables({"v1": [card]}, {"v1": ATTACKS["v1"]})
    with pytest.raises(DayError, match="card_id 1 occurs twice"):
        build_tables({"v1": [CARDS["v1"][0]] * 2}, {"v1": ATTACKS["v1"]})
