"""Card tables, made of the real engine's tables where its library is there."""

import csv
import hashlib
import io
from dataclasses import replace

import numpy as np
import pytest

from tcg_core.base.errors import IntegrityError
from tcg_core.base.manifest import read_manifest
from tcg_core.cards import features as module
from tcg_core.cards.errors import CardCsvError, CardTableError
from tcg_core.cards.features import build_tables, card_csv_of, card_features, check_tables, load_cards
from tcg_core.cards.statics import ATTACK_NAMES, CARD_NAMES
from tcg_core.catalog import registry
from tcg_core.catalog.registry import HomeRegistrar
from tcg_core.encode.cards import FACE_DOWN, FIRST, UNKNOWN_PRINT, CardTables
from tcg_core.encode.errors import EncodeError
from tcg_core.engine.cards import load_attacks
from tcg_core.engine.cards import load_cards as engine_cards

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


def test_a_new_print_is_neither_padding_nor_a_face_down_card(tables):
    assert list(tables.cards("v1", np.array([0, -1, 1431, 30_000]))) == [0, FACE_DOWN, UNKNOWN_PRINT, UNKNOWN_PRINT]
    assert tables.cards("v2", np.array([1431]))[0] >= FIRST
    assert tables.unknown("v1", [1431, 1, -1, 0, 30_000, 1431], [1, 0, 9_999]) == ["card 1431", "card 30000", "attack 9999"]
    assert tables.unknown("v2", [1431], []) == []
    with pytest.raises(EncodeError, match="card id -7 is no id"):
        tables.cards("v1", np.array([1, -7]))


def test_tables_made_before_there_was_an_unknown_card_are_refused_by_name(tables):
    named = {name: array - (array >= FIRST) if "index" in name else array for name, array in tables.arrays().items()}
    with pytest.raises(EncodeError, match=r"attack_index.v1 has contents at positions below 3: .*tcg cards build"):
        CardTables.from_arrays(dict(sorted(named.items())))
    assert CardTables.from_arrays(tables.arrays()).digest == tables.digest


def test_static_features_are_of_the_card(tables):
    assert tables.card_static.shape[1] == len(CARD_NAMES) and tables.attack_static.shape[1] == len(ATTACK_NAMES)
    assert not tables.card_static[:FIRST].any() and not tables.attack_static[:FIRST].any()
    for card in CARDS["v2"][::97]:
        row = dict(zip(CARD_NAMES, tables.card_static[tables.cards("v2", np.array([card.card_id]))[0]], strict=True))
        assert row["hp"] == pytest.approx(card.hp / 400) and row[f"type_{card.card_type}"] == 1 and row["tera"] == card.tera
        assert sum(row[f"weakness_{energy}"] for energy in range(12)) == (card.weakness is not None)
    attack = next(attack for attack in ATTACKS["v1"] if "Flip a coin" in attack.text)
    row = dict(zip(ATTACK_NAMES, tables.attack_static[tables.attacks("v1", np.array([attack.attack_id]))[0]], strict=True))
    assert row["effect_coin"] == 1 and row["damage"] == pytest.approx(attack.damage / 350)
    assert row["cost"] == pytest.approx(sum(row[f"cost_{energy}"] for energy in range(12)))


def test_tables_are_published_once_and_read_back(home, tables):
    built = card_features(home, HomeRegistrar(home), CARDS, ATTACKS)
    assert built.passed and not built.reused and built.facts["digest"] == tables.digest
    assert load_cards(built.path).digest == tables.digest
    assert card_features(home, HomeRegistrar(home), CARDS, ATTACKS).reused
    assert registry.latest_passed(home, "card_features") == built.id
    one = card_features(home, HomeRegistrar(home), {"v1": CARDS["v1"]}, {"v1": ATTACKS["v1"]})
    assert one.id != built.id
    data = bytearray((built.path / module.TABLES).read_bytes())
    data[-1] ^= 1
    (built.path / module.TABLES).write_bytes(data)
    with pytest.raises(IntegrityError, match=r"tables\.safetensors: expected SHA-256"):
        load_cards(built.path)
    again = card_features(home, HomeRegistrar(home), CARDS, ATTACKS)
    assert not again.reused and again.passed and load_cards(built.path).digest == tables.digest


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
    with pytest.raises(CardTableError, match=r"has attack 9999"):
        build_tables({"v1": [card]}, {"v1": ATTACKS["v1"]})
    with pytest.raises(CardTableError, match="card_id 1 occurs twice"):
        build_tables({"v1": [CARDS["v1"][0]] * 2}, {"v1": ATTACKS["v1"]})


#: Of the tables before a card CSV could be joined: without the file nothing may differ from them.
WITHOUT_CSV = "6bb1b7d747832794cf44d9428aeac0cd31ad3783ccd74648ccf7d988b0d15d53"
HEADER = (
    "Card ID,Card Name,Expansion,Collection No.,Stage (Pok\u00e9mon)/Type (Energy and Trainer),Rule,Category,Previous stage,HP,"
    "Type,Weakness,Resistance (Type),Retreat,Move Name,Cost,Damage,Effect Explanation"
)


def _csv(*rows: tuple[str, str, str], header: str = HEADER) -> bytes:
    """The 17 columns; a row gives Card ID, Category and Damage."""
    text = io.StringIO()
    write = csv.writer(text).writerow
    for id, category, damage in rows:
        before, between = (id, "A, card", "SV1", "n/a", "Basic", "n/a"), ("n/a", 70, "{G}", "{R}", "n/a", 1, "Hit", "{G}")
        write((*before, category, *between, damage, "It\nhits"))
    return f"{header}\r\n{text.getvalue()}".encode("utf-8-sig")


def test_without_the_csv_the_tables_are_those_of_the_engine_alone(home, tables):
    built = card_features(home, HomeRegistrar(home), CARDS, ATTACKS)
    assert tables.digest == built.facts["digest"] == WITHOUT_CSV
    manifest = read_manifest(built.path)
    assert built.facts["card_csv"] == manifest.facts["card_csv"] == manifest.config["card_csv"] == "none"
    assert card_csv_of(built.path) is None
    assert manifest.facts["card_columns"] == list(CARD_NAMES)


def test_the_csv_adds_its_columns_to_the_cards_it_tells_of(home, tables):
    without = card_features(home, HomeRegistrar(home), CARDS, ATTACKS)
    data = _csv(
        ("3", "Team Rocket", "30"),
        ("3", "n/a", "20+"),
        ("3", "Team Rocket", "n/a"),
        ("15", "Ancient", "n/a"),
        ("21", "n/a", "50\u00d7"),
        ("22", "Ancient", "10x"),
        ("23", "n/a", "70"),
    )
    home.card_csv.write_bytes(data)
    built = card_features(home, HomeRegistrar(home), CARDS, ATTACKS)
    joined, manifest, sha = load_cards(built.path), read_manifest(built.path), hashlib.sha256(data).hexdigest()
    assert built.passed and built.id != without.id and joined.digest == built.facts["digest"] != WITHOUT_CSV
    assert built.facts["card_csv"] == manifest.facts["card_csv"] == manifest.config["card_csv"] == sha
    assert card_csv_of(built.path) == sha
    extra = ["category_Ancient", "category_Team Rocket", "damage_suffix"]
    assert manifest.facts["card_columns"] == [*CARD_NAMES, *extra]
    assert built.facts["card_features"] == joined.card_static.shape[1] == len(CARD_NAMES) + 3
    np.testing.assert_array_equal(joined.card_static[:, :-3], tables.card_static)
    np.testing.assert_array_equal(joined.attack_static, tables.attack_static)
    added = joined.card_static[:, -3:]
    expected = {3: [0, 1, 1], 15: [1, 0, 0], 21: [0, 0, 1], 22: [1, 0, 1], 23: [0, 0, 0]}
    for generation in ("v1", "v2"):
        for id, wanted in expected.items():
            found = added[joined.cards(generation, np.array([id]))[0]]
            changed = generation == "v2" and id == 15
            assert list(found) == ([0, 0, 0] if changed else wanted), (generation, id)
    assert added.sum() == 6, "nothing but these cards is told of, padding and unknown included"
    assert card_features(home, HomeRegistrar(home), CARDS, ATTACKS).reused
    home.card_csv.write_bytes(data + b"\r\n")
    assert card_features(home, HomeRegistrar(home), CARDS, ATTACKS).id != built.id, "the id follows the bytes"
    home.card_csv.unlink()
    assert card_features(home, HomeRegistrar(home), CARDS, ATTACKS).id == without.id


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (_csv(("3", "n/a", "30"), header=HEADER.replace("Category", "Kind")), "row 1 column Category: missing"),
        (_csv(("3", "n/a", "30"), header=HEADER.replace("Rule", "Damage")), "row 1 column Damage: occurs 2 times"),
        (_csv(("3", "n/a", "30"), ("1268", "n/a", "30")), "row 3 column Card ID: card 1268 is unknown to engine generation v1"),
        (_csv(("0", "n/a", "30")), "row 2 column Card ID: card 0 is unknown to engine generation v1"),
        (_csv(("3", "n/a", "30"), ("3a", "n/a", "30")), "row 3 column Card ID: '3a' is no number"),
        (_csv(("n/a", "n/a", "30")), "row 2 column Card ID: 'n/a' is no number"),
        (_csv(("3", "A", "1"), ("4", "B", "1"), ("3", "B", "1")), "row 4 column Category: card 3 has 'B', but 'A' in row 2"),
        (_csv(("3", "n/a", "30")) + b"4,Short\r\n", "row 3 column Expansion: missing: 2 cells, expected 17"),
        (_csv(("3", "n/a", "30")) + b"4" + b"," * 17, "row 3 column 18: not in the header: 18 cells, expected 17"),
        (_csv(), "row 2 column Card ID: missing: the file has no cards"),
        (b"", "row 1 column Card ID: missing"),
        (_csv(("3", "n/a", "30")) + b'4,"open', "row 3: no CSV text: unexpected end of data"),
        (_csv() + b"\xff", "line 2: not UTF-8 text"),
    ],
)
def test_a_wrong_csv_is_refused_by_file_row_and_column_and_nothing_is_written(home, data, told):
    home.card_csv.write_bytes(data)
    before = sorted(home.root.rglob("*"))
    with pytest.raises(CardCsvError) as refused:
        card_features(home, HomeRegistrar(home), CARDS, ATTACKS)
    assert str(refused.value) == f"{home.card_csv} {told}"
    assert sorted(home.root.rglob("*")) == before


def test_a_csv_that_is_no_file_or_of_a_generation_that_is_not_tabled_is_refused(home):
    home.card_csv.write_bytes(_csv(("3", "n/a", "30")))
    with pytest.raises(CardCsvError, match=r"EN_Card_Data\.csv: column Card ID is of engine generation v1, the tables hold v2"):
        card_features(home, HomeRegistrar(home), {"v2": CARDS["v2"]}, {"v2": ATTACKS["v2"]})
    home.card_csv.unlink()
    home.card_csv.mkdir()
    with pytest.raises(CardCsvError, match=r"EN_Card_Data\.csv cannot be read: Is a directory"):
        card_features(home, HomeRegistrar(home), CARDS, ATTACKS)
