"""Which episodes a proof encodes again: by hash, and nothing rare is missing."""

from collections import Counter
from pathlib import Path

from tcg_core.days.sample import LEAST, TIMES, draw, types_of_rows
from tcg_core.rows.writer import DayWriter
from tests.days.synthetic import many

DAY, CODE = "2026-08-01", "a" * 16


def test_it_is_drawn_by_hash_of_day_episode_and_code() -> None:
    types = {id: {"common"} for id in range(5000)}
    sample = draw(types, DAY, CODE)
    assert (len(sample.episodes), sample.of) == (100, 5000)
    assert sample == draw(dict(reversed(types.items())), DAY, CODE)
    assert sample.episodes != draw(types, DAY, "b" * 16).episodes != draw(types, "2026-08-02", CODE).episodes
    assert len(draw({id: {"common"} for id in range(300)}, DAY, CODE).episodes) == LEAST
    assert len(draw({id: {"common"} for id in range(7)}, DAY, CODE).episodes) == 7
    assert draw({}, DAY, CODE).episodes == ()


def test_it_is_completed_until_each_type_is_in_it_20_times_or_wholly() -> None:
    types = {id: {"common", *(["rare"] if id % 100 == 3 else []), *(["scarce"] if id % 1000 == 4 else [])} for id in range(5000)}
    sample = draw(types, DAY, CODE)
    found = Counter(kind for id in sample.episodes for kind in types[id])
    assert sample.counts == {"common": (found["common"], 5000), "rare": (found["rare"], 50), "scarce": (5, 5)}
    assert found["rare"] >= TIMES and found["scarce"] == 5


def test_types_are_read_from_the_rows(tmp_path: Path) -> None:
    episodes = many(6)
    with DayWriter(tmp_path / "rows.parquet", DAY, row_group_rows=30) as writer:
        for episode in episodes:
            writer.add(episode)
    found = types_of_rows(tmp_path / "rows.parquet")
    for episode in episodes:
        expected = {f"option_type {number}" for number in episode["option_type"]} | {"generation v1"}
        expected |= {f"select_type {number}" for number in episode["select_type"]}
        assert found[int(episode["episode_id"][0])] == expected
