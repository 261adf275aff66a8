"""The row-group cache under budgets so small that every tier is used, on real rows: rows are the same through each."""

import itertools
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tcg_core.plan.rows import PlanDay
from tcg_core.rows.cache import HOT_SHARE, PRESSURE, PROMOTE_HITS, RowGroupCache
from tcg_core.rows.cache_spill import Spill
from tcg_core.rows.reader import DayReader
from tcg_core.rows.writer import DayWriter
from tcg_core.train import step
from tcg_core.train.data import STREAMS, Source
from tcg_core.train.loss import Normalizer
from tcg_core.train.prefetch import ahead
from tcg_core.train.session import Session
from tests.train.toy import toy_home


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> DayReader:
    """A recorded day with one row group an episode."""
    directory = tmp_path_factory.mktemp("groups")
    whole = DayReader(next(toy_home(directory / "home").days.glob("2026-08-01/*/rows.parquet"))).read()
    path = directory / "rows.parquet"
    with DayWriter(path, "2026-08-01", row_group_rows=1) as writer:
        for episode in np.unique(whole["episode_id"]):
            writer.add(whole.take(np.flatnonzero(whole["episode_id"] == episode)))
    return DayReader(path)


@pytest.fixture(scope="module")
def digests(reader: DayReader) -> list[str]:
    return [reader.read_row_group(number, STREAMS).digest() for number in range(len(reader.row_groups))]


@pytest.fixture(scope="module")
def largest(reader: DayReader) -> int:
    return max(reader.read_row_group(number, STREAMS).nbytes() for number in range(len(reader.row_groups)))


def cache_of(reader: DayReader, budget: int, spill: Spill | None = None, memory: Any = lambda: 10.0) -> RowGroupCache:
    return RowGroupCache([reader], budget, STREAMS, spill, memory)


def test_rows_are_the_same_through_every_tier(reader: DayReader, digests: list[str], largest: int, tmp_path: Path) -> None:
    groups = len(digests)
    assert groups > 8
    cache = cache_of(reader, 3 * largest, Spill(tmp_path / "spill", 100 * largest))

    def ask(number: int) -> None:
        found = cache.get(0, number)
        assert found.digest() == digests[number]
        assert cache.counters.bytes <= 3 * largest

    for _ in range(1 + PROMOTE_HITS):
        ask(0)
    assert (cache.counters.misses, cache.counters.hits, cache.counters.promotions) == (1, 2, 1)
    for number in range(1, groups):
        ask(number)
    assert cache.counters.evictions == cache.counters.ssd_spills > 0
    assert (cache.counters.resident_hot, cache.counters.misses) == (1, groups)
    ask(0)
    assert cache.counters.hits == 3, "what is hot outlasts everything that passes by"
    assert cache.counters.ssd_hits == 0
    ask(1)
    assert (cache.counters.ssd_hits, cache.counters.misses, cache.counters.hits) == (1, groups, 3)
    assert cache.counters.hit_rate == pytest.approx(3 / (groups + 4))
    assert cache.counters.ssd_rate == pytest.approx(1 / (groups + 4))
    for number in itertools.chain(range(groups), reversed(range(groups))):
        ask(number)
    assert cache.counters.misses == groups, "nothing is decoded twice while the disk holds it"
    assert cache.counters.ssd_spills == cache.counters.ssd_resident <= groups, "what is on disk is not written again"
    assert cache.counters.peak_bytes <= 3 * largest
    cache.clear()
    assert not (tmp_path / "spill").exists()
    ask(5)


def test_hot_holds_its_share_and_the_oldest_makes_room(reader: DayReader, largest: int) -> None:
    sizes = [reader.read_row_group(number, STREAMS).nbytes() for number in range(len(reader.row_groups))]
    chosen = np.argsort(sizes)[:8].tolist()
    budget = int(0.5 * sum(sizes[number] for number in chosen) / HOT_SHARE)
    cache = cache_of(reader, budget)
    for number in chosen:
        for _ in range(1 + PROMOTE_HITS):
            cache.get(0, number)
        assert cache.counters.hot_bytes <= HOT_SHARE * budget
        assert cache.counters.bytes <= budget
    assert cache.counters.promotions == 8
    assert cache.counters.demotions == 8 - cache.counters.resident_hot > 0
    assert list(cache._hot) == [(0, number) for number in chosen[-cache.counters.resident_hot :]]
    small = cache_of(reader, largest)
    for _ in range(5):
        small.get(0, int(np.argmax(sizes)))
    assert (small.counters.promotions, small.counters.hits) == (0, 4), "too large for hot: it is not promoted at each hit"


def test_under_pressure_all_transient_leave_but_never_the_hot_or_the_one_served(reader: DayReader, largest: int) -> None:
    percent = [10.0]
    cache = cache_of(reader, 100 * largest, memory=lambda: percent[0])
    for number in (0, 0, 0, 1, 2, 3, 4):
        cache.get(0, number)
    assert (cache.counters.resident_hot, cache.counters.resident_transient) == (1, 4)
    percent[0] = PRESSURE - 0.1
    cache.get(0, 5)
    assert cache.counters.evictions == 0
    percent[0] = PRESSURE
    held = cache.get(0, 6)
    assert (cache.counters.resident_hot, cache.counters.resident_transient, cache.counters.evictions) == (1, 1, 5)
    assert cache.get(0, 6) is held
    eased = iter([90.0, 90.0, 50.0])
    easing = cache_of(reader, 100 * largest, memory=lambda: next(eased, 50.0))
    easing._memory = lambda: 10.0
    for number in range(5):
        easing.get(0, number)
    easing._memory = lambda: next(eased)
    easing.get(0, 5)
    assert easing.counters.evictions == 2, "no more leave than it takes"


def test_the_one_served_is_never_evicted(reader: DayReader, digests: list[str]) -> None:
    cache = cache_of(reader, 1)
    for number in range(3):
        held = cache.get(0, number)
        assert held.digest() == digests[number]
        assert cache.get(0, number) is held
        assert cache.counters.resident_transient == 1


def test_nothing_leaves_while_it_is_protected(reader: DayReader, largest: int) -> None:
    cache = cache_of(reader, 2 * largest, memory=lambda: 99.0)
    with cache.protect():
        for number in range(6):
            cache.get(0, number)
        assert (cache.counters.evictions, cache.counters.resident_transient) == (0, 6)
    cache.get(0, 6)
    assert (cache.counters.evictions, cache.counters.resident_transient) == (6, 1)


def test_the_optimizer_steps_under_protection(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    update = step.update  # type: ignore[attr-defined]

    def watched(*arguments: Any) -> Any:
        seen.append(session.train.cache._stepping)
        return update(*arguments)

    monkeypatch.setattr(step, "update", watched)
    batch = session.plan.microbatch(0, 0)
    session.stepper.apply([session.prepare_train(0)], Normalizer(batch.n_rows, batch.n_valid), {}, 1e-3, 1)
    assert seen == [1]
    assert session.train.cache._stepping == 0
    assert session.train.cache is not session.validation.cache


def test_what_the_disk_lost_or_changed_is_decoded_again(reader: DayReader, digests: list[str], tmp_path: Path) -> None:
    spill = Spill(tmp_path / "spill", 1 << 30)
    cache = cache_of(reader, 1, spill)
    for number in range(4):
        cache.get(0, number)
    assert len(spill) == 3
    file = tmp_path / "spill" / "0_1.arrow"
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(data)
    (tmp_path / "spill" / "0_2.arrow").unlink()
    misses = cache.counters.misses
    assert [cache.get(0, number).digest() for number in range(3)] == digests[:3]
    assert (cache.counters.ssd_hits, cache.counters.misses - misses) == (1, 2)


def test_the_disk_tier_keeps_to_its_bytes(reader: DayReader, digests: list[str], tmp_path: Path) -> None:
    probe = Spill(tmp_path / "probe", 1 << 30)
    probe.write((0, 0), reader.read_row_group(0, STREAMS))
    spill = Spill(tmp_path / "spill", 4 * probe.bytes)
    cache = cache_of(reader, 1, spill)
    for number in range(len(digests)):
        assert cache.get(0, number).digest() == digests[number]
        assert spill.bytes <= 4 * probe.bytes
        assert spill.bytes == sum(f.stat().st_size for f in (tmp_path / "spill").glob("*.arrow"))
    assert 0 < len(spill) < len(digests) - 1
    assert not Spill(tmp_path / "small", 10).write((0, 0), reader.read_row_group(0, STREAMS))
    (tmp_path / "file").write_bytes(b"")
    refused = cache_of(reader, 1, Spill(tmp_path / "file" / "x", 1 << 30))
    assert [refused.get(0, number).digest() for number in range(3)] == digests[:3]
    assert (refused.counters.evictions, refused.counters.ssd_spills) == (2, 0)
    # What a killed process left is not taken for this one's.
    assert len(Spill(tmp_path / "spill", 1 << 30)) == 0
    assert not (tmp_path / "spill").exists()


def test_rows_are_fetched_alike_under_any_budget(reader: DayReader, largest: int, tmp_path: Path) -> None:
    day = PlanDay("2026-08-01", "x", "", "", "", reader.rows, 0, len(reader.row_groups), 0)
    ample = Source((day,), (reader,), cache_of(reader, 1 << 30))
    tight = replace(ample, cache=cache_of(reader, 3 * largest, Spill(tmp_path / "spill", 4 * largest)))
    rng = np.random.default_rng(3)
    for _ in range(20):
        # A window of neighbours, as the plan's orders ask for them, in any order.
        rows = rng.integers(0, reader.rows - 150) + rng.choice(150, 40, replace=False)
        assert tight.fetch(rows).digest() == ample.fetch(rows).digest()
    counters = tight.cache.counters
    assert min(counters.hits, counters.ssd_hits, counters.misses, counters.evictions) > 0


def test_two_threads_get_the_same_rows(reader: DayReader, digests: list[str], largest: int, tmp_path: Path) -> None:
    cache = cache_of(reader, 2 * largest, Spill(tmp_path / "spill", 1 << 30))
    wrong = []

    def ask(seed: int) -> None:
        for number in np.random.default_rng(seed).integers(0, len(digests), 60).tolist():
            if cache.get(0, number).digest() != digests[number]:
                wrong.append(number)

    threads = [threading.Thread(target=ask, args=(seed,)) for seed in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    counters = cache.counters
    assert counters.hits + counters.ssd_hits + counters.misses == 180
    assert counters.bytes == sum(entry.size for tier in (cache._hot, cache._transient) for entry in tier.values())


def test_one_item_is_made_ahead_and_no_more() -> None:
    made: list[int] = []
    second = threading.Event()

    def make(number: int) -> int:
        made.append(number)
        if number == 1:
            second.set()
        return number

    items = ahead(make, list(range(5)))
    assert next(items) == 0
    assert second.wait(5)
    assert made == [0, 1]
    assert list(items) == [1, 2, 3, 4]


def test_a_run_spills_into_the_cache_of_the_home_and_leaves_nothing(session: Session) -> None:
    for side, source in (("train", session.train), ("val", session.validation)):
        spill = source.cache._spill
        assert spill is not None
        assert spill.directory == session.home.root / "cache" / "spill" / session.plan.id / side
        spill.write((0, 0), source.cache.get(0, 0))
        assert len(list(spill.directory.iterdir())) == 1
    session.close()
    assert not (session.home.spill / session.plan.id).exists()
    assert session.train.cache.counters.bytes == 0
