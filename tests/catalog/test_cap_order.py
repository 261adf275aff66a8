"""Caps read a stored order; what they keep is what sorting all episodes by their hash keeps, over any catalog."""

import random
from dataclasses import replace

import pytest

from tcg_core.base.digest import sha256_json
from tcg_core.base.home import Home
from tcg_core.catalog import caps
from tcg_core.catalog.cap_order import heads, rows_of, rows_within
from tcg_core.catalog.caps import EpisodeRows, capped, episode_order
from tcg_core.catalog.connection import catalog, open_catalog, transaction, version_of
from tcg_core.catalog.days import record_archive, record_episodes
from tcg_core.catalog.errors import SelectionEmpty
from tcg_core.catalog.kept import KeptEpisodes
from tcg_core.catalog.schema import MIGRATIONS, VERSION
from tcg_core.catalog.selection import select_days
from tcg_core.recipe import SPLIT_SEED, Selection
from tests.catalog.helpers import DECK, add_day, episode

OTHER = {"v1": "v2", "v2": "v1"}


def oracle(days: dict[str, list], selection: Selection, generations: tuple[str, ...]) -> list[tuple]:
    """The rules as they stand in selection.py's first lines, by reading and hashing everything."""
    chosen = sorted(days)[-selection.last_n_days :]
    chosen = [day for day in chosen if not generations or {e.generation for e in days[day]} & set(generations)]
    left, again, seen = {}, {}, set()
    for day in chosen:
        found = [e for e in days[day] if not generations or e.generation in generations]
        again[day] = len({e.episode_id for e in days[day]} & seen)
        left[day] = [EpisodeRows(e.episode_id, e.rows) for e in found if e.episode_id not in seen]
        seen |= {e.episode_id for e in days[day]}
    if selection.max_rows_per_day:
        left = {day: capped(found, selection.max_rows_per_day, SPLIT_SEED) for day, found in left.items()}
    sizes = {day: sum(e.rows for e in found) for day, found in left.items()}
    total = sum(sizes.values())
    if selection.max_rows and total > selection.max_rows:
        left = {day: capped(found, selection.max_rows * sizes[day] // total, SPLIT_SEED) for day, found in left.items()}
    result = []
    for day, found in left.items():
        ids = tuple(sorted(e.episode_id for e in found))
        kept = None if len(ids) == len(days[day]) else ids
        result += [(day, kept, sum(e.rows for e in found), len(ids), again[day])] if ids else []
    return result


def fill(home: Home, chance: random.Random) -> dict[str, list]:
    """A few days of a few episodes, some of which an earlier day holds too, some days of two generations."""
    days: dict[str, list] = {}
    pool: list = []
    for number in range(chance.randint(1, 5)):
        own = chance.choice(("v1", "v2"))
        made = [
            episode(100 * number + i, chance.randint(1, 300), generation=own if chance.random() < 0.8 else OTHER[own])
            for i in range(chance.randint(1, 12))
        ]
        repeats = [replace(old) for old in chance.sample(pool, min(len(pool), chance.choice((0, 0, 0, 2))))]
        pool += made
        days[f"2026-08-{number + 1:02d}"] = made + repeats
    for day in chance.sample(sorted(days), len(days)):
        add_day(home, day, days[day])
    return days


@pytest.mark.parametrize("seed", range(40))
def test_caps_keep_what_hashing_every_episode_keeps(home, seed):
    chance = random.Random(seed)
    days = fill(home, chance)
    with catalog(home) as connection:
        for _ in range(12):
            selection = Selection(
                last_n_days=chance.randint(1, 5),
                max_rows_per_day=chance.choice((0, 1, 150, 400, 900, 10**6)),
                max_rows=chance.choice((0, 1, 300, 1200, 2500, 10**7, 2**70)),
            )
            generations = chance.choice(((), (), ("v1",), ("v2",), ("v1", "v2")))
            if generations and not any(e.generation in generations for found in days.values() for e in found):
                continue
            chosen = [day for day in sorted(days) if not generations or {e.generation for e in days[day]} & set(generations)]
            expected = oracle({day: days[day] for day in chosen}, selection, generations)
            try:
                found = [(d.day, d.kept, d.rows, d.episodes, d.repeated) for d in select_days(connection, selection, generations)]
            except SelectionEmpty:
                found = []
            assert found == expected, (selection, generations)


def test_a_selection_is_the_one_it_was_before_the_order_was_stored(home):
    for number in range(6):
        made = [episode(85_000_000 + 1000 * number + i, 20 + (i * 37 + number) % 180) for i in range(60)]
        add_day(home, f"2026-08-{number + 1:02d}", made)
    with catalog(home) as connection:
        kept = [
            [(d.day, d.kept, d.rows, d.episodes) for d in select_days(connection, Selection(all_days=True, **options))]
            for options in ({"max_rows_per_day": 1500}, {"max_rows": 4000}, {"max_rows_per_day": 2000, "max_rows": 5000})
        ]
    assert sha256_json(kept) == "fb78ec77e105b1b9977eab40c537a08136c314ef8a16b036d586b113f707a7dd"


def test_an_older_catalog_gets_the_order_with_its_upgrade(tmp_path):
    old, new = Home(tmp_path / "old").prepare(), Home(tmp_path / "new").prepare()
    made = [episode(10 + i, 5 + i) for i in range(30)]
    add_day(new, "2026-08-01", made)
    connection = open_catalog(old.catalog, MIGRATIONS[:4])
    connection.execute("ATTACH ? AS other", (str(new.catalog),))
    for table in ("days", "episodes", "datasets"):
        here, there = (
            [row["name"] for row in connection.execute(f"PRAGMA {of}.table_info({table})")] for of in ("main", "other")
        )
        columns = ", ".join(name for name in there if name in here)
        connection.execute(f"INSERT INTO main.{table} ({columns}) SELECT {columns} FROM other.{table}")
    assert version_of(connection) == 4
    connection.close()
    with catalog(old) as upgraded, catalog(new) as fresh:
        assert version_of(upgraded) == VERSION >= 5
        query = "SELECT * FROM cap_order ORDER BY day, rows_through"
        found = [tuple(row) for row in upgraded.execute(query)]
        assert found == [tuple(row) for row in fresh.execute(query)] and len(found) == 30
        order = sorted(made, key=lambda e: episode_order(SPLIT_SEED, e.episode_id))
        assert [row[2] for row in found] == [e.episode_id for e in order]


def test_a_day_recorded_anew_or_with_another_archive_has_the_order_of_its_episodes(home):
    add_day(home, "2026-08-01", [episode(1, 10), episode(2, 20)])
    with catalog(home) as connection:
        with transaction(connection):
            record_episodes(connection, "2026-08-01", [episode(3, 7)], {DECK: [1] * 60})
        assert [tuple(row) for row in connection.execute("SELECT * FROM cap_order")] == [("2026-08-01", 7, 3)]
        with transaction(connection):
            record_archive(connection, "2026-08-01", "f" * 64, "archives/x.zip", 1, 1, "d")
        assert connection.execute("SELECT count(*) FROM cap_order").fetchone()[0] == 0


def test_heads_and_rows_at_the_borders(home):
    add_day(home, "2026-08-01", [episode(i, 10) for i in range(5)])
    day = "2026-08-01"
    with catalog(home) as connection:
        order = sorted(range(5), key=lambda id: episode_order(SPLIT_SEED, id))
        for cap, count in ((-1, 0), (9, 0), (10, 1), (49, 4), (50, 5), (10**30, 5)):
            head = heads(connection, {day: cap})[day]
            assert (head.ids, head.rows) == (tuple(sorted(order[:count])), 10 * count)
            assert rows_within(connection, {day: cap}) == {day: 10 * count}
        assert rows_of(connection, [day, "2026-08-02"]) == {day: 50, "2026-08-02": 0}
        kept = KeptEpisodes(connection, (), SPLIT_SEED)
        kept.cap(day, 30)
        kept.cap(day, 40)
        assert [e.episode_id for e in kept.episodes(day)] == sorted(order[:3]) and kept.rows([day]) == {day: 30}


def test_a_cap_hashes_nothing_and_another_seed_has_its_own_order(home, monkeypatch):
    add_day(home, "2026-08-01", [episode(i, 10) for i in range(40)])
    selection = Selection(all_days=True, max_rows_per_day=50)
    with catalog(home) as connection:
        other = select_days(connection, selection, seed=7)[0].kept
        hashed = []
        monkeypatch.setattr(caps, "episode_order", lambda seed, id: hashed.append(id))
        assert select_days(connection, selection)[0].kept != other and not hashed


def test_the_seed_of_the_stored_order_does_not_change():
    """Another constant would need a migration that orders every day anew."""
    assert SPLIT_SEED == 20260616
    assert episode_order(SPLIT_SEED, 85000001).hex() == "acec409b14139aedfe069b3f665bc4ecf43f16b828f4895be240f8a1e42b0c92"


def test_a_cap_above_all_rows_keeps_all(home):
    """It was a KeyError while caps were lists."""
    add_day(home, "2026-08-01", [episode(1, 10)])
    with catalog(home) as connection:
        assert select_days(connection, Selection(all_days=True, max_rows=10**9))[0].kept is None
