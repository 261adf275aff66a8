"""A season in a quarter of an hour: thirty days through the sensor, five nights, real processes, and whatever can go wrong."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tcg_assets.sync.instance import open_instance
from tcg_core.base.home import VARIABLE, Home
from tests.season import agreement, day_acts, night_acts, pages
from tests.season.deployment import Deployment
from tests.season.records import AGAIN, BROKEN, DAYS
from tests.season.season import Season

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3600)]


@pytest.fixture
def season(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Season]:
    monkeypatch.setenv(VARIABLE, str(tmp_path / "data"))
    deployment = Deployment(Home.resolve().prepare())
    with open_instance(deployment.home) as instance:
        yield Season(deployment, instance, tmp_path)
    deployment.stop()


def test_a_season_with_faults_ends_with_everything_in_agreement(season: Season) -> None:
    with season.act("thirty days are recorded"):
        day_acts.record(season)
        night_acts.configure(season)
    with season.act("days arrive out of order; one broke off, one is broken, and a step is killed"):
        day_acts.first_days_arrive(season)
        day_acts.a_step_is_killed(season)
        day_acts.broken_days_stop_themselves(season)
    with season.act("the first night loses its trainer"):
        plan = night_acts.first_night_loses_its_trainer(season)
    with season.act("the second goes on from its checkpoint, while more days arrive and one is published again"):
        second = night_acts.second_night_starts(season)
        before = season.validated()[AGAIN].dataset_id
        day_acts.second_wave(season)
        night_acts.second_night_goes_on(season, second, plan, day_acts.FIRST_WAVE)
        day_acts.second_wave_is_in(season, before)
    with season.act("the power fails under days that are being built, and is back"):
        under_way = day_acts.power_fails(season)
        night_acts.switch_on_at_the_next_minute(season)
        season.deployment.start()
        day_acts.power_is_back(season, under_way)
    with season.act("the scheduler fires the third night, and its daemon is killed"):
        third = night_acts.third_night_is_fired_by_the_daemon(season)
        day_acts.last_wave(season)
        night_acts.the_daemon_is_killed(season, third)
        night_acts.third_night_used_the_new_day(season, third, before)
        season.await_days(*day_acts.THIRD_WAVE, *day_acts.LAST_WAVE)
    with season.act("a disk is full under the rows of the last day"):
        day_acts.a_disk_is_full(season)
    with season.act("a disk is full under a checkpoint of the fourth night; the fifth has room"):
        plan = night_acts.fourth_night_finds_no_room(season)
        night_acts.fifth_night_has_room(season, plan)
        night_acts.nothing_is_new(season)
    with season.act("every fault is still told in the UI"):
        _the_ui_tells_everything(season)
    with season.act("catalog, files, registry and Dagster agree"):
        season.deployment.stop()
        _everything_agrees(season)


def _the_ui_tells_everything(season: Season) -> None:
    kinds = {fault.what for fault in season.faults}
    assert kinds == {
        "a killed step",
        "a corrupt zip",
        "a day of broken episodes",
        "a killed trainer",
        "a power cut",
        "a day published again",
        "a full disk",
    }
    for fault in season.faults:
        assert fault.reason in fault.told(), f"{fault.page} tells no more of {fault.what}"
    on_runs = [fault for fault in season.faults if "/runs/" in fault.page]
    shown = {f"season_{fault.what.replace(' ', '_')}": (fault.page, fault.reason) for fault in on_runs}
    season.say(f"pictures: {pages.photograph(season.served, season.folder / 'profile', shown) or 'no browser here'}")


def _everything_agrees(season: Season) -> None:
    home = season.home
    published = agreement.each_archive_was_started_once(season)
    assert published == Counter({day: 2 if day in (AGAIN, BROKEN) else 1 for day in DAYS if day != day_acts.BY_BACKFILL})
    episodes = agreement.every_episode_is_accounted_for(home, DAYS)
    registered = agreement.disk_and_registry_agree(home)
    plans = agreement.plans_hold_the_rows_of_their_days(home)
    trained = agreement.checkpoints_processed_what_was_planned(home, plans)
    champions = agreement.champions_follow_each_other(home)
    agreement.dagster_knows_all_of_it(season, DAYS)
    agreement.nothing_is_left_over(season)
    assert (episodes["quarantined"], episodes["excluded"]) == (1, 0)
    assert trained == len(plans) == 3
    assert len(champions) > 1
    season.say(f"{dict(episodes)} episodes of {len(DAYS)} days, {registered} artifacts, {trained} runs, champions {champions}")
