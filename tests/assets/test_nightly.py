"""The nightly schedule: what makes it start, and the reason it gives when it does not."""

from collections.abc import Iterator
from datetime import UTC, datetime

import dagster as dg
import pytest
from dagster._core.definitions.schedule_definition import ScheduleExecutionData

from tcg_assets.automation import nightly_schedule
from tcg_assets.definitions import defs
from tcg_assets.news import DIGEST_TAG, News
from tcg_assets.resources import Workspace
from tcg_core.home import Home


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dg.DagsterInstance]:
    with dg.DagsterInstance.local_temp(str(tmp_path_factory.mktemp("dagster"))) as local:
        yield local


@pytest.fixture
def instance(stored: dg.DagsterInstance) -> dg.DagsterInstance:
    """A schedule opens its instance by reference, so this one is on disk."""
    stored.wipe()
    return stored


@pytest.fixture
def digest(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is new, as a list of one digest that tests change."""
    found = ["one"]
    monkeypatch.setattr("tcg_assets.automation.news", lambda home: News(("2026-08-01", "2026-08-02"), found[0]))
    return found


def _night(instance: dg.DagsterInstance, day: int = 3) -> ScheduleExecutionData:
    built = dg.build_schedule_context(
        instance=instance, scheduled_execution_time=datetime(2026, 8, day, 3, tzinfo=UTC), resources={"workspace": Workspace()}
    )
    with built as context:
        return nightly_schedule.evaluate_tick(context)


def _run(instance: dg.DagsterInstance, digest: str, status: dg.DagsterRunStatus) -> dg.DagsterRun:
    return instance.create_run_for_job(defs.resolve_job_def("nightly"), tags={DIGEST_TAG: digest}, status=status)


def test_it_starts_with_the_digest_in_key_and_tag(instance: dg.DagsterInstance, home: Home, digest: list[str]) -> None:
    [request] = _night(instance).run_requests or []
    assert (request.run_key, request.tags[DIGEST_TAG]) == ("one:2026-08-03", "one")


def test_it_skips_when_its_last_success_had_the_same(instance: dg.DagsterInstance, home: Home, digest: list[str]) -> None:
    done = _run(instance, "one", dg.DagsterRunStatus.SUCCESS)
    skipped = _night(instance)
    assert skipped.skip_message == f"nothing new: 2 days, code and recipe are those of run {done.run_id[:8]}"
    digest[0] = "two"
    assert len(_night(instance).run_requests or []) == 1


def test_a_failed_night_is_tried_the_next_night(instance: dg.DagsterInstance, home: Home, digest: list[str]) -> None:
    [first] = _night(instance, 3).run_requests or []
    _run(instance, "one", dg.DagsterRunStatus.FAILURE)
    [second] = _night(instance, 4).run_requests or []
    assert first.run_key != second.run_key


def test_it_skips_while_a_run_has_not_ended(instance: dg.DagsterInstance, home: Home, digest: list[str]) -> None:
    running = _run(instance, "zero", dg.DagsterRunStatus.STARTED)
    skipped = _night(instance)
    assert skipped.skip_message == f"run {running.run_id[:8]} of nightly has not ended"


def test_without_a_validated_day_it_says_so(instance: dg.DagsterInstance, home: Home) -> None:
    skipped = _night(instance)
    assert (skipped.skip_message or "").startswith("nothing to train on: selection: there is no validated day")
