"""Which days are fetched and how they get into the inbox, over a remote made by hand."""

import shutil

import pytest

from tcg_core.days.take import take_archive
from tcg_core.fetch.days import fetch_days, held_days, in_range, named, published_days
from tcg_core.fetch.errors import FetchError
from tcg_core.fetch.index import INDEX, Published, dataset_of
from tests.days.conftest import GOLDEN, V1

GOOD = GOLDEN / f"{V1}.zip"
OTHER = "2026-08-16"


class Shelf:
    """A remote of local files; counts what was asked of it."""

    def __init__(self, archives, index=""):
        self.archives, self.index, self.asked = archives, index, []

    def file(self, dataset, name, folder):
        assert dataset == INDEX
        (folder / name).write_text(self.index)
        return folder / name

    def archive(self, dataset, folder):
        self.asked.append(dataset)
        if dataset not in self.archives:
            raise FetchError(f"{dataset}: HTTP 404")
        return shutil.copyfile(self.archives[dataset], folder / f"{dataset.rpartition('/')[2]}.zip")


def published(*days, episodes=None):
    return [Published(day, dataset_of(day), episodes) for day in days]


def files(home):
    return sorted(str(p.relative_to(home.inbox)) for p in home.inbox.rglob("*") if p.is_file())


def test_a_day_lands_whole_in_the_inbox_and_can_be_taken(home):
    done = fetch_days(home, Shelf({dataset_of(V1): GOOD}), published(V1, episodes=5))
    [day] = done.fetched
    assert (day.day, day.path, day.members, done.failed) == (V1, home.inbox / f"{V1}.zip", 5, ())
    assert files(home) == [".fetch/lock", f"{V1}.zip"]
    assert take_archive(home, V1).passed


def test_a_day_that_is_held_is_not_fetched_again_unless_asked(home):
    shelf = Shelf({dataset_of(V1): GOOD})
    fetch_days(home, shelf, published(V1))
    assert fetch_days(home, shelf, published(V1)).held == (V1,) and held_days(home) == {V1: "inbox"}
    take_archive(home, V1)
    assert fetch_days(home, shelf, published(V1)).held == (V1,) and held_days(home) == {V1: "archives"}
    assert len(shelf.asked) == 1
    assert fetch_days(home, shelf, published(V1), again=True).fetched and len(shelf.asked) == 2
    assert fetch_days(home, shelf, published(V1), again=True).held == (V1,), "what waits in the inbox is never overwritten"


def test_one_failed_day_does_not_end_the_others_and_is_named(home):
    done = fetch_days(home, Shelf({dataset_of(V1): GOOD}), published("2026-08-14", V1))
    assert [day for day, _ in done.failed] == ["2026-08-14"] and "404" in done.failed[0][1]
    assert [item.day for item in done.fetched] == [V1]


@pytest.mark.parametrize("damage", ["truncated", "page"])
def test_what_is_no_whole_archive_never_reaches_the_inbox(home, tmp_path, damage):
    data = GOOD.read_bytes()
    bad = tmp_path / "bad.zip"
    bad.write_bytes(data[: len(data) - 50] if damage == "truncated" else b"<html>please sign in</html>")
    done = fetch_days(home, Shelf({dataset_of(V1): bad}), published(V1))
    assert "is no day archive and was dropped" in done.failed[0][1]
    assert files(home) == [".fetch/lock"]


def test_fewer_episodes_than_announced_are_refused(home):
    done = fetch_days(home, Shelf({dataset_of(V1): GOOD}), published(V1, episodes=6))
    assert "5 episodes, the index announces 6" in done.failed[0][1] and files(home) == [".fetch/lock"]


def test_two_fetches_do_not_meet(home):
    class Impatient(Shelf):
        def archive(self, dataset, folder):
            with pytest.raises(FetchError, match="another fetch is at work"):
                fetch_days(home, Shelf({}), [])
            return super().archive(dataset, folder)

    assert fetch_days(home, Impatient({dataset_of(V1): GOOD}), published(V1)).fetched


def test_the_index_decides_what_a_range_and_a_name_mean(home):
    line = "{0},pokemon-tcg-ai-battle-episodes-{0},5\n"
    text = "date,daily_dataset_slug,episode_count\n" + line.format(V1) + line.format(OTHER) + line.format("2026-08-20")
    index = published_days(home, Shelf({}, text))
    assert [item.day for item in in_range(index, "2026-08-14", "2026-08-19")] == [V1, OTHER]
    assert [(item.day, item.episodes) for item in named(index, ["2026-09-01", V1, V1])] == [(V1, 5), ("2026-09-01", None)]
    with pytest.raises(FetchError, match="no day from 2026-09-01 to 2026-09-02; it goes from 2026-08-15 to 2026-08-20"):
        in_range(index, "2026-09-01", "2026-09-02")
    with pytest.raises(FetchError, match="reversed"):
        in_range(index, "2026-09-02", "2026-09-01")
