"""Cases of the field that concern data, through the whole importer: one recorded day with one thing changed."""

import copy
import json

import numpy as np
import pytest

from tcg_core.catalog import catalog
from tcg_core.days.build import build_day
from tcg_core.days.promote import promote_day
from tcg_core.days.take import take_archive
from tcg_core.rows.reader import DayReader
from tests.days.conftest import V1
from tests.days.replays import changed, members, put


@pytest.fixture(scope="module")
def recorded():
    return members()


def built(home, content):
    put(home, V1, content)
    take_archive(home, V1)
    return build_day(home, V1)


def rows_of(path):
    with DayReader(path) as reader:
        return reader.read()


def same(one, other):
    return one.digest() == other.digest()


def active(step):
    return [seat for seat in (0, 1) if step[seat]["status"] == "ACTIVE"]


def test_field_case_an_unknown_module_version_warns_by_name_and_the_day_is_used(home, recorded):
    first, *others = recorded
    content = {
        first: changed(recorded[first], lambda replay: replay.update(module_version="9.9.9", configuration={"version": 1}))
    }
    day = built(home, content | {name: recorded[name] for name in others})
    [check] = [check for check in day.checks if check.name == "module_versions"]
    assert not check.passed and not check.blocks
    assert f"unknown version 9.9.9, as in {first}" in check.message and "2 versions in one day" in check.message
    assert day.passed and promote_day(home, V1).passed
    columns = rows_of(day.path if day.path.exists() else home.days / V1 / day.path.name)
    assert set(columns["module_version"][columns["episode_id"] == int(first[:-5])]) == {"9.9.9"}


def test_field_case_the_waiting_seats_stale_select_gives_no_rows_and_changes_none(staged_once, home, recorded):
    """The waiting seat's observation is overwritten by a copy of the deciding one's: not a row more, not a value other."""

    def wreck(replay):
        for step in replay["steps"][2:-1]:
            [side] = active(step)
            step[1 - side]["observation"] = copy.deepcopy(step[side]["observation"])

    day = built(home, {name: changed(data, wreck) for name, data in recorded.items()})
    plain = next(staged_once.staging.glob(f"{V1}/*/rows.parquet")).parent
    assert day.passed and day.facts["rows"] == 287
    assert same(rows_of(day.path), rows_of(plain))


@pytest.mark.parametrize("value", [0, 1, 2])
def test_field_case_a_result_in_the_state_is_no_outcome(staged_once, home, recorded, value):
    """`current.result` says -1 all along; whatever it said, rewards and the RESULT decide, and -1 is not a truth value."""

    def claim(replay):
        for step in replay["steps"]:
            for entry in step:
                if entry["observation"].get("current"):
                    entry["observation"]["current"]["result"] = value

    day = built(home, {name: changed(data, claim) for name, data in recorded.items()})
    plain = next(staged_once.staging.glob(f"{V1}/*/rows.parquet")).parent
    assert day.passed and same(rows_of(day.path), rows_of(plain))
    with catalog(home) as connection:
        known = dict(connection.execute("SELECT episode_id, outcome FROM games").fetchall())
    for name, data in recorded.items():
        assert known[int(name[:-5])] == (1 if json.loads(data)["rewards"][0] == 1 else -1)
    columns = rows_of(day.path)
    winner = np.array([known[int(episode)] for episode in columns["episode_id"]])
    assert np.array_equal(columns["outcome"], np.where(columns["side"] == 0, winner, -winner))


@pytest.mark.parametrize("cut", ["first", "last", "middle"])
def test_field_case_as_many_observations_as_answers_or_none_at_all(home, recorded, cut):
    """One step of one episode is lost: the episode is quarantined whole, every other one is complete."""
    first, *others = recorded

    def lose(replay):
        steps = replay["steps"]
        del steps[{"first": 1, "last": -1, "middle": len(steps) // 2}[cut]]

    day = built(home, {first: changed(recorded[first], lose)} | {name: recorded[name] for name in others})
    held = set(rows_of(day.path)["episode_id"].tolist())
    lost = sum(day.facts["quarantined"].values())
    assert lost == 1 and held == {int(name[:-5]) for name in others}
    with catalog(home) as connection:
        query = "SELECT e.episode_id, e.decisions FROM episodes e WHERE status = 'rows'"
        decisions = dict(connection.execute(query).fetchall())
    for name in others:
        steps = json.loads(recorded[name])["steps"]
        assert decisions[int(name[:-5])] == sum(len(active(step)) for step in steps[1:]) == len(steps) - 2
