"""Kaggle's index, watched: what is newer is downloaded by a run, what cannot be read is said."""

import shutil
from collections.abc import Iterator

import dagster as dg
import pytest
from dagster._core.definitions.sensor_definition import SensorExecutionData

from tcg_assets.assets.resources import Workspace
from tcg_assets.automation.attempts import Backoff
from tcg_assets.automation.kaggle import kaggle_sensor
from tcg_core.base.home import Home
from tcg_core.fetch import remote
from tcg_core.fetch.arrivals import new_days
from tcg_core.fetch.errors import NoCredentials
from tcg_core.fetch.index import Published, dataset_of
from tests.assets.conftest import Run, failure_of
from tests.days.conftest import GOLDEN, V1
from tests.fetch.test_days import Shelf

EARLIER, LATER = "2026-07-30", "2026-09-30"


def _index(*days: str) -> str:
    return "date,daily_dataset_slug\n" + "".join(f"{day},{dataset_of(day).partition('/')[2]}\n" for day in days)


@pytest.fixture
def shelf(monkeypatch: pytest.MonkeyPatch) -> Iterator[Shelf]:
    found = Shelf({dataset_of(V1): GOLDEN / f"{V1}.zip"}, _index(EARLIER, V1))
    monkeypatch.setattr(remote, "KaggleRemote", lambda: found)
    yield found


def _tick(instance: dg.DagsterInstance) -> SensorExecutionData:
    with dg.build_sensor_context(instance=instance, resources={"workspace": Workspace()}) as context:
        return kaggle_sensor.evaluate_tick(context)


def _days(tick: SensorExecutionData) -> list[str]:
    [request] = tick.run_requests or []
    return list(request.run_config["ops"]["fetch_days"]["config"]["days"])


def test_only_what_is_newer_than_the_newest_day_is_wanted() -> None:
    index = [Published(day, dataset_of(day)) for day in (EARLIER, V1, LATER)]
    assert [item.day for item in new_days(index, [V1])] == [LATER]
    assert [item.day for item in new_days(index, [EARLIER])] == [V1, LATER]
    assert new_days(index, [LATER]) == []
    gap = [Published(day, dataset_of(day)) for day in ("2026-09-01", "2026-09-28", "2026-09-29", LATER)]
    assert [item.day for item in new_days(gap, ["2026-08-01", LATER])] == ["2026-09-28", "2026-09-29"], "missed, and no history"
    assert new_days(gap, [LATER]) == [], "what is older than all that is here was never followed"
    assert [item.day for item in new_days(index, [])] == [LATER], "the history of an empty home is asked for by name"
    assert new_days([], []) == []


def test_a_new_day_is_downloaded_by_a_run_and_then_there_is_nothing_new(
    home: Home, instance: dg.DagsterInstance, shelf: Shelf, run: Run
) -> None:
    wanted = _days(_tick(instance))
    assert wanted == [V1]
    result = run("fetch", {"fetch_days": {"days": wanted}})
    assert result.success
    assert (home.inbox / f"{V1}.zip").read_bytes() == (GOLDEN / f"{V1}.zip").read_bytes()
    assert "nothing new" in (_tick(instance).skip_message or "")


def test_a_day_that_cannot_be_had_fails_the_run_by_name_and_is_wanted_again(
    home: Home, instance: dg.DagsterInstance, shelf: Shelf, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    shelf.index = _index(LATER)
    [request] = _tick(instance).run_requests or []
    result = run("fetch", {"fetch_days": {"days": [LATER]}}, tags=request.tags)
    assert not result.success
    assert failure_of(result)[1].startswith(f"1 of 1 days could not be fetched: {LATER}:")
    assert (_tick(instance).skip_message or "").startswith(f"{LATER}: failed 1 times, tried again in 1")
    monkeypatch.setattr("tcg_assets.automation.kaggle._BACKOFF", Backoff(0.0))
    assert _days(_tick(instance)) == [LATER], "a later look continues it"


def test_a_day_that_failed_does_not_hold_up_another(home: Home, instance: dg.DagsterInstance, shelf: Shelf, run: Run) -> None:
    shelf.index = _index(LATER)
    [request] = _tick(instance).run_requests or []
    run("fetch", {"fetch_days": {"days": [LATER]}}, tags=request.tags)
    (home.inbox / "sample.zip").write_bytes(b"no day at all")
    shutil.copy(GOLDEN / f"{V1}.zip", home.inbox)
    shelf.index = _index(V1, LATER, "2026-10-01")
    assert _days(_tick(instance)) == ["2026-10-01"]


def test_without_credentials_the_sensor_says_so(
    home: Home, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused() -> None:
        raise NoCredentials("there are no Kaggle credentials")

    monkeypatch.setattr(remote, "KaggleRemote", refused)
    assert _tick(instance).skip_message == "Kaggle's index was not read: there are no Kaggle credentials"


def test_while_a_download_is_at_work_no_second_one_starts(home: Home, instance: dg.DagsterInstance, shelf: Shelf) -> None:
    instance.add_run(dg.DagsterRun(job_name="fetch", run_id="a" * 32, status=dg.DagsterRunStatus.STARTED))
    assert "has not ended" in (_tick(instance).skip_message or "")


def test_it_is_off_until_it_is_switched_on() -> None:
    assert kaggle_sensor.default_status is dg.DefaultSensorStatus.STOPPED
