"""A day's field against the days before it: the figures, the warnings, the artifact."""

import dataclasses
import random
from collections import Counter

import pytest

from tcg_core.catalog import registry
from tcg_core.catalog.connection import catalog
from tcg_core.catalog.records import GameRecord, Participant
from tcg_core.days.checks.field import FIELD_CHECKS, field_checks
from tcg_core.days.drift import field_drift, field_of
from tcg_core.days.errors import DayError
from tcg_core.days.field import Field, difference_of_means, difference_of_rates, distance, expected_distance
from tests.catalog.helpers import DECK, add_day, episode


def drawn(rng, weights, count):
    return Counter(rng.choices(list(weights), list(weights.values()), k=count))


def test_distance_is_hand_worked():
    assert distance(Counter(a=3, b=1), Counter(a=1, b=3)) == pytest.approx(0.5)
    assert distance(Counter(a=1), Counter(b=7)) == 1.0
    assert distance(Counter(a=1), Counter()) == 0.0


def test_what_sampling_alone_gives_is_about_what_two_samples_of_one_field_show():
    rng = random.Random(5)
    weights = {f"deck{n}": 1 / (n + 1) for n in range(40)}
    pairs = [(drawn(rng, weights, 300), drawn(rng, weights, 900)) for _ in range(60)]
    found = sum(distance(a, b) for a, b in pairs) / len(pairs)
    expected = sum(expected_distance(a, b) for a, b in pairs) / len(pairs)
    assert expected == pytest.approx(found, rel=0.1)


def test_means_and_rates_are_hand_worked():
    length = difference_of_means([4, 6], [1, 3])
    assert (length.now, length.before, length.effect) == (5.0, 2.0, pytest.approx(3 / 2**0.5))
    assert length.z == pytest.approx(3 / 2**0.5)
    rate = difference_of_rates(60, 100, 40, 100)
    assert rate.effect == pytest.approx(0.2) and rate.z == pytest.approx(2.828427)
    assert difference_of_means([1], [1, 2]).z == difference_of_rates(0, 0, 1, 2).z == 0.0


@pytest.fixture
def steady():
    rng = random.Random(7)
    decks, names = {f"d{n}": 1 / (n + 1) for n in range(30)}, {f"n{n}": 1.0 for n in range(100)}
    days = [
        Field(
            drawn(rng, decks, 2000),
            drawn(rng, names, 2000),
            Counter({"1.32.7": 1000}),
            tuple(rng.randrange(20, 200) for _ in range(1000)),
            sum(rng.random() < 0.55 for _ in range(1000)),
            1000,
        )
        for _ in range(4)
    ]
    return days[0], Field.total(days[1:])


def failed(now, before):
    return [check.name for check in field_checks(now, before, 3) if not check.passed]


def test_a_steady_field_warns_of_nothing(steady):
    assert failed(*steady) == []


@pytest.mark.parametrize(
    ("change", "name"),
    [
        (lambda f: {"decks": Counter({f"new{key}": count for key, count in f.decks.items()})}, "decks"),
        (lambda f: {"names": Counter({f"new{key}": count for key, count in f.names.items()})}, "names"),
        (lambda f: {"versions": f.versions + Counter({"1.33.0": 3})}, "versions"),
        (lambda f: {"lengths": tuple(length * 2 for length in f.lengths)}, "game_length"),
        (lambda f: {"first_wins": 700}, "first_player"),
    ],
)
def test_each_warning_fires_on_what_it_is_for_and_none_blocks(steady, change, name):
    now, before = steady
    moved = dataclasses.replace(now, **change(now))
    assert failed(moved, before) == [name]
    assert not any(check.blocks for check in field_checks(moved, before, 3))


def seats(record, deck):
    return dataclasses.replace(record, seats=tuple(Participant(seat.name, deck) for seat in record.seats))


def test_the_stage_compares_with_validated_days_before_it_only(home):
    for number in range(1, 12):
        add_day(home, f"2026-08-{number:02d}", [episode(number * 100 + n) for n in range(12)])
    add_day(home, "2026-08-05", [episode(5), episode(6)], archive="again", validated=False)
    first = field_drift(home, "2026-08-01")
    assert first.passed and all("no validated day before" in check.message for check in first.checks)
    built = field_drift(home, "2026-08-10")
    assert {check.name for check in built.checks} == set(FIELD_CHECKS) and all(check.severity == "WARN" for check in built.checks)
    assert built.facts["compared_with"] == [f"2026-08-{n:02d}" for n in (2, 3, 4, 6, 7, 8, 9)], "the 5th is not validated"
    assert built.facts["games"] == 12 and built.facts["first_player_wins"] == 1.0 and built.facts["deck_distance"] == 0.0
    assert built.plots["field"].stat().st_size < 50_000
    again = field_drift(home, "2026-08-10")
    assert again.reused and again.id == built.id
    assert registry.find(home, "field_drift", built.id) == built.path
    with pytest.raises(DayError, match="2026-08-05 has no validated dataset"):
        field_drift(home, "2026-08-05")


def test_the_field_counts_seats_of_all_games_and_lengths_of_those_that_gave_rows(home):
    draw = dataclasses.replace(
        episode(2), status="excluded", reason="draw", games=(GameRecord(0, 0, 1, "draw", 1, (3, 3), 50, 0),)
    )
    lost = dataclasses.replace(episode(3), games=(GameRecord(0, 1, 1, None, 1, (0, 3), 30, 10),))
    bad = dataclasses.replace(
        episode(4), status="quarantined", reason="x", content_hash=None, generation=None, module_version=None, seats=(), games=()
    )
    add_day(home, "2026-08-01", [episode(1), draw, lost, bad])
    with catalog(home) as connection:
        found = field_of(connection, "2026-08-01")
    assert found.decks == Counter({DECK: 6}) and found.names == Counter(a=3, b=3)
    assert found.versions == Counter({"1.32.7": 3}) and found.lengths == (10, 30)
    assert (found.first_wins, found.first_known) == (1, 2)
